"""Views: other axes over the same memory, found by asking NumPy.

An op that only looks at its input in another way (a slice, a transpose) has a NumPy kernel that returns a view. The same function is called here
with a *shadow*: an array with the shape and the strides of the one in the step, but without its memory. Where the result's first element lies,
and its strides, is the answer. Such a function must never read an element.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.errors import KernelError
from penstock.native.calls import Array
from penstock.native.kernels.axes import collapse
from penstock.native.unsupported import Unsupported

_GROUND = np.zeros(1, np.complex128)  # somewhere for shadows to begin
_ADDRESS = _GROUND.__array_interface__["data"][0]


class _Shadow:
    """What NumPy needs to know to make an array."""

    def __init__(self, array: Array) -> None:
        self.__array_interface__ = {"version": 3, "shape": array.shape, "strides": array.strides, "data": (_ADDRESS, True),
                                    "typestr": f"|V{array.dtype.itemsize}"}


def shadow(array: Array) -> np.ndarray:
    """An array that looks like this one. Its elements must not be touched."""
    return np.asarray(_Shadow(array))


def view_through(array: Array, function: Callable[[np.ndarray], Any]) -> Any:
    """The view, or tuple of views, of the array that the function makes of a shadow. Raises Unsupported for arguments that do not fit."""
    try:
        views = function(shadow(array))
    except (KernelError, ValueError, IndexError) as error:
        raise Unsupported(f"the arguments do not fit: {error}") from error
    return tuple(_view(array, each) for each in views) if isinstance(views, (tuple, list)) else _view(array, views)


def _view(array: Array, view: np.ndarray) -> Array:
    offset = view.__array_interface__["data"][0] - _ADDRESS if view.size else 0
    return Array(array.buffer, array.dtype, view.shape, view.strides, array.offset + offset)


def reshaped_strides(array: Array, shape: Sequence[int]) -> tuple[int, ...] | None:
    """The strides with which the same memory has another shape; None if there are none."""
    groups = collapse([(extent, (stride,)) for extent, stride in zip(array.shape, array.strides)])
    left, step = 1, array.dtype.itemsize
    result = []
    for extent in reversed(shape):
        if extent == 1:
            result.append(step)
            continue
        if left == 1:
            if not groups:
                return None
            left, (step,) = groups.pop()
        if extent == 0 or left % extent:
            return None
        result.append(step)
        left //= extent
        step *= extent
    return tuple(reversed(result))
