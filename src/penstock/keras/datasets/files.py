"""``tf.keras.datasets``: well-known data sets, read from local files.

Files are looked for in the cache (``~/.keras/datasets``, or below KERAS_HOME), under the names that Keras gives them. Nothing is downloaded.
"""
from __future__ import annotations

import gzip
import json
import os
import pickle
from typing import Any

import numpy as np

from penstock.keras.utils.files import get_file
from penstock.layers import settings
from penstock.platform import logging

Split = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


def _path(path: str, origin: str) -> str:
    """The file of a data set: the path itself if it is there, else in the cache."""
    return path if os.path.isabs(path) and os.path.exists(path) else get_file(path, origin=origin)


def load_mnist(path: str = "mnist.npz") -> Split:
    """``tf.keras.datasets.mnist.load_data``."""
    with np.load(_path(path, f"{_ORIGIN}mnist.npz")) as data:
        return (data["x_train"], data["y_train"]), (data["x_test"], data["y_test"])


def load_fashion_mnist() -> Split:
    """``tf.keras.datasets.fashion_mnist.load_data``."""
    names = ("train-labels-idx1-ubyte.gz", "train-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz")
    arrays = []
    for name in names:
        with gzip.open(get_file(name, origin=_ORIGIN + name, cache_subdir=os.path.join("datasets", "fashion-mnist")), "rb") as file:
            arrays.append(np.frombuffer(file.read(), np.uint8, offset=8 if "labels" in name else 16))
    y_train, x_train, y_test, x_test = arrays
    return (x_train.reshape(len(y_train), 28, 28), y_train), (x_test.reshape(len(y_test), 28, 28), y_test)


def load_boston_housing(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> Split:
    """``tf.keras.datasets.boston_housing.load_data``."""
    with np.load(_path(path, f"{_ORIGIN}boston_housing.npz")) as data:
        x, y = data["x"], data["y"]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y, first = x[order], y[order], int(len(x) * (1 - test_split))
    return (x[:first], y[:first]), (x[first:], y[first:])


def _cifar_batch(path: str, label_key: str = "labels") -> tuple[np.ndarray, list[int]]:
    with open(path, "rb") as file:
        content = {key.decode() if isinstance(key, bytes) else key: value for key, value in pickle.load(file, encoding="bytes").items()}
    return content["data"].reshape(-1, 3, 32, 32), content[label_key]


def load_cifar10() -> Split:
    """``tf.keras.datasets.cifar10.load_data``."""
    folder = get_file("cifar-10-batches-py", origin="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", untar=True)
    parts = [_cifar_batch(os.path.join(folder, f"data_batch_{number}")) for number in range(1, 6)]
    x_test, y_test = _cifar_batch(os.path.join(folder, "test_batch"))
    return _cifar(np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]), x_test, y_test)


def load_cifar100(label_mode: str = "fine") -> Split:
    """``tf.keras.datasets.cifar100.load_data``."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    folder = get_file("cifar-100-python", origin="https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz", untar=True)
    train, test = (_cifar_batch(os.path.join(folder, part), f"{label_mode}_labels") for part in ("train", "test"))
    return _cifar(*train, *test)


def _cifar(x_train: Any, y_train: Any, x_test: Any, y_test: Any) -> Split:
    """Labels as columns; channels where the settings want them."""
    first = settings.image_data_format() == "channels_first"
    images = [x if first else x.transpose(0, 2, 3, 1) for x in (x_train, x_test)]
    return (images[0], np.reshape(y_train, (-1, 1))), (images[1], np.reshape(y_test, (-1, 1)))


# --- texts -----------------------------------------------------------------------------------------------------------


def _limit(rows: Any, labels: Any, num_words: int | None, skip_top: int, maxlen: int | None, start_char: int | None, oov_char: int | None,
             index_from: int) -> tuple[list[Any], Any]:
    """Sequences with their start, shifted, without rare and too frequent words."""
    if start_char is not None:
        rows = [[start_char, *(word + index_from for word in row)] for row in rows]
    elif index_from:
        rows = [[word + index_from for word in row] for row in rows]
    if maxlen:
        kept = [(row, label) for row, label in zip(rows, labels) if len(row) < maxlen]
        rows, labels = [row for row, _ in kept], [label for _, label in kept]
        if not rows:
            raise ValueError(f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. Increase maxlen.")
    limit = num_words or max(max(row) for row in rows)
    if oov_char is not None:
        return [[word if skip_top <= word < limit else oov_char for word in row] for row in rows], labels
    return [[word for word in row if skip_top <= word < limit] for row in rows], labels


def _word_limit(num_words: int | None, others: dict[str, Any]) -> int | None:
    """``num_words``, which was ``nb_words`` once; TypeError for arguments of other names."""
    if "nb_words" in others:
        logging.warning("The `nb_words` argument in `load_data` has been renamed `num_words`.")
        num_words = others.pop("nb_words")
    if others:
        raise TypeError(f"Unrecognized keyword arguments: {others}")
    return num_words


def load_imdb(path: str = "imdb.npz", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None, seed: int = 113,
              start_char: int | None = 1, oov_char: int | None = 2, index_from: int = 3, **kwargs: Any) -> Split:
    """``tf.keras.datasets.imdb.load_data``."""
    num_words = _word_limit(num_words, kwargs)
    with np.load(_path(path, f"{_ORIGIN}imdb.npz"), allow_pickle=True) as data:
        parts = [(data[f"x_{part}"], data[f"y_{part}"]) for part in ("train", "test")]
    state = np.random.RandomState(seed)
    shuffled = []
    for x, y in parts:
        order = np.arange(len(x))
        state.shuffle(order)
        shuffled.append((x[order], y[order]))
    rows, labels = np.concatenate([x for x, _ in shuffled]), np.concatenate([y for _, y in shuffled])
    limited, kept = _limit(rows, labels, num_words, skip_top, maxlen, start_char, oov_char, index_from)
    return _split(limited, kept, len(shuffled[0][0]))


def load_reuters(path: str = "reuters.npz", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None, test_split: float = 0.2,
                 seed: int = 113, start_char: int | None = 1, oov_char: int | None = 2, index_from: int = 3, **kwargs: Any) -> Split:
    """``tf.keras.datasets.reuters.load_data``."""
    num_words = _word_limit(num_words, kwargs)
    with np.load(_path(path, f"{_ORIGIN}reuters.npz"), allow_pickle=True) as data:
        x, y = data["x"], data["y"]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    limited, kept = _limit(x[order], y[order], num_words, skip_top, maxlen, start_char, oov_char, index_from)
    return _split(limited, kept, int(len(limited) * (1 - test_split)))


def _split(rows: list[Any], labels: Any, first: int) -> Split:
    whole = np.empty(len(rows), object)
    whole[:] = rows
    return (whole[:first], np.array(labels[:first])), (whole[first:], np.array(labels[first:]))


def imdb_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """``tf.keras.datasets.imdb.get_word_index``."""
    with open(_path(path, f"{_ORIGIN}imdb_word_index.json"), encoding="utf-8") as file:
        return json.load(file)


def reuters_word_index(path: str = "reuters_word_index.json") -> dict[str, int]:
    """``tf.keras.datasets.reuters.get_word_index``."""
    with open(_path(path, f"{_ORIGIN}reuters_word_index.json"), encoding="utf-8") as file:
        return json.load(file)
