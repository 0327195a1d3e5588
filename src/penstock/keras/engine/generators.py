"""Batches of generators and of Sequences, fetched by worker threads or processes."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Items
from typing import Any, NamedTuple

from penstock.data.dataset import Dataset
from penstock.graph import nest
from penstock.graph.function import init_scope
from penstock.keras.engine.batches import ArraySource, Batch, Source
from penstock.keras.utils.data import EpochEnqueuer, GeneratorEnqueuer, OrderedEnqueuer, Sequence, SequenceEnqueuer


class Workers(NamedTuple):
    """Who fetches what a generator or a Sequence gives: so many threads or processes, or, if there are none, the loop itself."""

    number: int = 1
    are_processes: bool = False
    max_queue_size: int = 10

    def start(self, enqueuer: SequenceEnqueuer) -> SequenceEnqueuer:
        """Has them begin."""
        enqueuer.start(workers=self.number, max_queue_size=self.max_queue_size)
        return enqueuer


class GeneratorSource(Source):
    """What a generator gives; or a Sequence, again and again: how Keras's loop of graphs trains on one."""

    announced = False

    def __init__(self, generator: Any, prepare: Callable[[Any], Items[Any]], steps: int | None, workers: Workers, shuffle: bool = False,
                 steps_name: str = "steps", newer_loop: bool = False) -> None:
        is_sequence = isinstance(generator, Sequence)
        if steps is None and not is_sequence:
            raise ValueError(f"Please specify the number of steps via the `{steps_name}` argument.")
        self.announced, self._prepare, self.steps = newer_loop, prepare, len(generator) if steps is None else steps
        self.total = self.steps
        self._began, self._last_size = False, 1
        self._enqueuer: SequenceEnqueuer | None = None
        if workers.number > 0:
            made = OrderedEnqueuer(generator, workers.are_processes, shuffle) if is_sequence else GeneratorEnqueuer(generator, workers.are_processes)
            self._enqueuer = workers.start(made)
            self._values: Iterator[Any] = self._enqueuer.get()
        else:  # as in TensorFlow, nobody tells a Sequence then that an epoch is over
            self._values = (generator[index] for index in itertools.cycle(range(len(generator)))) if is_sequence else generator

    def first(self) -> Any:
        """The first element."""
        value = next(self._values)
        self._values = itertools.chain([value], self._values)
        return value

    def epoch(self) -> Iterator[Batch]:
        """``steps`` batches, or less, if a generator ends."""
        for _ in range(self.steps or 0):
            try:
                value = next(self._values)
            except StopIteration:
                self.ran_out = self._began  # one that gives nothing at all is an error
                return
            self._began = True
            self._last_size = samples_in(value)
            yield Batch(self._prepare(value), self._last_size, 1)

    def lead(self, held_out: Source) -> None:
        """Has arrays be evaluated in batches as large as the last one."""
        if isinstance(held_out, ArraySource):
            held_out.follow_batches_of(self._last_size, not self.announced)

    def close(self) -> None:
        """Ends the workers."""
        if self._enqueuer is not None:
            self._enqueuer.stop()


class SequenceSource(Source):
    """A Sequence, each epoch of which begins anew: evaluations, predictions, and what Keras's newer loop trains on.

    The newer loop counts its samples. It shuffles as a dataset does: the batches of all epochs in one order that depends on the seed; with workers
    they come out of a stream that begins again where a Sequence ends, so that some come twice in an epoch, and others in none.
    """

    def __init__(self, sequence: Any, prepare: Callable[[Any], Items[Any]], steps: int | None, workers: Workers, shuffle: bool = False,
                 newer_loop: bool = False, training: bool = False) -> None:
        self._sequence, self._prepare, self._workers = sequence, prepare, workers
        self.announced, self._training = newer_loop, training
        count = len(sequence)
        self.steps = count if steps is None else steps
        self.is_whole, self._size = self.steps == count, 1
        if newer_loop:
            self._size = samples_in(sequence[0])
            self.samples = count * self._size
        self.total = self.steps if self.samples is None else self.samples
        repeats = workers.number > 0 or not newer_loop
        self._numbers: Any = None
        if shuffle:
            with init_scope():
                numbers = Dataset.range(count)
                self._numbers = (numbers.repeat() if repeats else numbers).shuffle(count)
        self._in_order = itertools.cycle if repeats else iter
        self._enqueuer: SequenceEnqueuer | None = None

    def _indices(self) -> list[int]:
        """The numbers of the batches of an epoch."""
        if self._numbers is None:
            return list(itertools.islice(self._in_order(range(len(self._sequence))), self.steps))
        with init_scope():
            return [int(number.numpy()) for number in itertools.islice(self._numbers, self.steps)]

    def first(self) -> Any:
        """The first element."""
        return self._sequence[0]

    def epoch(self) -> Iterator[Batch]:
        """``steps`` batches, or less, if the Sequence is shorter and is not repeated."""
        indices = self._indices()
        values: Iterator[Any] = (self._sequence[index] for index in indices)
        if self._workers.number > 0:
            self._enqueuer = self._workers.start(EpochEnqueuer(self._sequence, indices, self._workers.are_processes))
            values = self._enqueuer.get()
        try:
            for value in itertools.islice(values, len(indices)):
                size = samples_in(value)
                yield Batch(self._prepare(value), size, 1 if self.samples is None else size)
        finally:
            self.close()
        self.ran_out = len(indices) < (self.steps or 0)

    def lead(self, held_out: Source) -> None:
        """Has arrays be evaluated in batches as large as the first one."""
        if isinstance(held_out, ArraySource):
            held_out.follow_batches_of(self._size, False)

    def end_epoch(self) -> None:
        """Tells the Sequence, as the workers of TensorFlow do."""
        if self._training and self._workers.number > 0:
            self._sequence.on_epoch_end()

    def close(self) -> None:
        """Ends the workers."""
        if self._enqueuer is not None:
            self._enqueuer.stop()
            self._enqueuer = None


def samples_in(element: Any) -> int:
    """The number of samples in what a generator gave."""
    first = nest.flatten(element)[0]
    return len(first) if hasattr(first, "__len__") else 1
