"""DatasetDataProvider: the items of a data set, read by several readers at once."""
from __future__ import annotations

from typing import Any

from penstock.contrib.slim.data.data_provider import DataProvider
from penstock.contrib.slim.data.parallel_reader import parallel_read


class DatasetDataProvider(DataProvider):
    """Each run gives one example; shuffled ones come out of a queue."""

    def __init__(self, dataset: Any, num_readers: int = 1, reader_kwargs: Any = None, shuffle: bool = True, num_epochs: int | None = None,
                 common_queue_capacity: int = 256, common_queue_min: int = 128, record_key: str = "record_key", seed: int | None = None,
                 scope: str | None = None) -> None:
        key, data = parallel_read(
            dataset.data_sources, reader_class=dataset.reader, num_epochs=num_epochs, num_readers=num_readers, reader_kwargs=reader_kwargs,
            shuffle=shuffle, capacity=common_queue_capacity, min_after_dequeue=common_queue_min, seed=seed, scope=scope)
        items = dataset.decoder.list_items()
        tensors = dict(zip(items, dataset.decoder.decode(data, items)))
        if record_key in tensors:
            raise ValueError("The item name used for `record_key` cannot also be used for a dataset item: %s", record_key)
        super().__init__(items_to_tensors={**tensors, record_key: key}, num_samples=dataset.num_samples)
