"""The native functions, compiled and linked when one is first used. Their machine code is kept on disk with that of the compiler.

``functions(module)`` gives the functions of a module as Python callables over integers, or None where there is no native code: with the compiler off,
on a CPU without the instructions, in a Python whose strings look different in memory. The caller then does the same work in Python.
"""
from __future__ import annotations

import ctypes
import importlib
import logging
import threading
from types import SimpleNamespace
from typing import Any

from penstock.codec.language import Native
from penstock.codec.object_memory import strings_are_as_expected
from penstock.native.config import config
from penstock.native.unsupported import Unsupported

_log = logging.getLogger(__name__)
_lock = threading.RLock()
_linked: dict[str, SimpleNamespace | None] = {}
_libraries: list[Any] = []  # code stays in memory as long as these


def functions(module: str) -> Any:
    """The native functions of a module of this package, by name; None if there are none here."""
    if config.mode == "off":
        return None
    if module not in _linked:
        with _lock:
            if module not in _linked:
                _linked[module] = _link(module)
    return _linked[module]


def _link(module: str) -> SimpleNamespace | None:
    try:
        return _compile_and_link(module)
    except (Unsupported, OSError) as error:  # OSError: a package without its sources
        _log.info("no native code for %s: %s", module, error)
        return None


def _compile_and_link(name: str) -> SimpleNamespace:
    from penstock.codec.translation import module_text  # brings in LLVM
    from penstock.native.machine import target  # brings in LLVM
    module = importlib.import_module(f"penstock.codec.{name}")
    if not strings_are_as_expected():
        raise Unsupported("strings of this Python look different in memory")
    if not all(map(target.has, getattr(module, "NEEDS", ()))):
        raise Unsupported(f"the CPU has not all of {', '.join(module.NEEDS)}")
    if target.sources.loaded.version() is None:
        raise Unsupported("the files of the package have changed since it was loaded, and native code is made of their text")
    exported: list[Native] = list(module.EXPORTS)
    build = lambda: target.optimised(module_text(exported, target.triple()))  # noqa: E731
    code = target.object_code_for(f"codec {name}", build)
    library = target.LinkedCode(code, *(f"codec_{function.name}" for function in exported))
    _libraries.append(library)
    locked, brief = getattr(module, "MAKES_OBJECTS", ()), getattr(module, "BRIEF", ())
    linked = {function.name: _callable(library, function, function in locked) for function in exported}
    return SimpleNamespace(**linked, **{f"{function.name}_briefly": _callable(library, function, True) for function in brief})


def _callable(library: Any, function: Native, locked: bool) -> Any:
    """A function, called with Python's lock if it makes objects or is brief (other threads may be long in giving it back), otherwise without it."""
    kind = (ctypes.PYFUNCTYPE if locked else ctypes.CFUNCTYPE)(ctypes.c_int64, *[ctypes.c_int64] * len(function.parameters))
    return kind(library.addresses[f"codec_{function.name}"])
