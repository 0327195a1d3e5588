"""Reader operations, in two forms each (see ``handles.py``). The state of a reader is a ``penstock.state.readers.Reader``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import INT
from penstock.graph.opdef import op
from penstock.ops.common import fixed, nothing, strings
from penstock.ops.queues.handles import SHARING, find_or_create, plain, two_forms
from penstock.ops.text.files import text
from penstock.state import readers
from penstock.state.queues import Queue

_READER = "-> reader_handle: HANDLE"


class _Creating:
    """What the ops that make a reader have in common."""

    touches = "files"
    stateful = True
    shape = fixed()
    gradient = None


class _IdentityReader(_Creating):
    """A reader whose records are the work units themselves."""

    touches = ""

    def kernel(ctx, container, shared_name):
        return find_or_create(ctx, "Reader", container, shared_name, readers.IdentityReader)


class _WholeFileReader(_Creating):
    """A reader whose records are whole files."""

    def kernel(ctx, container, shared_name):
        return find_or_create(ctx, "Reader", container, shared_name, readers.WholeFileReader)


class _TextLineReader(_Creating):
    """A reader whose records are the lines of text files."""

    def kernel(ctx, container, shared_name, skip_header_lines):
        return find_or_create(ctx, "Reader", container, shared_name, lambda name: readers.TextLineReader(name, skip_header_lines))


class _TFRecordReader(_Creating):
    """A reader of TFRecord files."""

    def kernel(ctx, container, shared_name, compression_type):
        return find_or_create(ctx, "Reader", container, shared_name, lambda name: readers.TFRecordReader(name, compression_type))


_, IdentityReaderV2 = two_forms("IdentityReader", _READER, _IdentityReader, **SHARING)
_, WholeFileReaderV2 = two_forms("WholeFileReader", _READER, _WholeFileReader, **SHARING)
_, TextLineReaderV2 = two_forms("TextLineReader", _READER, _TextLineReader, skip_header_lines=0, **SHARING)
_, TFRecordReaderV2 = two_forms("TFRecordReader", _READER, _TFRecordReader, **SHARING, compression_type="")


@op("LMDBReader", "-> reader_handle: Ref(string)", **SHARING)
class LMDBReader(_Creating):
    """A reader of LMDB databases; TensorFlow has only this form of it."""

    def kernel(ctx, container, shared_name):
        return find_or_create(ctx, "Reader", container, shared_name, readers.LMDBReader)


def _fixed_length(ctx: Any, sharing: tuple[str, str], sizes: tuple[int, int, int, int], encoding: str) -> Any:
    header, record, footer, hop = sizes
    for what, size, least in (("header_bytes", header, 0), ("record_bytes", record, 1), ("footer_bytes", footer, 0), ("hop_bytes", hop, 0)):
        if size < least:
            raise invalid_argument(f"{what} must be >= {least} but got {size}")
    return find_or_create(ctx, "Reader", *sharing, lambda name: readers.FixedLengthRecordReader(name, header, record, footer, hop, encoding))


_SIZES = {"header_bytes": 0, "record_bytes": INT, "footer_bytes": 0, "hop_bytes": 0}


@op("FixedLengthRecordReader", "-> reader_handle: Ref(string)", **_SIZES, **SHARING)
class FixedLengthRecordReader(_Creating):
    """A reader whose records have a fixed number of bytes."""

    def kernel(ctx, header_bytes, record_bytes, footer_bytes, hop_bytes, container, shared_name):
        return _fixed_length(ctx, (container, shared_name), (header_bytes, record_bytes, footer_bytes, hop_bytes), "")


@op("FixedLengthRecordReaderV2", "-> reader_handle: resource", **_SIZES, **SHARING, encoding="")
class FixedLengthRecordReaderV2(_Creating):
    """A reader whose records have a fixed number of bytes."""

    def kernel(ctx, header_bytes, record_bytes, footer_bytes, hop_bytes, container, shared_name, encoding):
        return _fixed_length(ctx, (container, shared_name), (header_bytes, record_bytes, footer_bytes, hop_bytes), encoding)


@op("FakeQueue", "resource: resource -> handle: Ref(string)")
class FakeQueue:
    """A queue, for operations that take a string reference: the way to it for readers that have no newer form."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(resource):
        return _queue(resource)


