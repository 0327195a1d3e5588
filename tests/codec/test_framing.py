"""Records, many at a time: the same as one by one, and the same errors."""
from __future__ import annotations

import gzip
import io
import random
import zlib

import pytest

from penstock import errors
from penstock.codec import framing
from penstock.codec.framing import RecordBlocks
from penstock.platform.records import RecordReader, frame

pytestmark = pytest.mark.process


def records_of(reader, most=7):
    """All records, and the error that ended them."""
    records = []
    try:
        if isinstance(reader, RecordBlocks):
            while len(block := reader.take(most)):
                records += block.tolist()
        else:
            records += list(reader)
    except errors.OpError as error:
        return records, type(error), error.message
    return records, None, None


def some_records(count=50):
    generator = random.Random(1)
    return [generator.randbytes(generator.choice([0, 1, 5, 8, 100, 1000])) for _ in range(count)]


def one_by_one(data, compression=""):
    records = []
    reader = RecordReader(io.BytesIO(data), compression)
    try:
        while (record := reader.next()) is not None:
            records.append(record)
    except errors.OpError as error:
        return records, type(error), error.message
    return records, None, None


@pytest.mark.parametrize("chunk", [16, 100, 4096])
@pytest.mark.parametrize("compression, pack", [("", bytes), ("ZLIB", zlib.compress), ("GZIP", gzip.compress)])
def test_blocks(monkeypatch, chunk, compression, pack):
    monkeypatch.setattr(framing, "_CHUNK", chunk)
    records = some_records()
    data = pack(b"".join(map(frame, records)))
    for most in (1, 7, 1000):
        assert records_of(RecordBlocks(io.BytesIO(data), compression), most)[0] == records


def test_offsets_and_single_records():
    records = some_records(20)
    reader = RecordBlocks(io.BytesIO(b"".join(map(frame, records))))
    assert reader.take(3).tolist() == records[:3]
    assert reader.offset == sum(len(frame(record)) for record in records[:3])
    assert reader.next() == records[3]
    assert reader.take(100).tolist() == records[4:]
    assert reader.next() is None and not len(reader.take(5))


def test_without_native_code(monkeypatch):
    monkeypatch.setattr(framing, "functions", lambda module: None)
    records = some_records(10)
    assert records_of(RecordBlocks(io.BytesIO(b"".join(map(frame, records)))))[0] == records


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_end_as_they_do_one_by_one(monkeypatch, seed):
    monkeypatch.setattr(framing, "_CHUNK", 64)
    generator = random.Random(seed)
    data = bytearray(b"".join(map(frame, some_records(12))))
    if seed % 4:
        for _ in range(generator.randrange(1, 3)):
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    data = bytes(data[:generator.randrange(len(data))] if seed % 3 else data)
    assert records_of(RecordBlocks(io.BytesIO(data))) == one_by_one(data)
