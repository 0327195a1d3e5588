"""Queues that are filled from arrays, data frames or generators: what the input functions of TensorFlow's estimators were made of."""
from __future__ import annotations

import functools
import inspect
import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.contrib import prelude as tf
from penstock.contrib.training.feeding_queue_runner import FeedingQueueRunner
from penstock.contrib.training.padding import padded_batch
from penstock.graph.dtypes import as_dtype
from penstock.ops.queues.queue_classes import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from penstock.platform import logging
from penstock.summary import summary
from penstock.train.queue_runner import add_queue_runner


class _Rows:
    """Which rows come next: from the first or a random one, around and around, until all epochs are over."""

    def __init__(self, placeholders: list[Any], length: int, columns: int, batch_size: int, random_start: bool, seed: Any,
                 num_epochs: int | None) -> None:
        if len(placeholders) != columns:
            raise ValueError(f"Expected {columns} placeholders; got {len(placeholders)}.")
        self._placeholders, self._length, self._batch_size, self._epochs = placeholders, length, batch_size, num_epochs
        self._start = random.Random(seed).randrange(length) if random_start else 0
        self._given = 0

    def _next(self) -> list[int]:
        left = self._batch_size if self._epochs is None else min(self._batch_size, self._epochs * self._length - self._given)
        if left <= 0:
            raise errors.OutOfRangeError(None, None, f"Already emitted {self._epochs} epochs.")
        rows = [(self._start + self._given + number) % self._length for number in range(left)]
        self._given += left
        return rows


class ArrayFeedFn(_Rows):
    """Feeds the rows of an array, and before them their numbers."""

    def __init__(self, placeholders: list[Any], array: Any, batch_size: int, random_start: bool = False, seed: Any = None,
                 num_epochs: int | None = None) -> None:
        super().__init__(placeholders, len(array), 2, batch_size, random_start, seed, num_epochs)
        self._array = array

    def __call__(self) -> dict[Any, Any]:
        rows = self._next()
        return dict(zip(self._placeholders, (rows, self._array[rows])))


class OrderedDictNumpyFeedFn(_Rows):
    """Feeds the rows of several arrays of one length, and before them their numbers."""

    def __init__(self, placeholders: list[Any], ordered_dict_of_arrays: Any, batch_size: int, random_start: bool = False, seed: Any = None,
                 num_epochs: int | None = None) -> None:
        arrays = list(ordered_dict_of_arrays.values())
        if len({len(array) for array in arrays}) != 1:
            raise ValueError("Array lengths must match.")
        super().__init__(placeholders, len(arrays[0]), len(arrays) + 1, batch_size, random_start, seed, num_epochs)
        self._arrays = arrays

    def __call__(self) -> dict[Any, Any]:
        rows = self._next()
        return dict(zip(self._placeholders, (rows, *(array[rows] for array in self._arrays))))


class PandasFeedFn(_Rows):
    """Feeds the columns of a data frame, and before them its index."""

    def __init__(self, placeholders: list[Any], dataframe: Any, batch_size: int, random_start: bool = False, seed: Any = None,
                 num_epochs: int | None = None) -> None:
        super().__init__(placeholders, len(dataframe), len(dataframe.columns) + 1, batch_size, random_start, seed, num_epochs)
        self._frame = dataframe

    def __call__(self) -> dict[Any, Any]:
        part = self._frame.iloc[self._next()]
        return dict(zip(self._placeholders, (part.index.values, *(part[column].values for column in part.columns))))


