"""``tf.ragged.range``: a row of numbers for each start, limit and step."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.permute import broadcast_to
from penstock.ops.array.shape_ops import reshape, size
from penstock.ops.math.elementwise import maximum
from penstock.ops.math.rounding import ceil
from penstock.ragged.partition import ranges
from penstock.ragged.tensor import RaggedTensor

_WIDTH = [dt.int32, dt.int64, dt.float32, dt.float64]


def ragged_range(starts: Any, limits: Any = None, deltas: Any = 1, dtype: Any = None, name: str | None = None,
                 row_splits_dtype: Any = dt.int64) -> RaggedTensor:
    """Row i is ``range(starts[i], limits[i], deltas[i])``; scalars go with all rows, and one argument alone is the limits."""
    if limits is None:
        starts, limits = 0, starts
    with name_scope(name, "RaggedRange", [starts, limits, deltas]):
        kind = None if dtype is None else dt.as_dtype(dtype)
        given = [to_tensor(value, kind, what) for value, what in ((starts, "starts"), (limits, "limits"), (deltas, "deltas"))]
        widest = max((value.dtype.base_dtype for value in given), key=_WIDTH.index)
        first, last, step = (_vector(cast(value, widest)) for value in given)
        count = maximum(maximum(size(first), size(last)), size(step))
        first, last, step = (broadcast_to(value, reshape(count, [1])) for value in (first, last, step))
        lengths = (last - first + (step - 1)) // step if widest.is_integer and _known_positive(deltas) else ceil(cast(last - first, dt.float64)
                                                                                                                  / cast(step, dt.float64))
        lengths = maximum(cast(lengths, row_splits_dtype), to_tensor(0, dt.as_dtype(row_splits_dtype)))
        values, splits = ranges(first, lengths, step)
        return RaggedTensor(values, splits, internal=True)


def _vector(value: Tensor) -> Tensor:
    return reshape(value, [1]) if value.shape.ndims == 0 else value


def _known_positive(deltas: Any) -> bool:
    return isinstance(deltas, int) and deltas > 0
