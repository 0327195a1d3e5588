"""How a function of a module is changed: once, under its own name and signature."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def replace(module: Any, name: str, change: Callable[[Function], Function]) -> None:
    """Puts ``change(function)`` in the place of a function of ``module``, unless it stands there already."""
    current = getattr(module, name)
    if getattr(current, "__module__", None) != change.__module__:
        changed = functools.wraps(current)(change(current))
        changed.__module__ = change.__module__
        setattr(module, name, changed)
