"""Restores that wait: values of a checkpoint for variables which do not exist yet.

Layers make their variables at their first call, optimizers when they first apply gradients. Both call ``retry`` then, and get the values of a
checkpoint that was restored before.
"""
from __future__ import annotations

import weakref
from typing import Any

_waiting: weakref.WeakSet[Any] = weakref.WeakSet()


def wait(status: Any) -> None:
    """Has ``status.restore_more`` called whenever variables were made, as long as the status lives and returns False."""
    _waiting.add(status)


def retry() -> None:
    """Variables were made: those that a checkpoint has values for get them."""
    for status in list(_waiting) if _waiting else ():
        if status.restore_more():
            _waiting.discard(status)