class GeneratorFeedFn:
    """Feeds what a generator function yields: dicts of arrays, in the order of their keys; with ``pad_value``, arrays of different lengths."""

    def __init__(self, placeholders: list[Any], generator: Callable[[], Any], batch_size: int, random_start: bool = False, seed: Any = None,
                 num_epochs: int | None = None, pad_value: Any = None) -> None:
        first = next(generator())
        if len(placeholders) != len(first):
            raise ValueError(f"Expected {len(first)} placeholders; got {len(placeholders)}.")
        self._placeholders, self._generator, self._batch_size, self._epochs = placeholders, generator, batch_size, num_epochs
        self._keys, self._epoch, self._rows, self._pad_value = sorted(first), 0, generator(), pad_value

    def __call__(self) -> dict[Any, Any]:
        if self._epochs and self._epoch >= self._epochs:
            raise errors.OutOfRangeError(None, None, f"Already emitted {self._epoch} epochs.")
        columns: list[list[Any]] = [[] for _ in self._keys]
        while sum(map(len, columns)) < self._batch_size:
            row = self._next()
            for key, column in zip(self._keys, columns):
                if key not in row:
                    raise KeyError(f"key mismatch between dicts emitted by GenFun Expected {self._keys} keys; got {row.keys()}")
                column.append(row[key])
        if self._pad_value is not None:
            columns = [padded_batch(list(map(np.asarray, column)), self._pad_value) for column in columns]
        return {placeholder: np.asarray(column) for placeholder, column in zip(self._placeholders, columns)}

    def _next(self) -> Any:
        try:
            return next(self._rows)
        except StopIteration:
            self._epoch, self._rows = self._epoch + 1, self._generator()
            return next(self._rows)


def _columns(data: Any) -> tuple[Any, list[Any], list[Any]]:
    """(the class that feeds it, types, shapes of one row) of the columns of ``data``."""
    if isinstance(data, np.ndarray):
        return ArrayFeedFn, [tf.int64, as_dtype(data.dtype)], [(), data.shape[1:]]
    if isinstance(data, OrderedDict):
        arrays = list(data.values())
        return OrderedDictNumpyFeedFn, [tf.int64, *(as_dtype(array.dtype) for array in arrays)], [(), *(array.shape[1:] for array in arrays)]
    if inspect.isfunction(data):
        first = next(data())
        values = [first[key] for key in sorted(first)]
        return GeneratorFeedFn, [as_dtype(value.dtype) for value in values], [value.shape for value in values]
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        types = [as_dtype(kind) for kind in (data.index.dtype, *data.dtypes)]
        return PandasFeedFn, types, [()] * len(types)
    raise TypeError(f"data must be either a numpy array or pandas DataFrame if pandas is installed; got {type(data).__name__}")


def enqueue_data(data: Any, capacity: int, shuffle: bool = False, min_after_dequeue: int | None = None, num_threads: int = 1, seed: Any = None,
                 name: str = "enqueue_input", enqueue_size: int = 1, num_epochs: int | None = None, pad_value: Any = None) -> QueueBase:
    """A queue that a queue runner fills with the rows of an array, of arrays in an OrderedDict, of a data frame, or of a generator function.

    The first component is the number of the row (the index of a data frame), except of a generator.
    """
    if pad_value is not None and not inspect.isfunction(data):
        raise NotImplementedError("padding is only available with generator usage")
    if pad_value is not None and shuffle:
        raise NotImplementedError("padding and shuffling data at the same time is not implemented")
    with tf.name_scope(name):
        feeder, types, shapes = _columns(data)
        if num_threads > 1 and (num_epochs is not None or not shuffle):
            logging.warning("enqueue_data was called with num_threads > 1: each thread reads all the data, in order, for num_epochs epochs.")
        least = int(capacity / 4 if min_after_dequeue is None else min_after_dequeue) if shuffle else 0
        queue: QueueBase
        if pad_value is not None:
            queue = PaddingFIFOQueue(capacity, dtypes=types, shapes=[(*shape[:-1], None) if shape else shape for shape in shapes])
            feeder = functools.partial(feeder, pad_value=pad_value)
        elif shuffle:
            queue = RandomShuffleQueue(capacity, least, dtypes=types, shapes=shapes, seed=seed)
        else:
            queue = FIFOQueue(capacity, dtypes=types, shapes=shapes)
        operations, feeders = [], []
        for thread in range(num_threads):
            placeholders = [tf.placeholder(dtype) for dtype in types]
            operations.append(queue.enqueue_many(placeholders))
            own_seed = None if seed is None else (thread + 1) * seed
            feeders.append(feeder(placeholders, data, enqueue_size, random_start=shuffle, seed=own_seed, num_epochs=num_epochs))
        add_queue_runner(FeedingQueueRunner(queue=queue, enqueue_ops=operations, feed_fns=feeders))
        full = tf.cast(tf.maximum(0, queue.size() - least), tf.float32) * (1.0 / (capacity - least))
        summary.scalar(f"queue/{queue.name}fraction_over_{least}_of_{capacity - least}_full", full)
        return queue
