"""The memory of large results, used again: otherwise a program that fetches large arrays in each step would get fresh pages each time.

``keep`` remembers an array that was handed out. When nothing else holds it any more, ``empty`` makes it the memory of another result of its shape.
"""
from __future__ import annotations

import sys
import threading
import weakref
from collections import deque

import numpy as np

LARGE = 1 << 20  # bytes of an array that is worth it: the C library keeps smaller ones at hand
_MOST = 1 << 28  # bytes of all arrays that are remembered


class Results:
    """Arrays that were handed out, oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrays: deque[np.ndarray] = deque()
        self._bytes = 0

    def keep(self, array: np.ndarray) -> None:
        """Remembers an array, if it has memory of its own."""
        if array.base is not None or not array.flags.c_contiguous or array.dtype.hasobject:
            return
        with self._lock:
            self._arrays.append(array)
            self._bytes += array.nbytes
            while self._bytes > _MOST:
                self._bytes -= self._arrays.popleft().nbytes

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array whose elements are anything."""
        with self._lock:
            for index in range(len(self._arrays)):
                if sys.getrefcount(self._arrays[index]) <= _SOLE_HOLDER and _fits(self._arrays[index], shape, dtype):
                    array = self._arrays[index]
                    del self._arrays[index]
                    self._bytes -= array.nbytes
                    return array
        return np.empty(shape, dtype)

    def clear(self) -> None:
        """Forgets all of them."""
        with self._lock:
            self._arrays.clear()
            self._bytes = 0


def _fits(array: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> bool:
    """Can an array that was in others' hands be used again?"""
    return array.shape == shape and array.dtype == dtype and array.flags.carray and not weakref.getweakrefcount(array)


def _sole_holder_count() -> int:
    """What ``sys.getrefcount(arrays[0])`` says when ``arrays`` alone holds the array."""
    arrays = deque([np.zeros(())])
    return sys.getrefcount(arrays[0])


_SOLE_HOLDER = _sole_holder_count()
RESULTS = Results()
