"""``tensorflow.python.util.lazy_loader``: modules that are imported when they are first used."""
from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class LazyLoader(ModuleType):
    """Stands for the module ``name`` under ``local_name`` in ``parent_module_globals``, until an attribute is asked for."""

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str, warning: str | None = None) -> None:
        super().__init__(name)
        self._local_name, self._parent = local_name, parent_module_globals

    def _load(self) -> ModuleType:
        module = importlib.import_module(self.__name__)
        self._parent[self._local_name] = module
        self.__dict__.update(module.__dict__)
        return module

    def __getattr__(self, item: str) -> Any:
        return getattr(self._load(), item)

    def __dir__(self) -> list[str]:
        return dir(self._load())
