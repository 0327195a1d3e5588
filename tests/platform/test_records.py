"""TFRecord files: written and read, compressed, damaged."""
from __future__ import annotations

import gzip
import io
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as tf
from penstock.platform.records import RecordReader, frame, masked_crc32c
from support.memory import peak_of

IO = tf.python_io
RECORDS = [b"hello", b"", b"world!" * 1000]
HELLO = "0500000000000000eab2043e68656c6c6fbb1f1c19"  # TensorFlow 1.15's file of the record b"hello"


def written(path, records, options=None):
    with IO.TFRecordWriter(str(path), options) as writer:
        for record in records:
            writer.write(record)
    return path.read_bytes()


def read(path, options=None):
    return list(IO.tf_record_iterator(str(path), options))


@pytest.mark.parametrize("compression", ["", "ZLIB", "GZIP"])
def test_round_trip(tmp_path, compression):
    path = tmp_path / "records"
    options = IO.TFRecordOptions(compression)
    written(path, RECORDS, options)
    assert read(path, options) == RECORDS


def test_compression_is_zlib_and_gzip(tmp_path):
    plain = b"".join(map(frame, RECORDS))
    kinds = IO.TFRecordCompressionType
    assert written(tmp_path / "n", RECORDS) == plain
    assert zlib.decompress(written(tmp_path / "z", RECORDS, IO.TFRecordOptions(kinds.ZLIB))) == plain
    assert gzip.decompress(written(tmp_path / "g", RECORDS, IO.TFRecordOptions(kinds.GZIP, compression_level=9))) == plain


def test_the_frame_is_tensorflows():
    assert frame(b"hello").hex() == HELLO


@given(st.lists(st.binary(max_size=40), max_size=6), st.data())
def test_a_cut_file_gives_whole_records_then_data_loss(records, data):
    whole = b"".join(map(frame, records))
    ends = [len(b"".join(map(frame, records[:count]))) for count in range(len(records) + 1)]
    cut = data.draw(st.integers(0, len(whole)))
    complete = max(count for count, end in enumerate(ends) if end <= cut)
    reader = RecordReader(io.BytesIO(whole[:cut]))
    assert [reader.next() for _ in range(complete)] == records[:complete]
    if cut == ends[complete]:
        assert reader.next() is None
    else:
        with pytest.raises(tf.errors.DataLossError, match=f"truncated record at {ends[complete]}$"):
            reader.next()


@given(st.binary(min_size=1, max_size=40), st.data())
def test_a_flipped_bit_is_found(record, data):
    damaged = bytearray(frame(record))
    place = data.draw(st.integers(0, len(damaged) - 1))
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0$" if place < 12 else "corrupted record at 12$"):
        RecordReader(io.BytesIO(bytes(damaged))).next()


def test_a_length_that_lies_does_not_fill_the_memory():
    length = (1 << 50).to_bytes(8, "little")
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 0"):
        RecordReader(io.BytesIO(length + masked_crc32c(length).to_bytes(4, "little") + b"x")).next()


@pytest.mark.parametrize("compression", ["ZLIB", "GZIP"])
def test_a_large_record_of_a_small_file_is_held_once(compression):
    record = bytes(100 << 20)
    deflate = zlib.compressobj(wbits=zlib.MAX_WBITS | (16 if compression == "GZIP" else 0))
    file = io.BytesIO(deflate.compress(frame(record)) + deflate.flush())
    del record
    assert len(file.getvalue()) < 200_000
    assert peak_of(lambda: RecordReader(file, compression).next()) < 190 << 20


def test_errors(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="none; No such file or directory"):
        read(tmp_path / "none")
    with pytest.raises(tf.errors.NotFoundError):
        IO.TFRecordWriter(str(tmp_path / "no" / "file"))
    with pytest.raises(ValueError, match='Not a valid compression_type: "LZ"'):
        IO.TFRecordOptions("LZ")
    path = tmp_path / "plain"
    written(path, RECORDS)
    with pytest.raises(tf.errors.DataLossError, match="incorrect header check"):
        read(path, IO.TFRecordOptions("GZIP"))


def test_a_closed_writer(tmp_path):
    writer = IO.TFRecordWriter(str(tmp_path / "file"))
    writer.write(b"one")
    writer.flush()
    assert read(tmp_path / "file") == [b"one"]
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="previously closed"):
        writer.write(b"two")


def test_a_flushed_compressed_file_can_be_read(tmp_path):
    options = IO.TFRecordOptions("ZLIB")
    writer = IO.TFRecordWriter(str(tmp_path / "file"), options)
    writer.write(b"one")
    writer.flush()
    assert read(tmp_path / "file", options) == [b"one"]
    writer.close()


def test_names():
    assert tf.io.TFRecordWriter is IO.TFRecordWriter
    assert tf.io.tf_record_iterator is IO.tf_record_iterator
    assert IO.TFRecordOptions.get_compression_type_string(None) == ""
