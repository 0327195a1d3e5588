"""Functions of NumPy that took more than they do today: other arguments, and values that NumPy refuses."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.cli.era.changes import Function, replace

_KINDS = {float: np.floating, int: np.integer, complex: np.complexfloating}


def accept_old_arguments() -> None:
    """Each function is changed once, however often this is called."""
    for names, change in _CHANGES:
        for name in names.split():
            replace(np, name, change)


def _of_python_types(current: Function) -> Function:
    """``np.issubdtype(np.float32, float)`` is True again, as it was up to NumPy 1.13: Python's types stood for all types of their kind."""
    def issubdtype(arg1: Any, arg2: Any) -> bool:
        return bool(current(arg1, _KINDS.get(arg2, arg2) if isinstance(arg2, type) else arg2))

    return issubdtype


def _lenient_array(make: Function) -> Function:
    """``np.array([[1], [2, 3]])`` is an array of objects, ``np.array([-1], np.uint8)`` is [255], and ``copy=False`` copies where it must."""
    def array(*args: Any, **options: Any) -> np.ndarray:
        try:
            return make(*args, **options)
        except (ValueError, OverflowError) as error:
            caller = sys._getframe(1).f_globals.get("__name__", "")  # Penstock itself tells users of such values
            dtype = args[1] if len(args) > 1 else options.get("dtype")
            if caller.startswith("penstock."):
                raise
            if isinstance(error, OverflowError) and dtype is not None and np.issubdtype(dtype, np.integer):
                return make(args[0], **{**options, "dtype": object}).astype(np.int64).astype(dtype)
            if "avoid copy" in str(error):
                return array(*args, **{**options, "copy": None})
            if "inhomogeneous" not in str(error) or dtype is not None:
                raise
            return make(*args, **{**options, "dtype": object})

    return array


def _of_iterators(function: Function) -> Function:
    """``np.vstack(row for row in rows)``."""
    def of_all(arrays: Any, *args: Any, **options: Any) -> Any:
        return function(arrays if hasattr(arrays, "__getitem__") or not hasattr(arrays, "__iter__") else list(arrays), *args, **options)

    return of_all


def _of_no_threshold(set_options: Function) -> Function:
    """``np.set_printoptions(threshold=np.nan)``: arrays are printed whole."""
    def set_printoptions(precision: Any = None, threshold: Any = None, *args: Any, **options: Any) -> None:
        has_none = isinstance(threshold, float) and threshold != threshold
        set_options(precision, sys.maxsize if has_none else threshold, *args, **options)

    return set_printoptions


def _of_generators(total: Function) -> Function:
    """``np.sum(x for x in values)`` is Python's sum."""
    def sum_of_all(a: Any, *args: Any, **options: Any) -> Any:
        return sum(a) if hasattr(a, "gi_frame") else total(a, *args, **options)

    return sum_of_all


def _of_ragged_lists(function: Function) -> Function:
    """``np.max([[1], [2, 3]])`` is the greater list."""
    def of_list(a: Any, *args: Any, **options: Any) -> Any:
        try:
            return function(a, *args, **options)
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
            return function(np.asarray(a, dtype=object), *args, **options)

    return of_list


def _of_bytes(parse: Function) -> Function:
    """``np.fromstring(data, np.uint8)``: the numbers that bytes hold, in an array of their own."""
    def fromstring(string: Any, dtype: Any = float, count: int = -1, sep: str = "", **options: Any) -> np.ndarray:
        if sep != "":
            return parse(string, dtype, count, sep=sep, **options)
        return np.frombuffer(string.encode("latin-1") if isinstance(string, str) else string, dtype, count).copy()

    return fromstring


def _of_interpolations(function: Function) -> Function:
    """``np.percentile(values, 50, interpolation="nearest")``: ``method``, today."""
    def percentile(*args: Any, **options: Any) -> Any:
        return function(*args, **{"method" if name == "interpolation" else name: value for name, value in options.items()})

    return percentile


def _of_normed(function: Function) -> Function:
    """``np.histogram(values, normed=True)``: ``density``, today."""
    def histogram(*args: Any, **options: Any) -> Any:
        return function(*args, **{"density" if name == "normed" else name: value for name, value in options.items()})

    return histogram


def _of_float_counts(function: Function) -> Function:
    """``np.linspace(0, 1, 10.0)``."""
    def linspace(start: Any, stop: Any, num: Any = 50, *args: Any, **options: Any) -> Any:
        return function(start, stop, int(num), *args, **options)

    return linspace


_CHANGES: tuple[tuple[str, Callable[[Function], Function]], ...] = (
    ("issubdtype", _of_python_types), ("array asarray", _lenient_array), ("vstack hstack dstack stack column_stack concatenate", _of_iterators),
    ("max min amax amin size shape ndim", _of_ragged_lists), ("sum", _of_generators), ("fromstring", _of_bytes),
    ("percentile nanpercentile quantile nanquantile", _of_interpolations), ("histogram histogram2d", _of_normed), ("linspace", _of_float_counts),
    ("set_printoptions", _of_no_threshold),
)
