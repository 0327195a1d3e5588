"""Stacks: LLVM, and the buffers of a product, take more than a program may have given to its threads (``threading.stack_size``)."""
from __future__ import annotations

import os
import threading

ENOUGH = 4 << 20  # bytes
_lock = threading.Lock()
_thread = threading.local()  # ``small``: what ``has_small_stack`` has found
if hasattr(os, "register_at_fork"):  # a child must not find it taken by a thread that it does not have
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def has_small_stack() -> bool:
    """Is the stack of this thread too small for native code? It is taken for as large as those of threads that start when it first asks."""
    small: bool | None = getattr(_thread, "small", None)
    if small is None:
        with _lock:
            size = threading.stack_size()  # which also sets it, to 0
            threading.stack_size(size)
        small = _thread.small = 0 < size < ENOUGH and threading.current_thread() is not threading.main_thread()
    return small


def start(thread: threading.Thread) -> bool:
    """Starts a thread that has enough; False if there are no more threads to be had, or none because the program ends."""
    with _lock:
        usual = threading.stack_size()
        if usual:
            threading.stack_size(max(usual, ENOUGH))
        try:
            thread.start()
        except RuntimeError:  # the caller does without
            return False
        finally:
            threading.stack_size(usual)
    return True
