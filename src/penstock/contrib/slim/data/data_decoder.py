"""DataDecoder: what turns a record into named tensors."""
from __future__ import annotations

import abc
from typing import Any


class DataDecoder(abc.ABC):
    """A subclass says which items a record has and how to get them."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Any) -> list[Any]:
        """The tensors of ``items``, in their order."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """The names of all items."""
