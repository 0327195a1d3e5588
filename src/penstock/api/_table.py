"""Public names, looked up in tables: which name of a namespace is which object of which module.

A namespace module calls ``publish(__name__, TABLE)``. TABLE maps a module to the names it gives, ``public`` or ``public=private``; behind a key
that ends in a colon (``"penstock.api.flags:"``) stand names for the module itself. Modules are imported when a name is first used, so a name
that is not used costs nothing.
"""
from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from penstock.api.dispatched import HANDLERS, dispatching
from penstock.platform.deprecation import older_spelling

_members = ModuleType.__dict__["__dict__"].__get__


class Namespace(ModuleType):
    """A module with a table of names. Programs that go through its ``__dict__`` find all of them, so it is filled for those who ask."""

    def __dir__(self) -> list[str]:
        return _members(self)["__dir__"]()  # type: ignore[no-any-return]

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        for name in _members(self)["ORIGINS"]:
            getattr(self, name)
        return _members(self)  # type: ignore[no-any-return]


def loaded_members(module: ModuleType) -> dict[str, Any]:
    """The names that a module has by now."""
    return _members(module)  # type: ignore[no-any-return]


def publish(namespace: str, table: dict[str, str], submodules: str = "", missing: str = "", older: dict[str, str] | None = None) -> dict[str, str]:
    """Gives the module ``namespace`` the names of ``table`` and its ``submodules`` (namespaces below it). Returns {public name: origin}.

    ``missing`` are parts of TensorFlow's namespace that Penstock does not have; using one says so. ``older`` are spellings of before TensorFlow 1.0
    and what stands for them now; using one warns, once.
    """
    package, absent = namespace.removesuffix(".root"), frozenset(missing.split())
    origins: dict[str, str] = {}
    for module, names in table.items():
        for entry in names.split():
            public, _, private = entry.partition("=")
            if public in origins:
                raise ValueError(f"{namespace}.{public} is listed twice: {origins[public]} and {module}")
            origins[public] = module if module.endswith(":") else f"{module}:{private or public}"
    for name in submodules.split():
        origins[name] = f"{package}.{name}:"
    target = sys.modules[namespace]

    def getattr_(name: str) -> Any:
        origin = origins.get(name)
        if origin is None:
            reason = ": this part of TensorFlow's API is not in this version of Penstock" if name in absent else ""
            raise AttributeError(f"module '{public_name(namespace)}' has no attribute '{name}'{reason}")
        value = resolve(origin)
        if older and name in older:
            value = older_spelling(value, f"tf.{_short(namespace)}{name}", f"tf.{older[name]}")
        setattr(target, name, value)
        return value

    target.__getattr__ = getattr_  # type: ignore[method-assign]
    target.__dir__ = lambda: sorted(origins)  # type: ignore[method-assign]
    target.__all__ = sorted(origins)  # type: ignore[attr-defined]
    target.ORIGINS = origins  # type: ignore[attr-defined]
    target.MISSING = absent  # type: ignore[attr-defined]
    if type(target) is ModuleType:
        target.__class__ = Namespace
    if any(origin.endswith(":") for origin in origins.values()) and not hasattr(target, "__path__"):
        target.__path__ = []  # type: ignore[attr-defined]  # a package, so that `import tensorflow.app.flags` works
    return origins


def resolve(origin: str) -> Any:
    """The object that ``module:name`` means; ``module:`` is the module itself."""
    module, _, name = origin.partition(":")
    value: Any = importlib.import_module(module)
    for part in filter(None, name.split(".")):
        value = getattr(value, part)
    return dispatching(origin, value) if origin in HANDLERS else value


def _short(namespace: str) -> str:
    """``train.`` for ``penstock.api.train``, nothing for the root."""
    return public_name(namespace).removeprefix("tensorflow").removeprefix(".") + "." if not namespace.endswith(".root") else ""


def public_name(namespace: str) -> str:
    """``tensorflow.nn`` for ``penstock.api.nn``."""
    return namespace.removesuffix(".root").replace("penstock.api", "tensorflow", 1)
