"""Datasets of files: lines, records, fixed lengths, names; damaged and missing ones."""
from __future__ import annotations

import gzip
import zlib

import pytest

import penstock as tf
from penstock.platform.records import frame
from support.pipelines import drain, listed

data, experimental = tf.data, tf.data.experimental


def test_lines(tmp_path):
    (tmp_path / "a").write_bytes(b"one\r\n\ntwo\nlast")
    (tmp_path / "b").write_bytes(b"")
    (tmp_path / "c").write_bytes(b"more\n")
    names = [str(tmp_path / name) for name in "abc"]
    assert listed(data.TextLineDataset(names)) == [b"one", b"", b"two", b"last", b"more"]
    assert listed(data.TextLineDataset(data.Dataset.from_tensor_slices(names))) == [b"one", b"", b"two", b"last", b"more"]
    assert sorted(listed(data.TextLineDataset(names, num_parallel_reads=2))) == [b"", b"last", b"more", b"one", b"two"]


@pytest.mark.parametrize(("kind", "pack"), [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_compressed(tmp_path, kind, pack):
    (tmp_path / "lines").write_bytes(pack(b"one\ntwo\n"))
    (tmp_path / "records").write_bytes(pack(frame(b"one") + frame(b"two")))
    (tmp_path / "fixed").write_bytes(pack(b"onetwo"))
    assert listed(data.TextLineDataset(str(tmp_path / "lines"), kind)) == [b"one", b"two"]
    assert listed(data.TFRecordDataset(str(tmp_path / "records"), kind)) == [b"one", b"two"]
    assert listed(data.FixedLengthRecordDataset(str(tmp_path / "fixed"), 3, compression_type=kind)) == [b"one", b"two"]


def test_what_is_not_compressed(tmp_path):
    (tmp_path / "plain").write_bytes(b"one\ntwo\n")
    for kind in ("GZIP", "ZLIB"):
        with pytest.raises(tf.errors.DataLossError):
            listed(data.TextLineDataset(str(tmp_path / "plain"), kind))
    with pytest.raises(tf.errors.InvalidArgumentError, match="compression_type"):
        listed(data.TextLineDataset(str(tmp_path / "plain"), "RAR"))


@pytest.mark.parametrize("place", [3, 9, 14, -2])
def test_damaged_records(tmp_path, place):
    good = frame(b"good")
    bad = bytearray(frame(b"some longer data"))
    bad[place] ^= 0x55
    (tmp_path / "a").write_bytes(good + bytes(bad) + good)
    (tmp_path / "b").write_bytes(good)
    x = data.TFRecordDataset([str(tmp_path / "a"), str(tmp_path / "b")]).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert sess.run(x) == b"good"
        with pytest.raises(tf.errors.DataLossError):
            sess.run(x)
        assert drain(sess, x) == [b"good"]  # of the next file


@pytest.mark.parametrize("length", [1, 11, 13, 17])
def test_truncated_records(tmp_path, length):
    (tmp_path / "a").write_bytes(frame(b"first") + frame(b"second")[:length])
    dataset = data.TFRecordDataset(str(tmp_path / "a"))
    with pytest.raises(tf.errors.DataLossError, match="truncated"):
        listed(dataset)
    assert listed(dataset.apply(experimental.ignore_errors())) == [b"first"]


def test_fixed_lengths(tmp_path):
    (tmp_path / "a").write_bytes(b"hh" + b"abcdef" + b"f")
    name = str(tmp_path / "a")
    assert listed(data.FixedLengthRecordDataset(name, 3, header_bytes=2, footer_bytes=1)) == [b"abc", b"def"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="multiple of the record length"):
        listed(data.FixedLengthRecordDataset(name, 4))
    with pytest.raises(tf.errors.InvalidArgumentError):
        listed(data.FixedLengthRecordDataset(name, 0))


def test_missing_files(tmp_path):
    for kind in (data.TextLineDataset, data.TFRecordDataset, lambda name: data.FixedLengthRecordDataset(name, 1)):
        with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
            listed(kind(str(tmp_path / "nowhere")))


def test_list_files(tmp_path):
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).write_text("x")
    found = [str(tmp_path / name).encode() for name in ("a.txt", "b.txt")]
    assert listed(data.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)) == found
    assert sorted(listed(data.Dataset.list_files([str(tmp_path / "a*"), str(tmp_path / "b*")]))) == found
    nothing = data.Dataset.list_files(str(tmp_path / "*.none"))
    assert listed(nothing) == []  # TensorFlow's one-shot iterators leave the check behind
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="No files matched"):
        session.run(nothing.make_initializable_iterator().initializer)


def test_writing_records(tmp_path):
    for kind in (None, "GZIP", "ZLIB"):
        path = str(tmp_path / "records")
        with tf.Session() as sess:
            sess.run(experimental.TFRecordWriter(path, kind).write(data.Dataset.range(3).map(tf.as_string)))
        assert listed(data.TFRecordDataset(path, kind)) == [b"0", b"1", b"2"]
    with pytest.raises(TypeError, match="STRING"):
        experimental.TFRecordWriter(path).write(data.Dataset.range(3))
