"""Readers: they take names of files from a queue and give the records of these files, one by one, with a key each.

A *work unit* is what comes out of the queue, a file name. One kernel reads at a time; others wait for their turn.
"""
from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from penstock.codec.framing import RecordBlocks
from penstock.errors import DataLossError, KernelError, OpError, UnimplementedError, invalid_argument
from penstock.graph.input_proto import ReaderBaseState
from penstock.platform.gfile import open_file
from penstock.platform.lmdb_file import entries, open_database
from penstock.platform.records import size_of
from penstock.state.queues import Queue
from penstock.state.waiting import Turns

Record = tuple[bytes, bytes]  # key, value
_AHEAD = 64  # records of a file that are made at once


class Reader:
    """What all readers have; they differ in ``_records``."""

    kind = "Reader"
    one_per_unit = False  # a work unit is one record, and is completed with it

    def __init__(self, name: str) -> None:
        self.name = name
        self._turns = Turns()
        self._work = b""
        self._current: Iterator[Record] | None = None
        self.units_started = self.units_completed = self.records_produced = 0

    def _records(self, work: bytes) -> Iterator[Record]:
        raise NotImplementedError

    def read(self, step: Any, queue: Queue) -> Record:
        """The next record; takes the next work unit from the queue, and waits for it, when one is used up."""
        with self._turns.mine(step):
            while True:
                record = self._next(step, queue)
                if record is not None:
                    return record

    def read_up_to(self, step: Any, queue: Queue, count: int) -> list[Record]:
        """At least one and at most ``count`` records, all of the same work unit."""
        if count <= 0:
            raise invalid_argument(f"num_records must be > 0, not {count}")
        records: list[Record] = []
        with self._turns.mine(step):
            while len(records) < count and not (records and self._current is None):
                record = self._next(step, queue)
                if record is not None:
                    records.append(record)
        return records

    def _next(self, step: Any, queue: Queue) -> Record | None:
        """The next record; None if the work unit has no more."""
        if self._current is None:
            self._work = b""
            (work,) = queue.dequeue(step)
            self._work = bytes(work.item() if hasattr(work, "item") else work)
            self._current = self._records(self._work)
            self.units_started += 1
        try:
            record = next(self._current, None)
        except OpError as error:
            self._current = None
            raise KernelError(type(error), error.message) from None
        if record is not None:
            self.records_produced += 1
        if record is None or self.one_per_unit:
            self._current = None
            self.units_completed += 1
        return record

    def reset(self) -> None:
        """Back to the beginning: nothing read, no work unit."""
        self._current, self._work = None, b""
        self.units_started = self.units_completed = self.records_produced = 0

    def serialize(self) -> bytes:
        """The state as a proto; UnimplementedError for readers that are in the middle of a file."""
        if not self.one_per_unit:
            raise KernelError(UnimplementedError, "Reader SerializeState")
        state = ReaderBaseState(work_started=self.units_started, work_finished=self.units_completed, num_records_produced=self.records_produced,
                                current_work=self._work)
        return bytes(state.SerializeToString())

    def restore(self, data: bytes) -> None:
        """Goes on from a state that ``serialize`` gave."""
        if not self.one_per_unit:
            raise KernelError(UnimplementedError, "Reader RestoreState")
        try:
            state = ReaderBaseState.FromString(data)
        except DecodeError:
            raise invalid_argument(f"Could not parse state for {self.name}: {data[:100]!r}") from None
        if min(state.work_started, state.work_finished, state.num_records_produced) < 0 or state.work_started < state.work_finished:
            raise invalid_argument(f"Unexpected negative or inconsistent numbers when restoring in {self.name}: {state}")
        self.units_started, self.units_completed = state.work_started, state.work_finished
        self.records_produced, self._work, self._current = state.num_records_produced, state.current_work, None


class IdentityReader(Reader):
    """Work units themselves are the records."""

    one_per_unit = True

    def _records(self, work: bytes) -> Iterator[Record]:
        yield work, work


class WholeFileReader(Reader):
    """A file is one record; its name is the key."""

    one_per_unit = True

    def _records(self, work: bytes) -> Iterator[Record]:
        with open_file(work, "rb") as file:
            yield work, file.read()


class TextLineReader(Reader):
    """A line, without its end, is a record; keys are ``name:number``, counted from 1."""

    def __init__(self, name: str, skip_header_lines: int = 0) -> None:
        super().__init__(name)
        self._skip = skip_header_lines

    def _records(self, work: bytes) -> Iterator[Record]:
        with open_file(work, "rb") as file:
            for number, line in enumerate(file, 1):
                if number > self._skip:
                    yield b"%s:%d" % (work, number), line.removesuffix(b"\n").removesuffix(b"\r")


class TFRecordReader(Reader):
    """The records of TFRecord files; keys are ``name:offset``."""

    def __init__(self, name: str, compression: str = "") -> None:
        super().__init__(name)
        self._compression = compression

    def _records(self, work: bytes) -> Iterator[Record]:
        with open_file(work, "rb") as file:
            records = RecordBlocks(file, self._compression)
            offset = 0
            while len(block := records.take(_AHEAD)):
                for record in block.tolist():
                    yield b"%s:%d" % (work, offset), record
                    offset += size_of(record)


class FixedLengthRecordReader(Reader):
    """Records of ``record`` bytes, each ``hop`` bytes after the one before, between a header and a footer; keys are ``name:number`` from 0."""

    def __init__(self, name: str, header: int, record: int, footer: int, hop: int, encoding: str = "") -> None:
        super().__init__(name)
        self._header, self._record, self._footer, self._hop, self._encoding = header, record, footer, hop or record, encoding

    def _records(self, work: bytes) -> Iterator[Record]:
        with open_file(work, "rb") as file:
            source = io.BytesIO(_inflate(file.read())) if self._encoding in ("ZLIB", "GZIP") else file
            last = source.seek(0, io.SEEK_END) - self._footer - self._record
            for number, start in enumerate(range(self._header, last + 1, self._hop)):
                source.seek(start)
                yield b"%s:%d" % (work, number), source.read(self._record)


class LMDBReader(Reader):
    """The entries of LMDB databases, in the order of their keys."""

    def _records(self, work: bytes) -> Iterator[Record]:
        with open_database(work) as file:
            yield from entries(file)


def _inflate(data: bytes) -> bytes:
    try:
        return zlib.decompress(data, zlib.MAX_WBITS | 32)  # 32: the header tells whether it is zlib's or gzip's
    except zlib.error as error:
        raise DataLossError(None, None, f"inflate() failed: {error}") from error
