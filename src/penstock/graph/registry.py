"""A registry whose entries may come late: what is not there is looked for in what has not been loaded yet.

``import penstock`` loads few operations. A program names most of those that it needs (``tf.nn.relu`` is looked up in a module, which registers it);
gradients, imported graphs and the tasks of a cluster ask for types by name. A type that is missing loads the families of operations one after
another until one of them has it. To go through all entries loads all of them.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from typing import TypeVar

_Entry = TypeVar("_Entry")


class Registry(MutableMapping[str, _Entry]):
    """Entries by name. ``postpone`` says what may have more of them."""

    def __init__(self) -> None:
        self.loaded: dict[str, _Entry] = {}
        self._loaders: list[Callable[[], None]] = []
        self._lock = threading.RLock()  # a family that is being loaded may ask for a type itself

    def postpone(self, loaders: list[Callable[[], None]]) -> None:
        """Each of these registers further entries when it is called, which happens once, in this order, when a name is missing."""
        self._loaders = [*self._loaders, *loaders]

    def __getitem__(self, name: str) -> _Entry:
        entry = self.loaded.get(name)
        if entry is not None:
            return entry
        self._load(name)
        return self.loaded[name]

    def __contains__(self, name: object) -> bool:
        if name not in self.loaded:
            self._load(name)
        return name in self.loaded

    def __setitem__(self, name: str, entry: _Entry) -> None:
        self.loaded[name] = entry

    def __delitem__(self, name: str) -> None:
        del self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        self._load(None)
        return iter(self.loaded)

    def __len__(self) -> int:
        self._load(None)
        return len(self.loaded)

    def _load(self, name: object) -> None:
        """Calls loaders until the name is there; all of them if it is None, which is not a name. Another thread's last loader is waited for."""
        with self._lock:
            while self._loaders and name not in self.loaded:
                self._loaders.pop(0)()
