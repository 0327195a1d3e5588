"""``tensor[...]`` with Python's rules: ints, slices, Ellipsis, None, scalar tensors and masks."""
from __future__ import annotations

import sys
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import Dimension
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import boolean_mask
from penstock.ops.array.slicing import MASKS, StridedSlice
from penstock.ops.common import INDEX
from penstock.ops.constant import constant

newaxis = None
_WRONG_INDEX = ("Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are valid indices, "
                "got {!r}")


@dataclass
class SliceSpec:
    """What stands between the brackets, as the arguments of a StridedSlice. Also what sliced assignments to Variables are built from."""

    begin: list[Any] = field(default_factory=list)
    end: list[Any] = field(default_factory=list)
    strides: list[Any] = field(default_factory=list)
    masks: dict[str, int] = field(default_factory=lambda: dict(MASKS))

    def add(self, item: Any) -> None:
        """One more entry: an int, a slice, Ellipsis, None or a scalar tensor."""
        bit = 1 << len(self.begin)
        if isinstance(item, slice):
            self._add_range(item, bit)
        elif item is Ellipsis:
            self._append(0, 0, 1, "ellipsis_mask", bit)
        elif item is None:
            self._append(0, 0, 1, "new_axis_mask", bit)
        else:
            item = _as_index(item)
            self._append(item, item + 1, 1, "shrink_axis_mask", bit)

    def _append(self, begin: Any, end: Any, stride: Any, mask: str | None = None, bit: int = 0) -> None:
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)
        if mask is not None:
            self.masks[mask] |= bit

    def _add_range(self, item: slice, bit: int) -> None:
        start, stop, step = (None if bound is None else _as_index(bound) for bound in (item.start, item.stop, item.step))
        if start is None:
            self.masks["begin_mask"] |= bit
        if stop is None or (isinstance(stop, int) and stop == sys.maxsize):
            self.masks["end_mask"] |= bit
            stop = 0
        self._append(0 if start is None else start, stop, 1 if step is None else step)

    def tensors(self) -> list[Tensor]:
        """begin, end and strides as vectors of one integer type."""
        if not self.begin:
            return [constant(np.array([], np.int32))] * 3
        vectors = [to_tensor([_as_element(value) for value in values], None, name) for values, name in
                   ((self.begin, "stack"), (self.end, "stack_1"), (self.strides, "stack_2"))]
        if any(vector.dtype == dt.int64 for vector in vectors):
            vectors = [cast(vector, dt.int64) for vector in vectors]
        return vectors


def _as_element(index: Any) -> Any:
    """An index that a list of indices can hold. What users have registered a conversion for becomes a tensor first."""
    return index if isinstance(index, (int, Tensor)) or hasattr(index, "initialized_value") else to_tensor(index)


def _as_index(item: Any) -> Any:
    """An int or a scalar integer tensor; TypeError for what cannot stand between brackets."""
    if isinstance(item, (Integral, Dimension)):
        return int(item)
    if isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype.kind in "iu":
        return int(item)
    dtype = getattr(item, "dtype", None)  # of a Tensor or a Variable
    if not isinstance(dtype, dt.DType) or dtype.base_dtype not in INDEX or item.shape.ndims:
        raise TypeError(_WRONG_INDEX.format(item))
    return item


def slice_helper(tensor: Any, slice_spec: Any, var: Any = None) -> Tensor:
    """``tensor[slice_spec]``, for Tensors and Variables."""
    if _is_mask(slice_spec):
        return boolean_mask(tensor, slice_spec)
    spec = SliceSpec()
    for item in slice_spec if isinstance(slice_spec, (list, tuple)) else (slice_spec,):
        spec.add(item)
    with name_scope(None, "strided_slice", [tensor, spec.begin, spec.end, spec.strides]) as scope:
        return StridedSlice(tensor, *spec.tensors(), name=scope, **spec.masks)


def _is_mask(slice_spec: Any) -> bool:
    return isinstance(slice_spec, (bool, np.bool_)) or (isinstance(slice_spec, Tensor) and slice_spec.dtype.base_dtype is dt.bool_) or (
        isinstance(slice_spec, np.ndarray) and slice_spec.dtype == bool)


Tensor.__getitem__ = slice_helper  # type: ignore[attr-defined]
