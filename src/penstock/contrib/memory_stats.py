"""``tf.contrib.memory_stats``: the memory that is used. CPUs have no allocator of their own here: the numbers are those of the process."""
from __future__ import annotations

import os
import resource
from collections.abc import Callable

import numpy as np

from penstock.contrib import prelude as tf

_PAGE = os.sysconf("SC_PAGE_SIZE")


def _in_use() -> int:
    """The resident memory of this process."""
    if os.path.exists("/proc/self/statm"):
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * _PAGE
    return _most_in_use()


def _most_in_use() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if os.uname().sysname == "Darwin" else peak * 1024


def _limit() -> int:
    return os.sysconf("SC_PHYS_PAGES") * _PAGE


def _tensor(measure: Callable[[], int], name: str) -> tf.Tensor:
    result = tf.py_func(lambda: np.int64(measure()), [], tf.int64, stateful=True, name=name)
    result.set_shape([])
    return result


def BytesInUse() -> tf.Tensor:
    """``tf.contrib.memory_stats.BytesInUse``: what is used now."""
    return _tensor(_in_use, "BytesInUse")


def MaxBytesInUse() -> tf.Tensor:
    """``tf.contrib.memory_stats.MaxBytesInUse``: the most that was used at once."""
    return _tensor(_most_in_use, "MaxBytesInUse")


def BytesLimit() -> tf.Tensor:
    """``tf.contrib.memory_stats.BytesLimit``: what the machine has."""
    return _tensor(_limit, "BytesLimit")
