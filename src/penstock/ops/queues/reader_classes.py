"""``tf.TextLineReader`` and its kin: readers as Python objects that add operations to the graph."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import REGISTRY, OpDef
from penstock.ops.queues import readers as ops
from penstock.platform.tf_record import TFRecordOptions


class ReaderBase:
    """What all readers have: they take file names from a queue and give the records of the files."""

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref, self._supports_serialize = reader_ref, supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The handle of the reader."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """True if the reader's state can be saved."""
        return self._supports_serialize

    def _op(self, op_type: str) -> OpDef:
        """The form of a reader operation that takes this reader: a resource, or a string reference as the oldest ones have it."""
        definition: OpDef = REGISTRY[f"{op_type}V2" if self._reader_ref.dtype is dtypes.resource else op_type]
        return definition

    def _queue(self, queue: Any) -> Tensor:
        handle = queue if isinstance(queue, Tensor) else queue.queue_ref
        return handle if self._reader_ref.dtype is dtypes.resource or handle.dtype is not dtypes.resource else ops.FakeQueue(handle)

    def read(self, queue: Any, name: str | None = None) -> Any:
        """(key, value) of the next record; waits at ``queue`` (a queue or its handle) for the name of the next file when it needs one."""
        return self._op("ReaderRead")(self._reader_ref, self._queue(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """(keys, values) of up to ``num_records`` records; fewer at the end of a file."""
        return self._op("ReaderReadUpTo")(self._reader_ref, self._queue(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records the reader has produced."""
        return self._op("ReaderNumRecordsProduced")(self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files the reader has read to the end."""
        return self._op("ReaderNumWorkUnitsCompleted")(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """The state of the reader as a string."""
        return self._op("ReaderSerializeState")(self._reader_ref, name=name)

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """An operation that puts the reader into a saved state."""
        return self._op("ReaderRestoreState")(self._reader_ref, state, name=name)

    def reset(self, name: str | None = None) -> Operation:
        """An operation that puts the reader back to its beginning."""
        return self._op("ReaderReset")(self._reader_ref, name=name)


class WholeFileReader(ReaderBase):
    """``tf.WholeFileReader``: a file is a record, its name the key."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(ops.WholeFileReaderV2(name=name), supports_serialize=True)


class IdentityReader(ReaderBase):
    """``tf.IdentityReader``: what is in the queue is the record."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(ops.IdentityReaderV2(name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """``tf.TextLineReader``: a line is a record."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(ops.TextLineReaderV2(skip_header_lines=skip_header_lines, name=name))


class TFRecordReader(ReaderBase):
    """``tf.TFRecordReader``: records of TFRecord files."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(ops.TFRecordReaderV2(compression_type=TFRecordOptions.get_compression_type_string(options), name=name))


class LMDBReader(ReaderBase):
    """``tf.LMDBReader``: the entries of an LMDB database, a file or a folder, in the order of their keys."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(ops.LMDBReader(name=name))


class FixedLengthRecordReader(ReaderBase):
    """``tf.FixedLengthRecordReader``: records of a fixed number of bytes."""

    def __init__(self, record_bytes: int, header_bytes: int | None = None, footer_bytes: int | None = None, hop_bytes: int | None = None,
                 name: str | None = None, encoding: str | None = None) -> None:
        super().__init__(ops.FixedLengthRecordReaderV2(record_bytes=record_bytes, header_bytes=header_bytes, footer_bytes=footer_bytes,
                                                       hop_bytes=hop_bytes, encoding=encoding, name=name))
