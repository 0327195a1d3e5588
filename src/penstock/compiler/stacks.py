"""Stacks: LLVM, and the buffers of a product, take more than a program may have given to its threads (``threading.stack_size``)."""
from __future__ import annotations

import threading

ENOUGH = 4 << 20  # bytes
_lock = threading.Lock()


def cramped() -> bool:
    """Is the stack of this thread too small for native code? It is taken for as large as those of threads that start now."""
    return 0 < threading.stack_size() < ENOUGH and threading.current_thread() is not threading.main_thread()


def start(thread: threading.Thread) -> None:
    """Starts a thread that has enough."""
    with _lock:
        usual = threading.stack_size()
        if usual:
            threading.stack_size(max(usual, ENOUGH))
        try:
            thread.start()
        finally:
            threading.stack_size(usual)
