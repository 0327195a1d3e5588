"""Methods for types that are written in C.

Python lets nobody change them: they have a flag for that. It is taken away for a moment, found by where ``PyTypeObject`` has its flags in all Pythons
from 3.10 on; where the flags are not there, nothing is changed.
"""
from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from typing import Any

_FLAGS = 168  # the offset of tp_flags in PyTypeObject, where pointers have 8 bytes
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def add_methods(kind: type, methods: Mapping[str, Callable[..., Any]], replace: bool = False) -> list[str]:
    """Gives a type methods, those that it lacks unless ``replace``. Returns the names that were added."""
    missing = {name: method for name, method in methods.items() if replace or not hasattr(kind, name)}
    if not missing or not _has_usual_layout():
        return []
    flags = ctypes.c_ulong.from_address(id(kind) + _FLAGS)
    if flags.value != kind.__flags__:
        return []
    flags.value &= ~_IMMUTABLE
    try:
        for name, method in missing.items():
            setattr(kind, name, method)
    finally:
        flags.value |= kind.__flags__ | _IMMUTABLE
    return [f"{kind.__module__}.{kind.__qualname__}.{name}" for name in missing]


def _has_usual_layout() -> bool:
    is_enabled = getattr(sys, "_is_gil_enabled", lambda: True)
    return sys.implementation.name == "cpython" and ctypes.sizeof(ctypes.c_void_p) == 8 and is_enabled()
