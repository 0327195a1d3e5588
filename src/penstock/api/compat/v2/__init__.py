"""``tf.compat.v2``: TensorFlow 2's names in TensorFlow 1.15. Most are those of ``tf`` (`names.py`), some have other arguments (`signatures.py`), and
a few are of their own (`own.py`). Behaviour stays that of TensorFlow 1: graphs, unless imperative style is enabled.
"""
from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from penstock.api._table import resolve
from penstock.api.compat.v2.names import NAMES, PLACES

_WHOLE = {"keras.backend": "penstock.api.keras.backend", "raw_ops": "penstock.api.raw_ops", "summary": "penstock.contrib.summary_v2"}


def _origins(namespace: str) -> dict[str, str]:
    """{name: ``module:name``, or ``module:`` of a namespace below it}."""
    source = PLACES.get(namespace, namespace)
    origins = {}
    for entry in NAMES.get(namespace, "").split():
        name, _, path = entry.partition("=")
        origins[name] = f"penstock.api.root:{(path or f'{source}.{name}').lstrip('.')}"
    prefix = namespace + "." if namespace else ""
    for path in _own_paths():
        if path.startswith(prefix) and "." not in path[len(prefix):]:
            origins[path[len(prefix):]] = f"{__name__}:{path}"
    for path in _namespaces():
        if path != namespace and path.startswith(prefix) and "." not in path[len(prefix):]:
            origins[path[len(prefix):]] = f"{__name__}.{path}:"
    return origins


def _own_paths() -> list[str]:
    signatures, own = (importlib.import_module(f"{__name__}.{module}") for module in ("signatures", "own"))
    return [*signatures.PLACES, *own.OWN]


def _namespaces() -> list[str]:
    given = [*NAMES, *_WHOLE, *(path.rpartition(".")[0] for path in _own_paths())]
    return sorted({".".join(path.split(".")[:length]) for path in given for length in range(1, len(path.split(".")) + 1)} - {""})


class _Namespace(ModuleType):
    """A namespace of ``tf.compat.v2``."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{__name__}.{path}", f"``tf.compat.v2.{path}``.")
        self._path, self.ORIGINS, self.MISSING, self.__path__ = path, _origins(path), frozenset(), []
        self.__all__ = sorted(self.ORIGINS)

    def __getattr__(self, name: str) -> Any:
        value = _value(self._path, self.ORIGINS, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return self.__all__


def _value(path: str, origins: dict[str, str], name: str) -> Any:
    origin = origins.get(name)
    if origin is None:
        raise AttributeError(f"module 'tensorflow.compat.v2{'.' * bool(path) + path}' has no attribute '{name}'")
    if origin.endswith(":"):
        return sys.modules[origin[:-1]]
    if not origin.startswith(__name__ + ":"):
        return resolve(origin)
    signatures, own = (importlib.import_module(f"{__name__}.{module}") for module in ("signatures", "own"))
    whole = origin.partition(":")[2]
    return resolve(own.OWN[whole]) if whole in own.OWN else signatures.function(whole)


for _path in _namespaces():
    sys.modules[f"{__name__}.{_path}"] = importlib.import_module(_WHOLE[_path]) if _path in _WHOLE else _Namespace(_path)
ORIGINS = _origins("")
ORIGINS["compat"] = "penstock.api.compat:"
MISSING: frozenset[str] = frozenset()
_resolved: dict[str, Any] = {}  # not among the names of this module: `bool` and others are Python's here
__all__ = sorted(ORIGINS)
newaxis = None
__version__ = "1.15.0"


def __getattr__(name: str) -> Any:
    if name == "compat":
        return importlib.import_module("penstock.api.compat")
    if name not in _resolved:
        _resolved[name] = _value("", ORIGINS, name)
    return _resolved[name]


def __dir__() -> list[str]:
    return __all__
