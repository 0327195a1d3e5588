"""``tf.ragged.constant`` and its kin: ragged tensors of nested Python lists, and places for them to be fed."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.scopes import name_scope
from penstock.ops.constant import constant as dense_constant
from penstock.ops.constant import placeholder as dense_placeholder
from penstock.ragged.tensor import RaggedTensor, as_values
from penstock.ragged.value import RaggedTensorValue


def constant(pylist: Any, dtype: Any = None, ragged_rank: int | None = None, inner_shape: Any = None, name: str | None = None,
             row_splits_dtype: Any = dt.int64) -> Any:
    """``tf.ragged.constant``: a RaggedTensor (a Tensor, if nothing is ragged) for nested lists."""
    with name_scope(name, "RaggedConstant"):
        splits_type = dt.as_dtype(row_splits_dtype)
        result = _build(pylist, dtype, ragged_rank, inner_shape,
                        lambda values, splits: RaggedTensor.from_row_splits(values, dense_constant(splits, splits_type), validate=False),
                        lambda items, kind, shape: dense_constant(items, dtype=kind, shape=shape))
        return as_values(result)


def constant_value(pylist: Any, dtype: Any = None, ragged_rank: int | None = None, inner_shape: Any = None, row_splits_dtype: Any = "int64") -> Any:
    """``tf.ragged.constant_value``: a RaggedTensorValue (an array, if nothing is ragged) for nested lists."""
    splits_type = np.dtype(row_splits_dtype.as_numpy_dtype if isinstance(row_splits_dtype, dt.DType) else row_splits_dtype)
    kind = dt.as_dtype(dtype).as_numpy_dtype if dtype is not None else None

    def inner(items: list[Any], _: Any, shape: tuple[int, ...]) -> np.ndarray:
        return np.reshape(np.array(items, dtype=object if kind is None and _has_text(items) else kind), shape)

    return _build(pylist, dtype, ragged_rank, inner_shape, lambda values, splits: RaggedTensorValue(values, np.array(splits, splits_type)), inner)


def placeholder(dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None) -> Any:
    """``tf.ragged.placeholder``: a RaggedTensor for which values are fed."""
    if ragged_rank == 0:
        return dense_placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder"):
        extents = None if value_shape is None else [None, *value_shape]
        result: Any = dense_placeholder(dtype, extents, "flat_values")
        for level in reversed(range(ragged_rank)):
            splits = dense_placeholder(dt.int64, [None], f"row_splits_{level}")
            result = RaggedTensor.from_row_splits(result, splits, validate=False)
        return result


def _build(pylist: Any, dtype: Any, ragged_rank: int | None, inner_shape: Any, ragged: Callable[..., Any], inner: Callable[..., Any]) -> Any:
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank: {ragged_rank}: it is at least 0.")
    pylist = pylist.tolist() if isinstance(pylist, np.ndarray) else pylist
    scalar_depth, depth = _depths(pylist)
    if scalar_depth is not None and depth > scalar_depth:
        raise ValueError("Invalid pylist: empty list nesting is greater than scalar value nesting; pylist must have a uniform nesting depth.")
    if inner_shape is not None:
        inner_shape = tuple(np.atleast_1d(np.array(inner_shape, int)).tolist()) if inner_shape != () else ()
    if ragged_rank is None:
        ragged_rank = max(0, depth - 1 - len(inner_shape or ())) if scalar_depth is None or inner_shape is not None else max(0, scalar_depth - 1)
    if ragged_rank >= max(depth, 1):
        raise ValueError(f"Invalid pylist={pylist}: its depth {depth} does not have room for ragged_rank {ragged_rank}.")
    if inner_shape is not None and scalar_depth is not None and scalar_depth != ragged_rank + 1 + len(inner_shape):
        raise ValueError(f"Invalid pylist={pylist}: inner_shape={inner_shape} and ragged_rank={ragged_rank} want depth "
                         f"{ragged_rank + 1 + len(inner_shape)}, not {scalar_depth}.")
    if scalar_depth == 0:
        return inner(pylist, dtype, ())
    nested_splits, items = [], pylist
    for _ in range(ragged_rank):
        splits = [0]
        for row in items:
            splits.append(splits[-1] + len(row))
        nested_splits.append(splits)
        items = [item for row in items for item in row]
    shape = (len(items), *(inner_shape if inner_shape is not None else _inner_shape(items)))
    result = inner(items, dtype, shape)
    for splits in reversed(nested_splits):
        result = ragged(result, splits)
    return result


def _depths(item: Any) -> tuple[int | None, int]:
    """(the depth of its scalars, or None without any; the greatest depth of lists). ValueError if scalars have different depths."""
    if not isinstance(item, (list, tuple)) and np.ndim(item) == 0:
        return 0, 0
    parts = [_depths(part) for part in item]
    scalars = {depth + 1 for depth, _ in parts if depth is not None}
    if len(scalars) > 1:
        raise ValueError(f"all scalar values must have the same nesting depth: {item!r}")
    return (scalars.pop() if scalars else None), 1 + max((deep for _, deep in parts), default=0)


def _inner_shape(items: Any) -> tuple[int, ...]:
    """The shape that all of ``items`` have."""
    shapes = {np.shape(item) if not isinstance(item, (list, tuple)) else (len(item), *_inner_shape(item)) for item in items}
    if len(shapes) > 1:
        raise ValueError("inner values have inconsistent shape")
    return shapes.pop() if shapes else ()


def _has_text(items: Any) -> bool:
    return any(_has_text(item) if isinstance(item, (list, tuple)) else isinstance(item, (str, bytes)) for item in items)