def _queue(handle: Any) -> Any:
    """The queue of a handle; InvalidArgumentError if it is that of something else."""
    queue = plain(handle)
    if not isinstance(queue, Queue):
        raise invalid_argument(f"a reader needs a queue, not a {type(queue).__name__}")
    return queue


def _file_names(queue: Any) -> Any:
    """The queue; InvalidArgumentError if its elements are not single strings."""
    queue = _queue(queue)
    if list(queue.dtypes) != [dt.string]:
        raise invalid_argument(f"a reader needs a queue of strings, but {queue.kind} '{queue.name}' holds {[d.name for d in queue.dtypes]}")
    return queue


class _Read:
    """The next record, and its key."""

    stateful = blocking = cancellable = True
    gradient = None

    def shape():
        return [(), ()]

    def kernel(reader_handle, queue_handle, ctx):
        key, value = plain(reader_handle).read(ctx.step, _file_names(queue_handle))
        return np.asarray(key, object), np.asarray(value, object)


class _ReadUpTo:
    """Up to ``num_records`` records, and their keys; fewer at the end of a file."""

    stateful = blocking = cancellable = True
    gradient = None
    ranks = {"num_records": 0}

    def shape():
        return [[None], [None]]

    def kernel(reader_handle, queue_handle, num_records, ctx):
        records = plain(reader_handle).read_up_to(ctx.step, _file_names(queue_handle), int(num_records))
        return strings(key for key, _ in records), strings(value for _, value in records)


class _NumRecordsProduced:
    """How many records the reader has produced."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(reader_handle):
        return np.int64(plain(reader_handle).records_produced)


class _NumWorkUnitsCompleted:
    """How many files the reader has read to the end."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(reader_handle):
        return np.int64(plain(reader_handle).units_completed)


class _SerializeState:
    """The state of the reader as a string; UnimplementedError for readers that may be inside a file."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(reader_handle):
        return np.asarray(plain(reader_handle).serialize(), object)


class _RestoreState:
    """Puts a reader into a state that was serialized."""

    stateful = True
    ranks = {"state": 0}
    shape = nothing()
    gradient = None

    def kernel(reader_handle, state):
        plain(reader_handle).restore(text(state))
        return ()


class _Reset:
    """Puts a reader back to its beginning."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(reader_handle):
        plain(reader_handle).reset()
        return ()


_BOTH = "reader_handle: HANDLE, queue_handle: HANDLE"
_, ReaderReadV2 = two_forms("ReaderRead", f"{_BOTH} -> key: string, value: string", _Read)
_, ReaderReadUpToV2 = two_forms("ReaderReadUpTo", f"{_BOTH}, num_records: int64 -> keys: string, values: string", _ReadUpTo)
_, ReaderNumRecordsProducedV2 = two_forms("ReaderNumRecordsProduced", "reader_handle: HANDLE -> records_produced: int64", _NumRecordsProduced)
_, ReaderNumWorkUnitsCompletedV2 = two_forms("ReaderNumWorkUnitsCompleted", "reader_handle: HANDLE -> units_completed: int64",
                                             _NumWorkUnitsCompleted)
_, ReaderSerializeStateV2 = two_forms("ReaderSerializeState", "reader_handle: HANDLE -> state: string", _SerializeState)
_, ReaderRestoreStateV2 = two_forms("ReaderRestoreState", "reader_handle: HANDLE, state: string ->", _RestoreState)
_, ReaderResetV2 = two_forms("ReaderReset", "reader_handle: HANDLE ->", _Reset)
