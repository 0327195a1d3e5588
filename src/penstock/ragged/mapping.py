"""``tf.map_fn`` over the rows of ragged tensors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import nest
from penstock.graph.scopes import name_scope
from penstock.ops.array.sequences import range as sequence
from penstock.ops.flow.functional_loops import map_fn as dense_map_fn
from penstock.ragged.partition import row_count
from penstock.ragged.tensor import RaggedTensor, as_values, is_ragged


class RaggedTensorType:
    """What a function of ``tf.map_fn`` returns: ragged tensors of a type with so many ragged dimensions."""

    def __init__(self, dtype: Any, ragged_rank: int, row_splits_dtype: Any = dt.int64) -> None:
        self.dtype, self.ragged_rank, self.row_splits_dtype = dt.as_dtype(dtype), ragged_rank, dt.as_dtype(row_splits_dtype)


def map_fn(fn: Callable[[Any], Any], elems: Any, dtype: Any = None, parallel_iterations: int | None = None, back_prop: bool = True,
           swap_memory: bool = False, infer_shape: bool = True, name: str | None = None) -> Any:
    """``fn`` of each row; its results, which are tensors of one shape, stacked."""
    leaves = [as_values(leaf) if is_ragged(leaf) else leaf for leaf in nest.flatten(elems)]
    if any(isinstance(leaf, RaggedTensorType) for leaf in nest.flatten(dtype)):
        raise NotImplementedError("tf.map_fn: a function that returns ragged tensors is not supported; return a tensor, or use "
                                  "tf.ragged.map_flat_values")
    kind = dtype if dtype is not None else nest.map_structure(lambda leaf: leaf.dtype, nest.pack_sequence_as(elems, leaves))
    with name_scope(name, "RaggedMap"):
        first = next(leaf for leaf in leaves if isinstance(leaf, RaggedTensor))
        rows = sequence(row_count(first.row_splits, dt.int32) - 1)

        def of_row(index: Any) -> Any:
            return fn(nest.pack_sequence_as(elems, [leaf[index] for leaf in leaves]))

        return dense_map_fn(of_row, rows, kind, parallel_iterations, back_prop, swap_memory, infer_shape)
