"""Corpus of the fuzzer, first part: files of data. Checkpoints of version 1, records, images."""
from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import penstock as tf
from penstock.checkpoint.version1 import write_version1
from penstock.graph import dtypes

RECORDS = {"plain": "", "gzip": "GZIP", "zlib": "ZLIB"}  # file -> how it is compressed
FORMATS = {"gray": ("L", "PNG"), "color": ("RGB", "PNG"), "alpha": ("RGBA", "PNG"), "deep": ("I;16", "PNG"), "palette": ("P", "PNG"),
           "photo": ("RGB", "JPEG"), "fax": ("L", "JPEG"), "film": ("P", "GIF"), "bitmap": ("RGB", "BMP")}


def write_version1_checkpoint(folder: Path) -> None:
    """Numbers, text and a scalar."""
    values: list[tuple[str, Any]] = [("w", np.arange(12, dtype=np.float32).reshape(4, 3)), ("step", np.int64(7)), ("flags", np.array([True, False])),
                                     ("deep/name", np.ones((2, 1, 2)))]
    write_version1(str(folder / "model"), [(name, None, np.asarray(value), dtypes.as_dtype(np.asarray(value).dtype)) for name, value in values])


def write_records(folder: Path) -> None:
    """The same records, compressed in different ways."""
    for name, compression in RECORDS.items():
        options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, compression or "NONE"))
        with tf.python_io.TFRecordWriter(str(folder / name), options) as writer:
            for size in (0, 1, 100, 1000):
                writer.write(bytes(range(256)) * (size // 256) + bytes(size % 256))


def read_records(path: Path) -> None:
    """All of them, to their ends or to the first that is wrong."""
    for name, compression in RECORDS.items():
        options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, compression or "NONE"))
        try:
            for record in tf.python_io.tf_record_iterator(str(path / name), options):
                len(record)
        except tf.errors.DataLossError as error:
            assert str(error), "an error that says nothing"


def write_images(folder: Path) -> None:
    """An image of each format and kind."""
    for name, (mode, kind) in FORMATS.items():
        gradient = np.linspace(0, 255, 24 * 16 * 4).astype(np.uint8).reshape(24, 16, 4)
        image = Image.fromarray(gradient[..., :3]).convert("L") if mode == "I;16" else Image.fromarray(gradient).convert(mode)
        if mode == "I;16":
            image = Image.fromarray(np.asarray(image).astype(np.uint16) * 256)
        stream = io.BytesIO()
        more = {"save_all": True, "append_images": [image.rotate(90), image.rotate(180)]} if kind == "GIF" else {}
        image.save(stream, kind, **more)
        (folder / name).write_bytes(stream.getvalue())


@functools.cache
def _decoders() -> tuple[Any, Any, list[Any]]:
    """(session, contents, images): one graph for all of them."""
    with tf.Graph().as_default() as graph:
        contents = tf.placeholder(tf.string, [])
        images = [tf.image.decode_image(contents), tf.image.decode_image(contents, channels=1), tf.image.decode_image(contents, channels=3),
                  tf.image.decode_png(contents, channels=4), tf.image.decode_png(contents, dtype=tf.uint16),
                  tf.image.decode_jpeg(contents, ratio=2), tf.image.extract_jpeg_shape(contents)]
    return tf.Session(graph=graph), contents, images


def decode_images(path: Path) -> None:
    """Every file by every decoder: most of them must refuse it."""
    session, contents, images = _decoders()
    for file in path.iterdir():
        data = file.read_bytes()
        for image in images:
            try:
                session.run(image, {contents: data})
            except tf.errors.InvalidArgumentError as error:
                assert str(error), "an error that says nothing"
