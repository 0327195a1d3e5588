"""Input functions for arrays, data frames and generators: those of ``tf.estimator``, which shuffle by default here."""
from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

import numpy as np

from penstock.contrib.training.padding import padded_batch
from penstock.estimator import array_inputs


def numpy_input_fn(x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool = True, queue_capacity: int = 1000,
                   num_threads: int = 1) -> Callable[[], Any]:
    """``tf.contrib.learn.io.numpy_input_fn``: features (a dict of arrays) and labels, in batches."""
    return array_inputs.numpy_input_fn(x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


def pandas_input_fn(x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool = True, queue_capacity: int = 1000,
                    num_threads: int = 1, target_column: str = "target") -> Callable[[], Any]:
    """``tf.contrib.learn.io.pandas_input_fn``: the columns of a DataFrame as features, a Series as labels."""
    return array_inputs.pandas_input_fn(x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads, target_column)


def generator_input_fn(x: Callable[[], Any], target_key: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool = True,
                       queue_capacity: int = 1000, num_threads: int = 1, pad_value: Any = None) -> Callable[[], Any]:
    """``tf.contrib.learn.io.generator_input_fn``: what a generator yields, dicts with an array or number for each feature, in batches.

    ``pad_value`` stands behind arrays that are shorter than others of their batch.

    All batches are full: the generator begins again in the middle of a batch, and the epoch is over with that batch. So a generator that ends with
    a batch gives one batch more, as in TensorFlow. Shuffling goes through ``queue_capacity`` examples at a time. ``num_threads`` has no effect.
    """
    if pad_value is not None and shuffle:
        raise NotImplementedError("padding and shuffling data at the same time is not implemented")
    first = _first_example(x)
    targets = _checked_targets(target_key, first)

    def generate() -> Iterator[dict[str, np.ndarray]]:
        rows = _rows(x, batch_size, num_epochs)
        rows = _shuffle(rows, max(queue_capacity, 1), np.random.RandomState()) if shuffle else rows
        while batch := list(itertools.islice(rows, batch_size)):
            columns = {key: [row[key] for row in batch] for key in first}
            yield {key: np.array(column if pad_value is None else padded_batch(column, pad_value)) for key, column in columns.items()}

    def input_fn() -> Any:
        batch = array_inputs.next_batch(generate, {key: np.array([value]) for key, value in first.items()}, None, pad_value is not None)
        labels = {key: batch.pop(key) for key in targets}
        if not targets:
            return batch
        return batch, labels if len(labels) > 1 else labels[targets[0]]
    return input_fn


def _checked_targets(target_key: Any, first: dict[str, Any]) -> list[str]:
    """The keys of the labels."""
    if target_key is None:
        return []
    keys = [target_key] if isinstance(target_key, str) else target_key
    for key in keys if isinstance(keys, Container) and isinstance(keys, Iterable) else [keys]:
        if keys is target_key and (key is keys or not isinstance(key, str)):
            raise TypeError(f"target_key must be str or Container of str; got {type(key).__name__}")
        if key not in first:
            raise KeyError(f"target_key not in yielded dict. Expected {sorted(first)} keys; got {key}")
    return list(keys)


def _rows(x: Callable[[], Any], batch_size: int, num_epochs: int | None) -> Iterator[Any]:
    """What the generator yields, as many batches as belong to the epochs."""
    iterator, epoch = x(), 0
    while num_epochs is None or epoch < num_epochs:
        for _ in range(batch_size):
            row = next(iterator, None)
            if row is None:
                iterator, epoch = x(), epoch + 1
                row = next(iterator)
            yield row


def _first_example(x: Any) -> dict[str, Any]:
    if not inspect.isfunction(x):
        raise TypeError(f"x must be generator function; got {type(x).__name__}")
    generator = x()
    if not inspect.isgenerator(generator):
        raise TypeError(f"x() must be generator; got {type(generator).__name__}")
    first = next(generator)
    if not isinstance(first, dict):
        raise TypeError(f"x() must yield dict; got {type(first).__name__}")
    return {key: first[key] for key in sorted(first)}


def _shuffle(rows: Iterator[Any], capacity: int, random: np.random.RandomState) -> Iterator[Any]:
    """The rows, each exchanged with one of the ``capacity`` rows that come next."""
    waiting = list(itertools.islice(rows, capacity))
    for row in rows:
        place = random.randint(len(waiting))
        yield waiting[place]
        waiting[place] = row
    random.shuffle(waiting)
    yield from waiting
