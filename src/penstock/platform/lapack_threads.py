"""How many threads LAPACK has: one for small matrices.

NumPy and SciPy each bring an OpenBLAS with threads of its own, which look for work for milliseconds after a call, as the threads of native code do. A
small matrix does not need them, and would wait for them: with two CPUs a Cholesky factor of 200 rows, between two native regions, took 9 ms instead
of 0.1.
"""
from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_SMALL = 512 * 512  # elements of a matrix
_telling = threading.Lock()


@functools.cache
def _pools(with_scipy: bool) -> Any:
    """The threads of all libraries of the kind in this process; SciPy's comes with its first use."""
    from threadpoolctl import ThreadpoolController  # most programs have no use for it

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def suited_to(*matrices: np.ndarray) -> Iterator[None]:
    """Inside, LAPACK has as many threads as are good for (batches of) matrices of this size.

    What it is told holds for the whole process, and is taken back afterwards; so one caller at a time tells it anything.
    """
    is_small = not any(each.shape[-2] * each.shape[-1] > _SMALL for each in matrices if each.ndim > 1)
    if not is_small or not _telling.acquire(blocking=False):
        yield
        return
    try:
        with _pools("scipy.linalg" in sys.modules).limit(limits=1):
            yield
    finally:
        _telling.release()
