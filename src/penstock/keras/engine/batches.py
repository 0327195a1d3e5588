"""Where batches come from: arrays, datasets, tensors; generators and Sequences are in ``generators.py``. Each source gives flat lists of arrays,
epoch by epoch."""
from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.data.transformations import cardinality
from penstock.errors import OutOfRangeError
from penstock.graph import nest
from penstock.layers.sessions import initialized_session, values_of
from penstock.ops.data.dataset_core import INFINITE

_AHEAD = 2  # batches that are made ready while the model trains
_LARGE = 1 << 20  # bytes of a batch that is worth a thread


class Batch(NamedTuple):
    """The arrays of a batch, the size that callbacks are told, and its weight in the mean of the loss."""

    arrays: Sequence[Any]
    size: int
    weight: int


class Source:
    """Batches. ``steps`` is their number per epoch; None until it is known. ``samples`` is the number of samples; None where steps are counted."""

    steps: int | None = None
    samples: int | None = None
    announced = True  # is it told how many there are, before the first epoch?
    counts_samples = False  # is what is told called samples, though it is a number of steps?
    rows: int | None = None  # how many samples there are, where that is told of validation data, though steps are counted
    is_whole = True  # does an epoch have all samples?
    total: int | None = None  # of the weights of an evaluation's batches; None: their sum
    ran_out = False  # were there less batches than were asked for?

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""
        raise NotImplementedError

    def first(self) -> Any:
        """The first element, as it is given; it is still the first one of the first epoch."""
        raise NotImplementedError

    def shape_of(self, shape: list[int]) -> list[int | None]:
        """What is known of the shapes of all arrays beside one of this shape, before any of them is seen."""
        return list(shape)

    def rewind(self) -> None:
        """Begins again with the first element, where that can be done."""

    def end_epoch(self) -> None:
        """Called between epochs."""

    def lead(self, held_out: Source) -> None:
        """Tells the source of an evaluation how batches of training were."""

    def close(self) -> None:
        """Ends threads and processes."""


