"""Records of a fixed number of bytes in compressed files."""
from __future__ import annotations

import gzip
import zlib

import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.mark.parametrize("encoding, compress", [("GZIP", gzip.compress), ("ZLIB", zlib.compress), (None, bytes)])
def test_fixed_length_records(tmp_path, encoding, compress):
    path = str(tmp_path / "records")
    (tmp_path / "records").write_bytes(compress(b"HHabcdeF"))
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(2, tf.string, shapes=())
        reader = tf.FixedLengthRecordReader(3, header_bytes=2, footer_bytes=1, hop_bytes=2, encoding=encoding)
        record = reader.read(queue)
        session.run([queue.enqueue(path)])
        session.run(queue.close())
        assert [tuple(session.run(record)) for _ in range(2)] == [(f"{path}:0".encode(), b"abc"), (f"{path}:1".encode(), b"cde")]
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
            session.run(record)
