"""How much memory something takes at its peak."""
from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any


def peak_of(function: Callable[[], Any]) -> int:
    """Bytes that Python and NumPy had allocated, at most, while the function ran."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