class ArraySource(Source):
    """Rows of arrays: in order, or shuffled by NumPy's global generator: in each epoch, or, if ``epochs`` says how many there will be, at once."""

    def __init__(self, arrays: Sequence[Any], batch_size: int, shuffle: Any = False, epochs: int | None = None, limit: int | None = None,
                 training: bool = False) -> None:
        """``limit`` is how many batches an epoch has, if that was asked for: training goes on with the next one, evaluations with the first."""
        self._arrays, self._shuffle = [_rows(array) for array in arrays], shuffle
        self._epochs = epochs if shuffle else None
        self._limit, self._training, self._count = limit, training, epochs or 1
        self._flow: Iterator[Batch] | None = None
        self._states: list[Any] = []  # of the generator, before the orders of the epochs to come, the last one first: orders themselves may be large
        self.samples = next((len(array) for array in self._arrays if array is not None), 0)
        self._counts_batches = False
        self._set_batch_size(batch_size)
        for _ in range(self._epochs or 0):
            self._states.append(np.random.get_state())
            np.random.shuffle(np.arange(self.samples))
        self._states.reverse()

    def _set_batch_size(self, size: int) -> None:
        assert self.samples is not None
        self._batch_size, self.steps = size, -(-self.samples // size)
        self.total = self.steps if self._counts_batches else self.samples
        self.is_whole = self._limit in (None, self.steps)
        self.steps = self._limit or self.steps

    def shape_of(self, shape: list[int]) -> list[int | None]:
        """The number of rows is known if all batches have the same."""
        assert self.samples is not None
        return list(shape) if self.samples <= self._batch_size or self.samples % self._batch_size == 0 else [None, *shape[1:]]

    def follow_batches_of(self, size: int, counts_batches: bool) -> None:
        """Gives batches of this size, in order: how Keras evaluates arrays while it trains on a generator. They may weigh the same."""
        self._shuffle, self._counts_batches = False, counts_batches
        self._set_batch_size(size)

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch. Large ones are gathered in a thread, ahead of the step that needs them; a thread costs more than small ones."""
        batches = self._batches() if self._limit is None else self._limited(self._limit)
        return _ahead(batches.__next__, self.steps) if self._shuffle and self._bytes_of_batch() >= _LARGE else batches

    def _limited(self, limit: int) -> Iterator[Batch]:
        """So many batches, or less, if there are no more."""
        if self._flow is None or not self._training:
            self._flow = itertools.chain.from_iterable(self._batches() for _ in range(self._count))
        for _ in range(limit):
            batch = next(self._flow, None)
            if batch is None:
                self.ran_out = True
                return
            yield batch

    def _bytes_of_batch(self) -> int:
        return sum(getattr(array, "nbytes", 0) for array in self._arrays if array is not None) * self._batch_size // max(1, self.samples or 1)

    def _batches(self) -> Iterator[Batch]:
        assert self.samples is not None
        size, arrays = self._batch_size, self._arrays
        order = self._order()
        if self.samples <= size and self._epochs is None:  # as Keras has it: one batch is all data, in their own order
            yield Batch([_dense(array) for array in arrays], self.samples, self.samples)
            return
        for start in range(0, self.samples, size):
            rows: Any = slice(start, start + size) if order is None else order[start:start + size]
            count = min(size, self.samples - start)
            yield Batch([_dense(array[rows]) for array in arrays], count, 1 if self._counts_batches else count)

    def _order(self) -> np.ndarray | None:
        assert self.samples is not None
        if not self._shuffle:
            return None
        order = np.arange(self.samples)
        if self._states:
            generator = np.random.RandomState()
            generator.set_state(self._states.pop())
            generator.shuffle(order)
            return order
        if self._shuffle != "batch":
            np.random.shuffle(order)
            return order
        whole = self.samples // self._batch_size
        blocks = order[:whole * self._batch_size].reshape(whole, self._batch_size)
        np.random.shuffle(blocks)
        return np.append(blocks.reshape(-1), order[whole * self._batch_size:])


def _rows(array: Any) -> Any:
    """Sparse matrices by rows; anything else as it is."""
    return array.tocsr() if hasattr(array, "tocsr") else array


def _dense(array: Any) -> Any:
    return array.toarray() if hasattr(array, "toarray") else array


class WholeArraySource(Source):
    """All rows of arrays in each of ``steps`` batches: what Keras makes of arrays and a number of steps."""

    counts_samples = True  # as Keras calls these steps

    def __init__(self, arrays: Sequence[Any], steps: int) -> None:
        self._arrays, self.steps = [_dense(array) for array in arrays], steps
        self.rows, self.total = len(self._arrays[0]), steps

    def epoch(self) -> Iterator[Batch]:
        """The same batch each time."""
        for _ in range(self.steps or 0):
            yield Batch(self._arrays, 1, 1)


class CountedBatches(Source):
    """The batches of arrays, each of which counts as one, whatever its size: how Keras trains with a strategy in a graph."""

    def __init__(self, source: ArraySource) -> None:
        self._source, self.steps, self.total = source, source.steps, source.steps
        self.shape_of = source.shape_of  # type: ignore[method-assign]

    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""
        return (batch._replace(size=1, weight=1) for batch in self._source.epoch())


class CallSource(Source):
    """What a function gives, call by call: values of tensors, or elements of a dataset, from which ``restart`` begins again."""

    def __init__(self, fetch: Callable[[], Any], prepare: Callable[[Any], Sequence[Any]], steps: int | None,
                 restart: Callable[[], None] | None, size: Callable[[Any], int] = lambda _: 1, unknown_axes: int = 0) -> None:
        self._unknown_axes = unknown_axes
        self._fetch, self._prepare, self.steps, self._restart, self._size = fetch, prepare, steps, restart, size
        self._known, self._fresh = steps is not None, True
        self._waiting: list[Any] = []
        self.total = steps

    def shape_of(self, shape: list[int]) -> list[int | None]:
        """Of elements of a dataset, some of the first axes may be unknown."""
        return [extent if position >= self._unknown_axes else None for position, extent in enumerate(shape)]

    def first(self) -> Any:
        """The first element."""
        if not self._waiting:
            self._waiting.append(self._fetch())
        return self._waiting[0]

    def rewind(self) -> None:
        """Begins again with the first element of a dataset."""
        if self._restart is not None and not self._fresh:
            self._waiting.clear()
            self._restart()
            self._fresh = True

    def _next(self) -> Any:
        return self._waiting.pop() if self._waiting else self._fetch()

    def epoch(self) -> Iterator[Batch]:
        """Up to ``steps`` batches, or all there are. Elements are fetched ahead in a thread."""
        if not self._known:
            self.rewind()
        self._fresh, count = False, 0
        for value in _ahead(self._next, self.steps if self._known else None):
            yield Batch(self._prepare(value), self._size(value), 1)
            count += 1
        if self._known:
            self.ran_out = count < (self.steps or 0)
        else:
            self.steps = count


def _ahead(fetch: Callable[[], Any], limit: int | None) -> Iterator[Any]:
    """The values of ``fetch``, each fetched while earlier ones are used; ends at the limit, or where there are no more."""
    values: queue.Queue[Any] = queue.Queue(_AHEAD)
    stop, end = threading.Event(), object()

    def put(value: Any) -> None:
        while not stop.is_set():
            try:
                values.put(value, timeout=0.1)
                return
            except queue.Full:
                continue

    def work() -> None:
        count = 0
        while not stop.is_set() and (limit is None or count < limit):
            try:
                put((True, fetch()))
            except (OutOfRangeError, StopIteration):
                break
            except BaseException as error:  # the consumer raises it
                put((False, error))
                return
            count += 1
        put((True, end))

    thread = threading.Thread(target=work, daemon=True, name="keras-prefetch")
    thread.start()
    try:
        while True:
            good, value = values.get()
            if not good:
                raise value
            if value is end:
                return
            yield value
    finally:
        stop.set()
        thread.join()


def dataset_source(dataset: Any, prepare: Callable[[Any], Sequence[Any]], steps: int | None, steps_name: str) -> CallSource:
    """The elements of a ``tf.data.Dataset``; without ``steps`` all of them, from the beginning in each epoch. ValueError if they have no end;
    ``steps_name`` is the argument that should have said where to end."""
    graph = dataset._variant_tensor.op.graph
    with graph.as_default(), graph.counting_as(0):  # TensorFlow asks without an operation
        length = int(values_of([cardinality(dataset)])[0])
    if steps is None and length == INFINITE:
        raise ValueError(f"When passing an infinitely repeating dataset, you must specify the `{steps_name}` argument.")
    source = _eager_source(dataset, graph, prepare, steps) if graph.imperative else _session_source(dataset, prepare, steps)
    if steps is None and length >= 0 and (not graph.imperative or steps_name != "steps_per_epoch"):
        source.steps = length  # as TensorFlow has it: the training of imperative style learns it in the first epoch
    return source


def _session_source(dataset: Any, prepare: Callable[[Any], Sequence[Any]], steps: int | None) -> CallSource:
    """The elements of a dataset of a graph."""
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    flat = nest.flatten(element)
    session = initialized_session()
    session.run(iterator.initializer)
    run = session.make_callable(flat)
    return CallSource(lambda: nest.pack_sequence_as(element, run()), prepare, steps, lambda: session.run(iterator.initializer))


def _eager_source(dataset: Any, graph: Any, prepare: Callable[[Any], Sequence[Any]], steps: int | None) -> CallSource:
    """The elements of a dataset of imperative style, where, as in TensorFlow, training weighs batches by their rows."""
    iterators: list[Any] = []

    def restart() -> None:
        with graph.as_default():
            iterators[:] = [dataset.make_one_shot_iterator()]

    def fetch() -> Any:
        with graph.as_default():
            return nest.map_structure(lambda tensor: tensor.numpy(), iterators[0].get_next())

    def rows(value: Any) -> int:
        first = nest.flatten(value)[0]
        return len(first) if np.ndim(first) else 1

    restart()
    return CallSource(fetch, prepare, steps, restart, rows, _unknown_axes(dataset))


def _unknown_axes(dataset: Any) -> int:
    """How many of the first axes of its elements a dataset does not know."""
    shapes = [shape.as_list() for shape in nest.flatten(dataset.output_shapes) if shape.ndims]
    unknown = [axis for shape in shapes for axis, extent in enumerate(shape) if extent is None]
    return max(unknown, default=-1) + 1


def tensor_source(tensors: Any, prepare: Callable[[Any], Sequence[Any]], steps: int | None) -> CallSource:
    """The values of tensors, which change from step to step."""
    session = initialized_session()
    flat = nest.flatten(tensors)
    symbolic = [each for each in flat if hasattr(each, "op")]
    run = session.make_callable(symbolic)

    def fetch() -> Any:
        values = iter(run())
        return nest.pack_sequence_as(tensors, [next(values) if hasattr(each, "op") else each for each in flat])

    return CallSource(fetch, prepare, steps, None)
