"""The C library's memory: what programs free, and soon ask for again."""
from __future__ import annotations

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt, in the GNU library
_KEPT = 128 << 20  # bytes of freed memory at the end of the heap that stay there
_LARGEST = 32 << 20  # bytes of an array that comes from the heap; the library allows no more
_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
_done = False


def keep_freed_memory() -> None:
    """Has the C library keep arrays of up to some megabytes that were freed, for those that are made next.

    Otherwise it hands each back to the system, and the next one of the same size consists of pages that the system clears first: for a pipeline that
    makes an array per example, that takes as long as making an image of a file. Where users have settings of their own, these hold.
    """
    global _done
    if _done or sys.platform != "linux" or any(name in os.environ for name in _SETTINGS):
        return
    _done = True
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST)
        mallopt(_TRIM_THRESHOLD, _KEPT)
