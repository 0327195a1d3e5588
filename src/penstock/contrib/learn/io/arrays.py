"""Input functions for arrays, data frames and generators: those of ``tf.estimator``, which shuffle by default here."""
from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

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

    Shuffling goes through ``queue_capacity`` examples at a time. ``num_threads`` has no effect.
    """
    if pad_value is not None:
        raise NotImplementedError("generator_input_fn: Penstock does not pad. Yield arrays of one shape, or use tf.data.Dataset.padded_batch.")
    first = _first_example(x)
    targets = [target_key] if isinstance(target_key, str) else list(target_key or ())
    for key in targets:
        if key not in first:
            raise KeyError(f"target_key not in yielded dict. Expected {sorted(first)} keys; got {key}")

    def generate() -> Iterator[dict[str, np.ndarray]]:
        random = np.random.RandomState() if shuffle else None
        rows: Iterator[Any] = itertools.chain.from_iterable(x() for _ in (itertools.count() if num_epochs is None else range(num_epochs)))
        rows = rows if random is None else _shuffled(rows, max(queue_capacity, 1), random)
        while batch := list(itertools.islice(rows, batch_size)):
            if len(batch) == batch_size or num_epochs is not None:
                yield {key: np.array([row[key] for row in batch]) for key in first}

    def input_fn() -> Any:
        batch = array_inputs.next_batch(generate, {key: np.array([value]) for key, value in first.items()}, None)
        labels = {key: batch.pop(key) for key in targets}
        if not targets:
            return batch
        return batch, labels if len(labels) > 1 else labels[targets[0]]
    return input_fn


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


def _shuffled(rows: Iterator[Any], capacity: int, random: np.random.RandomState) -> Iterator[Any]:
    """The rows, each exchanged with one of the ``capacity`` rows that come next."""
    waiting = list(itertools.islice(rows, capacity))
    for row in rows:
        place = random.randint(len(waiting))
        yield waiting[place]
        waiting[place] = row
    random.shuffle(waiting)
    yield from waiting
