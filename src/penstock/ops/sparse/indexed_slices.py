"""IndexedSlices as Tensors: wherever a dense tensor is needed, the slices are added up into one."""
from __future__ import annotations

import warnings
from typing import Any

from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import register_tensor_conversion_function
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.static import constant_value
from penstock.ops.math.segment import unsorted_segment_sum

LARGE = 100_000_000  # elements of a dense result from which on the conversion is worth a warning


def _to_dense(value: IndexedSlices, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {value.dtype.name}")
    if value.dense_shape is None:
        raise ValueError("Tensor conversion requested for IndexedSlices without dense_shape: "
                         f"{value} needs one to become a Tensor")
    _warn_if_large(value.dense_shape)
    return unsorted_segment_sum(value.values, value.indices, value.dense_shape[0], name=name)


def _warn_if_large(dense_shape: Any) -> None:
    known = constant_value(dense_shape)
    if known is None:
        warnings.warn("Converting sparse IndexedSlices to a dense Tensor of unknown shape. This may consume a large amount of memory.",
                      stacklevel=6)
        return
    elements = 1
    for extent in known:
        elements *= int(extent)
    if elements >= LARGE:
        warnings.warn(f"Converting sparse IndexedSlices to a dense Tensor with {elements} elements. This may consume a large "
                      "amount of memory.", stacklevel=6)


register_tensor_conversion_function(IndexedSlices, _to_dense)
