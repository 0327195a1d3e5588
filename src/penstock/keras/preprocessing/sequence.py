"""``tf.keras.preprocessing.sequence``: sequences of numbers as arrays."""
from __future__ import annotations

import json
import random
from collections.abc import Sequence as PlainSequence
from typing import Any

import numpy as np

from penstock.keras.utils.data import Sequence


def pad_sequences(sequences: Any, maxlen: int | None = None, dtype: Any = "int32", padding: str = "pre", truncating: str = "pre",
                  value: Any = 0.0) -> np.ndarray:
    """``tf.keras.preprocessing.sequence.pad_sequences``: rows of one length; ``pre`` and ``post`` say at which end they are filled up or cut."""
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for each in sequences:
        if not hasattr(each, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {each}")
    if truncating not in ("pre", "post"):
        raise ValueError(f'Truncating type "{truncating}" not understood')
    if padding not in ("pre", "post"):
        raise ValueError(f'Padding type "{padding}" not understood')
    length = max((len(each) for each in sequences), default=0) if maxlen is None else maxlen
    inner = next((np.asarray(each).shape[1:] for each in sequences if len(each)), ())
    text = np.issubdtype(dtype, np.str_)
    if isinstance(value, str) and dtype is not object and not text:
        raise ValueError(f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\nYou should set `dtype=object` "
                         "for variable length strings.")
    result = np.full((len(sequences), length, *inner), value, dtype=dtype)
    for number, (row, each) in enumerate(zip(result, sequences)):
        if not len(each):
            continue
        kept = np.asarray(each[len(each) - min(length, len(each)):] if truncating == "pre" else each[:length], dtype=dtype)
        if kept.shape[1:] != inner:
            raise ValueError(f"Shape of sample {kept.shape[1:]} of sequence at position {number} is different from expected shape {inner}")
        row[:len(kept)] = kept if padding == "post" else row[:len(kept)]
        if padding == "pre" and len(kept):
            row[-len(kept):] = kept
    return result


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """``tf.keras.preprocessing.sequence.make_sampling_table``: how probable it is that a word of a rank is kept, by Zipf's law."""
    gamma = 0.577
    rank = np.arange(size)
    rank[0] = 1
    inverse = rank * (np.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank)
    f = sampling_factor * inverse
    return np.minimum(1.0, f / np.sqrt(f))


def skipgrams(sequence: PlainSequence[int], vocabulary_size: int, window_size: int = 4, negative_samples: float = 1.0, shuffle: bool = True,
              categorical: bool = False, sampling_table: Any = None, seed: int | None = None) -> tuple[list[Any], list[Any]]:
    """``tf.keras.preprocessing.sequence.skipgrams``: pairs of words that stand near each other (1), and random pairs (0)."""
    couples, labels = [], []
    for index, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        for other in range(max(0, index - window_size), min(len(sequence), index + window_size + 1)):
            if other != index and sequence[other]:
                couples.append([word, sequence[other]])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        words = [couple[0] for couple in couples]
        count = int(len(labels) * negative_samples)
        random.shuffle(words)
        couples += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        seed = random.randint(0, 10 ** 7) if seed is None else seed
        for each in (couples, labels):
            random.seed(seed)
            random.shuffle(each)
    return couples, labels


def _remove_long_seq(maxlen: int, seq: Any, label: Any) -> tuple[list[Any], list[Any]]:
    """Sequences shorter than ``maxlen``, and their labels."""
    kept = [(each, its) for each, its in zip(seq, label) if len(each) < maxlen]
    return [each for each, _ in kept], [its for _, its in kept]


class TimeseriesGenerator(Sequence):
    """``tf.keras.preprocessing.sequence.TimeseriesGenerator``: windows of a series, and the value behind each."""

    def __init__(self, data: Any, targets: Any, length: int, sampling_rate: int = 1, stride: int = 1, start_index: int = 0,
                 end_index: int | None = None, shuffle: bool = False, reverse: bool = False, batch_size: int = 128) -> None:
        if len(data) != len(targets):
            raise ValueError(f"Data and targets have to be of same length. Data length is {len(data)} while target length is {len(targets)}")
        self.data, self.targets, self.length, self.sampling_rate, self.stride = data, targets, length, sampling_rate, stride
        self.start_index, self.end_index = start_index + length, len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(f"`start_index+length={self.start_index} > end_index={self.end_index}` is disallowed, as no part of the sequence would "
                             "be left to be used as current step.")

    def __len__(self) -> int:
        return (self.end_index - self.start_index + self.batch_size * self.stride) // (self.batch_size * self.stride)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            rows = np.arange(first, min(first + self.batch_size * self.stride, self.end_index + 1), self.stride)
        samples = np.array([self.data[row - self.length:row:self.sampling_rate] for row in rows])
        return samples[:, ::-1, ...] if self.reverse else samples, np.array([self.targets[row] for row in rows])

    def get_config(self) -> dict[str, Any]:
        """The settings, with the data as JSON."""
        def plain(value: Any) -> str:
            return json.dumps(value.tolist() if hasattr(value, "tolist") else value)

        names = ("length", "sampling_rate", "stride", "start_index", "end_index", "shuffle", "reverse", "batch_size")
        return {"data": plain(self.data), "targets": plain(self.targets), **{name: getattr(self, name) for name in names}}

    def to_json(self, **kwargs: Any) -> str:
        """The generator as JSON."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)
