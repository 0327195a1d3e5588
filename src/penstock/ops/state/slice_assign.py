"""``variable[...].assign(value)``: writing a slice of a variable, with the index arithmetic of StridedSlice."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import unimplemented
from penstock.graph.attrs import TYPE
from penstock.graph.opdef import op
from penstock.graph.shape import brackets
from penstock.ops.array.slicing import MASKS, StridedSlice, strided_index
from penstock.ops.common import INDEX, like
from penstock.ops.state.resource import checked_shape


def _write(ref: Any, begin: Any, end: Any, strides: Any, value: Any, masks: tuple[int, ...]) -> None:
    with ref.lock:
        array = ref.mutable()
        target = array[strided_index(array.ndim, begin, end, strides, array.shape, *masks)]
        if target.shape != np.shape(value):
            raise unimplemented(f"sliced l-value shape {brackets(target.shape)} does not match r-value shape {brackets(np.shape(value))}. "
                                "Automatic broadcasting not yet implemented.")
        target[...] = value


def _native(emit: Any, ref: Any, begin: Any, end: Any, strides: Any, value: Any, masks: tuple[int, ...]) -> Any:
    """Copies natively into the slice."""
    target = emit.move.view(StridedSlice.kernel, ref, begin, end, strides, *masks)
    if target.shape != value.shape or target.dtype != value.dtype:
        emit.unsupported("the value does not fit the slice")
    emit.move.copy(value, target, "assign")
    return ref


@op("StridedSliceAssign", "ref: Ref(T), begin: Index, end: Index, strides: Index, value: T -> output_ref: Ref(T)", T=TYPE, Index=INDEX, **MASKS)
class StridedSliceAssign:
    """Replaces a slice of a variable."""

    ranks = {"begin": 1, "end": 1, "strides": 1}
    stateful = True
    updates = ("ref",)
    shape = like("ref")

    def kernel(ref, begin, end, strides, value, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
        _write(ref, begin, end, strides, value, (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask))
        return ref

    def native(emit, ref, begin, end, strides, value, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
        return _native(emit, ref, begin, end, strides, value, (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask))

    gradient = None


@op("ResourceStridedSliceAssign", "ref: resource, begin: Index, end: Index, strides: Index, value: T ->", T=TYPE, Index=INDEX, **MASKS)
class ResourceStridedSliceAssign:
    """Replaces a slice of a variable."""

    ranks = {"begin": 1, "end": 1, "strides": 1}
    stateful = True
    updates = ("ref",)

    def shape(ref, T):
        checked_shape(ref, T)
        return []

    def kernel(ref, begin, end, strides, value, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
        _write(ref, begin, end, strides, value, (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask))
        return ()

    def native(emit, ref, begin, end, strides, value, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
        _native(emit, ref, begin, end, strides, value, (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask))

    gradient = None
