"""Functions of values, applied to ragged tensors: their flat values, with operands of the same rows or broadcast to them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.flow.checks import assert_equal
from penstock.ops.flow.misc import with_dependencies
from penstock.ops.math.compare import not_equal
from penstock.ops.math.reduce import reduce_prod
from penstock.ragged.partition import positions
from penstock.ragged.tensor import RaggedTensor, as_values, is_ragged


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``tf.ragged.map_flat_values``: ``op`` of the flat values of all ragged arguments, which have the same rows, as a ragged tensor."""
    ragged = [as_values(leaf) for leaf in nest.flatten([args, kwargs]) if is_ragged(leaf)]
    if not ragged:
        return op(*args, **kwargs)
    with name_scope(None, "RaggedMapFlatValues"):
        splits = _same_rows([value.nested_row_splits for value in ragged])

        def flat(leaf: Any) -> Any:
            return as_values(leaf).flat_values if is_ragged(leaf) else leaf

        result = op(*nest.map_structure(flat, list(args)), **nest.map_structure(flat, kwargs))
        return RaggedTensor.from_nested_row_splits(result, splits, validate=False)


def _same_rows(nested: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """The row_splits of several ragged tensors, which have to be equal."""
    first = nested[0]
    if any(len(other) != len(first) for other in nested):
        counts = ", ".join(str(len(other)) for other in nested)
        raise ValueError(f"Inputs must have identical ragged splits: they have {counts} ragged dimensions")
    checks = [check for other in nested[1:] for mine, theirs in zip(first, other) for check in _check_equal(mine, theirs)]
    return tuple([with_dependencies(checks, splits) for splits in first]) if checks else first


def _check_equal(mine: Tensor, theirs: Tensor) -> list[Any]:
    if mine is theirs:
        return []
    known = constant_value(mine), constant_value(theirs)
    if known[0] is not None and known[1] is not None:
        if known[0].tolist() != known[1].tolist():
            raise ValueError(f"Inputs must have identical ragged splits: they have rows that end at {known[0].tolist()} and at {known[1].tolist()}")
        return []
    return [assert_equal(mine, cast(theirs, mine.dtype.base_dtype), message="Inputs must have identical ragged splits")]


def binary(op: Callable[..., Any], x: Any, y: Any, **kwargs: Any) -> Any:
    """``op`` of two operands, at least one of which is ragged; the other has its rows or is broadcast to them."""
    x, y = _operands(x, y)
    x, y = _broadcast_pair(x, y)
    return map_flat_values(op, x, y, **kwargs)


def _operands(x: Any, y: Any) -> tuple[Any, Any]:
    """Both as tensors; a plain value takes the type of the other."""
    if is_ragged(x):
        x = as_values(x)
        return x, as_values(y) if is_ragged(y) else to_tensor(y, None if isinstance(y, Tensor) or hasattr(y, "dtype") else x.dtype.base_dtype, "y")
    y = as_values(y)
    return to_tensor(x, None if isinstance(x, Tensor) or hasattr(x, "dtype") else y.dtype.base_dtype, "x"), y


def _broadcast_pair(x: Any, y: Any) -> tuple[Any, Any]:
    if isinstance(x, RaggedTensor) and isinstance(y, RaggedTensor):
        if x.ragged_rank == y.ragged_rank:
            return x, y
        return (x, broadcast_like(y, x)) if x.ragged_rank > y.ragged_rank else (broadcast_like(x, y), y)
    return (x, broadcast_like(y, x)) if isinstance(x, RaggedTensor) else (broadcast_like(x, y), y)


def broadcast_like(value: Any, target: Any) -> Any:
    """``value`` with the rows of ``target``; dimensions of one element are repeated. What is not ragged in the target is left to its operation."""
    if not isinstance(target, RaggedTensor) or (not isinstance(value, RaggedTensor) and value.shape.ndims == 0):
        return value
    if isinstance(value, RaggedTensor):
        checks = _check_equal(value.row_splits, target.row_splits)
        inner = broadcast_like(value.values, target.values)
        return target.with_values(with_dependencies(checks, inner) if checks and isinstance(inner, Tensor) else inner)
    have, want = value.shape.ndims, target.shape.ndims
    if have is None or want is None:
        raise ValueError("An operand is broadcast to a ragged tensor only if the ranks of both are known.")
    if have > want:
        raise ValueError(f"Unable to broadcast: a tensor of rank {have} does not fit into a ragged tensor of rank {want}.")
    if have <= want - target.ragged_rank - 1:  # only the uniform dimensions of the flat values
        return value
    missing = want - have
    whole = reshape(value, concat([[1] * missing, shape(value)], axis=0)) if missing else value
    flat = _rows_like(whole, target)
    return target.with_flat_values(flat)


def _rows_like(value: Tensor, target: RaggedTensor) -> Tensor:
    """The flat values of ``value``, of the rank of ``target``, with the target's rows."""
    dtype = target.row_splits.dtype.base_dtype
    extents = shape(value, out_type=dtype)
    rowids = target.value_rowids()
    places = positions(target.row_splits, rowids)
    repeated = cast(not_equal(extents[:2], 1), dtype)  # 0 where one element is repeated
    lengths = target.row_lengths()
    check = assert_equal(lengths * repeated[1], extents[1] * repeated[1] + lengths * 0, message="Unable to broadcast: dimension size mismatch")
    index = with_dependencies([check], rowids * repeated[0] * extents[1] + places * repeated[1])
    flat = gather(reshape(value, concat([reduce_prod(extents[:2], keepdims=True), extents[2:]], axis=0)), index)
    return _rows_like(flat, target.values) if isinstance(target.values, RaggedTensor) else flat
