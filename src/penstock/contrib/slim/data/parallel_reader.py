"""Several readers that fill one queue of records."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as types
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.math.add_n import add_n
from penstock.ops.queues.queue_classes import FIFOQueue, RandomShuffleQueue
from penstock.ops.queues.reader_classes import ReaderBase
from penstock.platform import gfile
from penstock.summary import summary
from penstock.train.input import string_input_producer
from penstock.train.queue_runner import QueueRunner, add_queue_runner


class ParallelReader(ReaderBase):
    """A reader that is several: they read into a common queue, from which records are taken."""

    def __init__(self, reader_class: Any, common_queue: Any, num_readers: int = 4, reader_kwargs: Any = None) -> None:
        if len(common_queue.dtypes) != 2 or not all(dtype.is_compatible_with(types.string) for dtype in common_queue.dtypes):
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    num_readers = property(lambda self: len(self._readers), doc="How many readers there are.")
    common_queue = property(lambda self: self._common_queue, doc="The queue that they fill.")

    def read(self, queue: Any, name: str | None = None) -> Any:
        """(key, value) of the next record of the files that ``queue`` names."""
        self._configure_readers_by(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Keys and values of the next records."""
        self._configure_readers_by(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def _configure_readers_by(self, queue: Any) -> None:
        add_queue_runner(QueueRunner(self._common_queue, [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]))

    def num_records_produced(self, name: str | None = None) -> Any:
        """How many records all readers have read."""
        return add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """How many files all readers have read to their end."""
        return add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


def parallel_read(data_sources: Any, reader_class: Any, num_epochs: int | None = None, num_readers: int = 4, reader_kwargs: Any = None,
                  shuffle: bool = True, dtypes: Any = None, capacity: int = 256, min_after_dequeue: int = 128, seed: int | None = None,
                  scope: str | None = None) -> Any:
    """(key, value) of the next record of some files, in their order or shuffled."""
    files = get_data_files(data_sources)
    with name_scope(scope, "parallel_read"):
        names = string_input_producer(files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames")
        kinds = dtypes or [types.string, types.string]
        queue: Any = (RandomShuffleQueue(capacity=capacity, min_after_dequeue=min_after_dequeue, dtypes=kinds, seed=seed, name="common_queue")
                      if shuffle else FIFOQueue(capacity=capacity, dtypes=kinds, name="common_queue"))
        summary.scalar(f"fraction_of_{capacity}_full", cast(queue.size(), types.float32) * (1.0 / capacity))
        return ParallelReader(reader_class, queue, num_readers=num_readers, reader_kwargs=reader_kwargs).read(names)


def single_pass_read(data_sources: Any, reader_class: Any, reader_kwargs: Any = None, scope: str | None = None) -> Any:
    """(key, value) of the next record, each once and in their order."""
    files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        names = string_input_producer(files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources: Any) -> list[str]:
    """The files that names and patterns mean. Raises ValueError if there are none."""
    if isinstance(data_sources, (list, tuple)):
        files = [file for source in data_sources for file in get_data_files(source)]
    else:
        files = gfile.Glob(data_sources) if any(sign in data_sources for sign in "*?[") else [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files
