"""Half precision in kernels: float16 and bfloat16 are computed in float32 and rounded once, at the end."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from penstock.graph.members import parameters_of, with_parameters

NARROW = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def widen(value: Any) -> Any:
    """A float32 copy of a half-precision array; anything else as it is."""
    return value.astype(np.float32) if getattr(value, "dtype", None) in NARROW else value


def in_float32(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that sees float32 wherever it is given half precision; its float32 results are rounded back.

    >>> double = in_float32(lambda x: x + x)
    >>> double(np.ones(2, np.float16)).dtype, double(np.ones(2)).dtype
    (dtype('float16'), dtype('float64'))
    """
    @functools.wraps(kernel)
    def wrapper(*arrays: Any, **attributes: Any) -> Any:
        narrow = next((a.dtype for a in arrays if a.dtype in NARROW), None)
        if narrow is None:
            return kernel(*arrays, **attributes)
        result = kernel(*map(widen, arrays), **attributes)
        return tuple(_round_to(r, narrow) for r in result) if isinstance(result, tuple) else _round_to(result, narrow)

    return with_parameters(wrapper, parameters_of(kernel))


def _round_to(result: Any, narrow: np.dtype) -> Any:
    return result.astype(narrow) if result.dtype == np.float32 else result
