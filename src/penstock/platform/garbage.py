"""Work that makes many objects which stay. Python's search for cycles among them finds nothing; of planning a large graph it takes a sixth."""
from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_waiting = 0  # blocks under way, in any thread; the first switches the search off, the last one on again


@contextmanager
def uncollected() -> Iterator[None]:
    """A ``with`` block without garbage collection, for work that ends by itself; a program that has switched it off finds it so."""
    global _waiting
    with _lock:
        entered = _waiting > 0 or gc.isenabled()
        if entered:
            gc.disable()
            _waiting += 1
    try:
        yield
    finally:
        if entered:
            with _lock:
                _waiting -= 1
                if not _waiting:
                    gc.enable()


def _after_fork() -> None:
    """A child does not have the threads that were at it."""
    global _lock, _waiting
    _lock = threading.Lock()
    if _waiting:
        _waiting = 0
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
