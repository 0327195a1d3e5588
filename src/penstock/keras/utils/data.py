"""Sequence, and the enqueuers: workers that get batches ready while a model trains."""
from __future__ import annotations

import itertools
import multiprocessing
import os
import queue
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np


class Sequence:
    """``tf.keras.utils.Sequence``: batches by number. Define ``__getitem__`` and ``__len__``; ``on_epoch_end`` may shuffle."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """Called at the end of each epoch."""

    def __iter__(self) -> Iterator[Any]:
        """All batches, in order."""
        return (self[index] for index in range(len(self)))


_shared: dict[int, Any] = {}  # {number of an enqueuer: its sequence}, inherited by worker processes
_numbers = itertools.count()
_pools: weakref.WeakSet[ProcessPoolExecutor] = weakref.WeakSet()  # those that may still run


def _item(number: int, index: int) -> Any:
    return _shared[number][index]


def _next_item(number: int) -> Any:
    try:
        return True, next(_shared[number])
    except StopIteration:  # futures cannot hand this one on
        return False, None


def _begin_worker(sequences: dict[int, Any], seed: int | None) -> None:
    _shared.update(sequences)
    if seed is not None:
        np.random.seed(seed + os.getpid())


def terminate_keras_multiprocessing_pools(grace_period: float = 0.1, use_sigkill: bool = False) -> list[str]:
    """``tf.keras.experimental.terminate_keras_multiprocessing_pools``: ends all worker processes. Returns what went wrong, as sentences."""
    processes = [process for pool in list(_pools) for process in _terminate(pool)]
    deadline = time.monotonic() + grace_period
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive() and use_sigkill:
            process.kill()
            process.join(grace_period)
    return [f"Failed to clean up process {process.pid}" for process in processes if process.is_alive()]


def _terminate(pool: ProcessPoolExecutor) -> list[Any]:
    """Signals the processes of a pool to end, and returns them."""
    processes = list((pool._processes or {}).values())
    for process in processes:
        process.terminate()
    return processes


class SequenceEnqueuer:
    """``tf.keras.utils.SequenceEnqueuer``: what enqueuers share. Workers are threads, or forked processes."""

    _seed: int | None = None

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        self.sequence, self.use_multiprocessing = sequence, use_multiprocessing
        self.uid = next(_numbers)
        self.workers = 0
        self.queue: queue.Queue[Any] = queue.Queue()
        self.run_thread: threading.Thread | None = None
        self.stop_signal: threading.Event | None = None
        self._processes: ProcessPoolExecutor | None = None

    def is_running(self) -> bool:
        """Whether it was started and not stopped."""
        return self.stop_signal is not None and not self.stop_signal.is_set()

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Starts the workers."""
        self.workers, self.queue, self.stop_signal = workers, queue.Queue(max_queue_size), threading.Event()
        _shared[self.uid] = self.sequence
        self.run_thread = threading.Thread(target=self._run, daemon=True, name="keras-enqueuer")
        self.run_thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """Ends the workers: threads when they have done what they are at, processes at once."""
        if self.stop_signal is None or self.run_thread is None:
            return
        self.stop_signal.set()
        if self._processes is not None:
            _terminate(self._processes)
        while True:
            try:
                self.queue.get_nowait()
            except queue.Empty:
                break
        if threading.current_thread() is not self.run_thread:
            self.run_thread.join(timeout)
        _shared.pop(self.uid, None)

    def _executor(self) -> Executor:
        if not self.use_multiprocessing:
            return ThreadPoolExecutor(self.workers)
        fork = multiprocessing.get_context("fork")  # a generator cannot be sent; workers inherit it
        pool = ProcessPoolExecutor(self.workers, mp_context=fork, initializer=_begin_worker, initargs=({self.uid: self.sequence}, self._seed))
        _pools.add(pool)
        self._processes = pool
        return pool

    def _put(self, future: Any) -> bool:
        """Puts a future into the queue; False if the enqueuer was stopped meanwhile."""
        while self.is_running():
            try:
                self.queue.put(future, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def _take(self) -> Any:
        """The next future; None if the enqueuer was stopped meanwhile."""
        while self.is_running():
            try:
                return self.queue.get(timeout=0.1)
            except queue.Empty:
                continue
        return None

    def _run(self) -> None:
        raise NotImplementedError

    def get(self) -> Iterator[Any]:
        """The batches."""
        raise NotImplementedError


class OrderedEnqueuer(SequenceEnqueuer):
    """``tf.keras.utils.OrderedEnqueuer``: the batches of a Sequence, in order, again and again."""

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, shuffle: bool = False) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _run(self) -> None:
        order = list(range(len(self.sequence)))
        while self.is_running():
            if self.shuffle:
                random.shuffle(order)
            with self._executor() as executor:
                if not all(self._put(executor.submit(_item, self.uid, index)) for index in order):
                    return
                while self.is_running() and self.queue.unfinished_tasks:  # the epoch ends when its last batch was used
                    self.stop_signal.wait(0.005)  # type: ignore[union-attr]
            if self.is_running():
                self.sequence.on_epoch_end()

    def get(self) -> Iterator[Any]:
        """The batches."""
        while (future := self._take()) is not None:
            try:
                value = future.result()
            except BaseException:
                self.stop()
                raise
            self.queue.task_done()
            if value is not None:
                yield value


class EpochEnqueuer(OrderedEnqueuer):
    """The batches of a Sequence that some numbers name, in their order, once: one epoch, of whose end the Sequence is told by others."""

    def __init__(self, sequence: Any, indices: Iterable[int], use_multiprocessing: bool = False) -> None:
        super().__init__(sequence, use_multiprocessing)
        self._indices = indices

    def _run(self) -> None:
        with self._executor() as executor:
            for index in self._indices:
                if not self._put(executor.submit(_item, self.uid, index)):
                    return


class GeneratorEnqueuer(SequenceEnqueuer):
    """``tf.keras.utils.GeneratorEnqueuer``: what a generator gives. Several threads need a generator that allows it."""

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, random_seed: int | None = None) -> None:
        super().__init__(sequence, use_multiprocessing)
        self._seed = self.random_seed = random_seed

    def _run(self) -> None:
        fetch: Callable[..., Any] = _next_item
        with self._executor() as executor:
            while self._put(executor.submit(fetch, self.uid)):
                pass

    def get(self) -> Iterator[Any]:
        """The values, up to the end of the generator."""
        while (future := self._take()) is not None:
            try:
                more, value = future.result()
            except ValueError as error:
                self.stop()
                if "generator already executing" in str(error):
                    raise RuntimeError("Your generator is NOT thread-safe. Keras requires a thread-safe generator when "
                                       "`use_multiprocessing=False, workers > 1`.") from error
                raise
            except BaseException:
                self.stop()
                raise
            self.queue.task_done()
            if not more:
                return
            if value is not None:
                yield value
