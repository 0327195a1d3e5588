"""``tensorflow.examples.tutorials.mnist.input_data``: MNIST from its four IDX files, in memory, in shuffled batches.

The files are read from a folder and never downloaded. A program that is to run without them asks for the digits of this package: with
``source_url="digits"``, or unchanged, with ``PENSTOCK_MNIST=digits`` in its environment. They are scaled to 28 x 28 pixels.
"""
from __future__ import annotations

import gzip
import os
from typing import Any, NamedTuple

import numpy as np

from penstock.datasets import load_digits
from penstock.graph import dtypes
from penstock.graph.seeds import get_seed
from penstock.platform import gfile

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_IMAGES, _LABELS = 2051, 2049  # the numbers with which the two kinds of files begin


class Datasets(NamedTuple):
    """Three DataSets."""

    train: Any
    validation: Any
    test: Any


class DataSet:
    """Images and labels in batches; each epoch is shuffled anew by NumPy's global generator, which is seeded here."""

    def __init__(self, images: Any, labels: Any, fake_data: bool = False, one_hot: bool = False, dtype: Any = dtypes.float32,
                 reshape: bool = True, seed: int | None = None) -> None:
        graph_seed, op_seed = get_seed(seed)
        np.random.seed(graph_seed if seed is None else op_seed)
        kind = dtypes.as_dtype(dtype).base_dtype
        if kind not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {kind!r}, expected uint8 or float32")
        self.one_hot, self._epochs_completed, self._index_in_epoch = one_hot, 0, 0
        if fake_data:
            self._num_examples = 10000
        else:
            assert len(images) == len(labels), f"images.shape: {images.shape} labels.shape: {labels.shape}"
            self._num_examples = len(images)
            if reshape:
                assert images.shape[3] == 1
                images = images.reshape(len(images), images.shape[1] * images.shape[2])
            if kind == dtypes.float32:
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images, self._labels = images, labels

    images = property(lambda self: self._images, doc="All images, in the order of this epoch.")
    labels = property(lambda self: self._labels, doc="All labels, in the same order.")
    num_examples = property(lambda self: self._num_examples, doc="How many there are.")
    epochs_completed = property(lambda self: self._epochs_completed, doc="How often all were given out.")

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """(images, labels) of the next examples; a batch may span two epochs."""
        if fake_data:
            return [[1] * 784] * batch_size, [[1] + [0] * 9 if self.one_hot else 0] * batch_size
        start = self._index_in_epoch
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        self._index_in_epoch = start + batch_size
        if self._index_in_epoch <= self._num_examples:
            return self._images[start:self._index_in_epoch], self._labels[start:self._index_in_epoch]
        self._epochs_completed += 1
        rest = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch -= self._num_examples
        return (np.concatenate((rest[0], self._images[:self._index_in_epoch])), np.concatenate((rest[1], self._labels[:self._index_in_epoch])))

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


# --- files -----------------------------------------------------------------------------------------------------------

def _numbers(data: bytes, count: int) -> list[int]:
    return [int(number) for number in np.frombuffer(data[:4 * count], ">u4")]


def _contents(file: Any) -> bytes:
    data = file.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def extract_images(f: Any) -> np.ndarray:
    """Images as uint8 [number, rows, columns, 1] of an open IDX file, compressed or not."""
    data = _contents(f)
    magic, number, rows, columns = _numbers(data, 4)
    if magic != _IMAGES:
        raise ValueError(f"Invalid magic number {magic} in MNIST image file: {f.name}")
    return np.frombuffer(data, np.uint8, rows * columns * number, 16).reshape(number, rows, columns, 1)


def dense_to_one_hot(labels_dense: np.ndarray, num_classes: int) -> np.ndarray:
    """Numbers of classes as rows with one 1."""
    return np.eye(num_classes)[labels_dense.ravel()]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = 10) -> np.ndarray:
    """Labels as uint8 [number] of an open IDX file, or as rows with one 1."""
    data = _contents(f)
    magic, number = _numbers(data, 2)
    if magic != _LABELS:
        raise ValueError(f"Invalid magic number {magic} in MNIST label file: {f.name}")
    labels = np.frombuffer(data, np.uint8, number, 8)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def _path(folder: str, name: str) -> str:
    for candidate in (os.path.join(folder, name + ".gz"), os.path.join(folder, name)):
        if gfile.Exists(candidate):
            return candidate
    raise FileNotFoundError(
        f"There is no {name}.gz in {os.path.abspath(folder)}. Penstock downloads nothing: put MNIST's four files ({', '.join(FILES)}, as .gz or "
        "unpacked) there, or run the program on the digits that ship with Penstock: set PENSTOCK_MNIST=digits in its environment, or give "
        "read_data_sets source_url='digits'.")


def _read_folder(folder: str) -> list[np.ndarray]:
    """Images and labels for training, images and labels for tests."""
    read = []
    for name in FILES:
        with gfile.GFile(_path(folder, name), "rb") as file:
            read.append((extract_images if "images" in name else extract_labels)(file))
    return read


def _shipped_digits() -> list[np.ndarray]:
    """The same of the digits of this package: each pixel becomes a square of 3 x 3, in a frame 2 pixels wide."""
    def enlarged(images: np.ndarray) -> np.ndarray:
        squares = np.kron(images, np.ones((1, 3, 3)))
        return np.pad(np.round(255 * squares).astype(np.uint8), ((0, 0), (2, 2), (2, 2)))[..., None]

    digits = load_digits()
    return [enlarged(digits.train_images), digits.train_labels.astype(np.uint8), enlarged(digits.test_images), digits.test_labels.astype(np.uint8)]


def read_data_sets(train_dir: str, fake_data: bool = False, one_hot: bool = False, dtype: Any = dtypes.float32, reshape: bool = True,
                   validation_size: int = 5000, seed: int | None = None, source_url: str = DEFAULT_SOURCE_URL) -> Datasets:
    """MNIST from the files in ``train_dir``, for training, validation (the first examples) and tests."""
    if fake_data:
        return Datasets(*(DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed) for _ in range(3)))
    shipped = source_url == "digits" or os.environ.get("PENSTOCK_MNIST") == "digits"
    train_images, train_labels, test_images, test_labels = _shipped_digits() if shipped else _read_folder(train_dir)
    if shipped:
        validation_size = min(validation_size, len(train_images) // 12)  # as large a part of them as 5000 are of MNIST
    if not 0 <= validation_size <= len(train_images):
        raise ValueError(f"Validation size should be between 0 and {len(train_images)}. Received: {validation_size}.")
    if one_hot:
        train_labels, test_labels = dense_to_one_hot(train_labels, 10), dense_to_one_hot(test_labels, 10)

    def data_set(images: np.ndarray, labels: np.ndarray) -> DataSet:
        return DataSet(images, labels, dtype=dtype, reshape=reshape, seed=seed)

    return Datasets(train=data_set(train_images[validation_size:], train_labels[validation_size:]),
                    validation=data_set(train_images[:validation_size], train_labels[:validation_size]), test=data_set(test_images, test_labels))


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """``read_data_sets`` with its defaults."""
    return read_data_sets(train_dir)
