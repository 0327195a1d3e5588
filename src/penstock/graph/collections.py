"""The collections of a graph: named lists of what was made, which ``tf.GraphKeys`` names."""
from __future__ import annotations

import re
from typing import Any


class Collections:
    """What a Graph does with its collections."""

    _finalized: bool

    def __init__(self) -> None:
        super().__init__()
        self._collections: dict[Any, list[Any]] = {}

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Adds a value to the list called ``name``."""
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Adds a value to several lists."""
        for name in {names: None} if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of the list; with ``scope``, only items whose name matches that regular expression at its start."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        match = re.compile(scope).match
        return [item for item in items if hasattr(item, "name") and match(item.name)]

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The list itself: changes to it change the collection."""
        return self._collections.setdefault(name, [])

    def get_all_collection_keys(self) -> list[Any]:
        """The names of all lists."""
        return [key for key in self._collections if isinstance(key, str)]

    @property
    def collections(self) -> list[Any]:
        """The names of all lists."""
        return self.get_all_collection_keys()

    def clear_collection(self, name: Any) -> None:
        """Empties the list."""
        self._collections.pop(name, None)
