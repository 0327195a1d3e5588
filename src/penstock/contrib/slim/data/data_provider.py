"""DataProvider: tensors of a data set, by the names of its items."""
from __future__ import annotations

import abc
from collections.abc import KeysView
from typing import Any


class DataProvider(abc.ABC):
    """Gives tensors by name."""

    @abc.abstractmethod
    def __init__(self, items_to_tensors: dict[str, Any], num_samples: int) -> None:
        self._items_to_tensors, self._num_samples = items_to_tensors, num_samples

    def get(self, items: Any) -> list[Any]:
        """The tensors of ``items``. Raises ValueError if there is no such item."""
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {self.list_items()}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> KeysView[str]:
        """The names of all items."""
        return self._items_to_tensors.keys()

    def num_samples(self) -> int:
        """How many examples the data set has."""
        return self._num_samples
