"""Built-in functions of Python that also take tensors of a graph, when a converted function calls them."""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.autograph.loops import length
from penstock.autograph.state import is_symbolic
from penstock.graph import dtypes
from penstock.ops.array.cast import cast
from penstock.ops.array.sequences import range as tensor_range
from penstock.ops.flow.py_func import py_func
from penstock.ops.flow.tensor_list import TensorListLength
from penstock.ops.math.elementwise import abs as tensor_abs
from penstock.ops.math.elementwise import maximum
from penstock.ops.text.strings import string_to_number

_MISSING: Any = object()


def _abs(x: Any) -> Any:
    return tensor_abs(x) if is_symbolic(x) else abs(x)


def _number(dtype: dtypes.DType, python: type) -> Callable[..., Any]:
    """``int`` or ``float``."""
    def convert(x: Any = 0, *base: Any) -> Any:
        if not is_symbolic(x):
            return python(x, *base)
        if base and base != (10,):
            raise NotImplementedError(f"base {base[0]} not supported for int")
        return string_to_number(x, dtype) if x.dtype.base_dtype is dtypes.string else cast(x, dtype)

    return convert


def _len(items: Any) -> Any:
    if hasattr(items, "with_flow") and not items.flow.op.graph.imperative:
        return items.size()
    if is_symbolic(items) and items.dtype.base_dtype is dtypes.variant:
        return TensorListLength(items)
    return length(items) if is_symbolic(items) else len(items)


def _range(start_or_stop: Any, stop: Any = _MISSING, step: Any = _MISSING) -> Any:
    given = [each for each in (start_or_stop, stop, step) if each is not _MISSING]
    if not any(is_symbolic(each) for each in given):
        return range(*given)
    if len(given) == 1:
        return tensor_range(maximum(start_or_stop, 0))
    return tensor_range(start_or_stop, maximum(start_or_stop, stop)) if len(given) == 2 else tensor_range(*given)


def _print(*objects: Any, **kwargs: Any) -> Any:
    if not any(is_symbolic(each) for each in objects):
        return print(*objects, **kwargs)
    places = [index for index, each in enumerate(objects) if is_symbolic(each)]

    def show(*values: Any) -> np.int64:
        shown = list(objects)
        for index, value in zip(places, values):
            shown[index] = value.decode("utf-8") if isinstance(value, bytes) else value
        print(*shown, **{"flush": True, **kwargs})
        return np.int64(0)

    return py_func(show, [objects[index] for index in places], dtypes.int64, stateful=True)


def _enumerate(items: Any, start: int = 0) -> Any:
    return items.enumerate(start) if _is_dataset(items) else enumerate(items, start)


def _zip(*iterables: Any) -> Any:
    return type(iterables[0]).zip(tuple(iterables)) if iterables and all(_is_dataset(each) for each in iterables) else zip(*iterables)


def _is_dataset(items: Any) -> bool:
    return hasattr(items, "_autograph_for_loop") and hasattr(items, "enumerate")


OVERLOADS: dict[Any, Callable[..., Any]] = {
    builtins.abs: _abs, builtins.float: _number(dtypes.float32, float), builtins.int: _number(dtypes.int32, int), builtins.len: _len,
    builtins.print: _print, builtins.range: _range, builtins.enumerate: _enumerate, builtins.zip: _zip}
