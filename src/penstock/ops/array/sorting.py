"""Order: the largest elements, sorting, searching in sorted rows."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph import raw_ops
from penstock.graph.attrs import TYPE, Attr
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import stack
from penstock.ops.array.permute import transpose
from penstock.ops.array.scatter_nd import ScatterNd
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import INDEX_32, as_array, expand_dims, known_elements, reshape, shape, size
from penstock.ops.common import REAL, shape_text

# --- the largest -----------------------------------------------------------------------------------------------------

def _top_shapes(input: Tensor, k: int | None) -> list[Any]:
    if input.shape.extents is None:
        return [None, None]
    input.shape.with_rank_at_least(1)
    extents = input.shape.as_list()
    if k is not None and extents[-1] is not None and extents[-1] < k:
        raise ValueError(f"input must have last dimension >= k = {k} but is {extents[-1]}")
    return [[*extents[:-1], k]] * 2


def _top(input: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest of each row, largest first; of equal ones the earlier comes first."""
    input = as_array(input)
    if k < 0:
        raise invalid_argument(f"Need k >= 0, got {k}")
    if input.ndim < 1:
        raise invalid_argument(f"input must be >= 1-D, got shape {shape_text(input)}")
    length = input.shape[-1]
    if length < k:
        raise invalid_argument(f"input must have at least k columns. Had {length}, needed {k}")
    keys = input.astype(np.float32) if input.dtype == dt.bfloat16.np else input
    if k == 1:
        indices = keys.argmax(-1)[..., None]
    elif 0 < 8 * k < length and not (keys.dtype.kind == "f" and np.isnan(keys).any()):
        candidates = _largest_unordered(keys, k)
        indices = np.take_along_axis(candidates, _descending(np.take_along_axis(keys, candidates, -1)), -1)
    else:
        indices = _descending(keys)[..., :k]
    return np.take_along_axis(input, indices, -1), indices.astype(np.int32)


def _descending(keys: np.ndarray) -> np.ndarray:
    """The indices that sort rows in descending order: a stable sort of the reversed row, read backwards, leaves equal elements in their order."""
    return (keys.shape[-1] - 1 - np.argsort(keys[..., ::-1], -1, kind="stable"))[..., ::-1]


def _largest_unordered(keys: np.ndarray, k: int) -> np.ndarray:
    """The indices of the k largest elements of each row, in the order of the row: all above the k-th, and the first that are equal to it."""
    limit = np.partition(keys, -k, -1)[..., -k, None]
    above, equal = keys > limit, keys == limit
    chosen = above | (equal & (equal.cumsum(-1) <= k - above.sum(-1, keepdims=True)))
    return np.nonzero(chosen)[-1].reshape(*keys.shape[:-1], k)


def _top_gradient(input: Tensor, indices: Tensor, dy: Tensor) -> Tensor:
    """The gradients of the k values, put where they came from; positions are counted through all rows."""
    length = shape(input)[-1]
    rows = reshape(indices, stack([-1, shape(indices)[-1]]))
    offsets = expand_dims(range_(0, shape(rows)[0] * length, length), -1)
    places = reshape(rows + offsets, [-1, 1])
    return reshape(ScatterNd(places, reshape(dy, [-1]), reshape(size(input), [1])), shape(input))


@op("TopKV2", "input: T, k: int32 -> values: T, indices: int32", sorted=True, T=REAL)
class TopKV2:
    """The k largest elements of each row, and where they stand."""

    rank_words = {"k": (0, "k must be scalar, got shape {shape}")}
    gradient_nodes = 43
    gradient_reads = lambda op: [Extents(op.inputs[0]), op.outputs[1], Extents(op.outputs[1])]
    def shape(input, k):
        if k.shape.ndims not in (None, 0):
            raise ValueError(f"Shape must be rank 0 but is rank {k.shape.ndims}")
        elements = known_elements(k)
        if elements and elements[0] is not None and elements[0] < 0:
            raise ValueError(f"Need k >= 0, got {elements[0]}")
        return _top_shapes(input, elements[0] if elements else None)

    def kernel(input, k):
        return _top(input, int(k))

    def native(emit, input, k):
        return emit.order.top_k(input, int(emit.known(k)))

    def gradient(op, dy, _):
        return [_top_gradient(op.inputs[0], op.outputs[1], dy), None]


@op("TopK", "input: T -> values: T, indices: int32", k=Attr("int", minimum=0), sorted=True, T=REAL)
class TopK:
    """The k largest elements of each row; the form of old graphs, with k as an attribute."""

    def shape(input, k):
        return _top_shapes(input, k)

    def kernel(input, k):
        return _top(input, k)

    def native(emit, input, k):
        return emit.order.top_k(input, k)

    def gradient(op, dy, _):
        return _top_gradient(op.inputs[0], op.outputs[1], dy)


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> Any:
    """``tf.nn.top_k``: (values, indices) of the ``k`` largest elements along the last axis."""
    return TopKV2(input, k, sorted=sorted, name=name)


@op("NthElement", "input: T, n: int32 -> values: T", reverse=False, T=REAL)
class NthElement:
    """The n-th smallest (or largest) element of each row."""

    ranks = {"n": 0}

    def shape(input, n, reverse):
        input.shape.with_rank_at_least(1)
        return None if input.shape.extents is None else input.shape.as_list()[:-1]

    def kernel(input, n, reverse):
        if not 0 <= n < input.shape[-1]:
            raise invalid_argument(f"Input must have last dimension > n = {n}")
        return np.sort(input, -1)[..., -1 - n if reverse else n]

    def native(emit, input, n, reverse):
        return emit.order.nth(input, int(emit.known(n)), reverse)

    def gradient(op, dy):
        """Shared among the elements that are equal to the n-th one."""
        chosen = cast(raw_ops.Equal(expand_dims(op.outputs[0], -1), op.inputs[0]), dy.dtype)
        return [raw_ops.Mul(raw_ops.RealDiv(chosen, expand_dims(raw_ops.Sum(chosen, -1), -1)), expand_dims(dy, -1)), None]


def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Tensor:
    """``tf.contrib.nn.nth_element``: the n-th smallest (or largest) element of each row."""
    return NthElement(input, n, reverse=reverse, name=name)


# --- sorting ---------------------------------------------------------------------------------------------------------

def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """``tf.sort``: the elements along an axis in order."""
    with name_scope(name, "sort", [values]):
        return _sort_along(values, axis, direction, 0)


def argsort(values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None) -> Tensor:
    """``tf.argsort``: the indices that put the elements along an axis in order; equal elements keep their order."""
    with name_scope(name, "argsort", [values]):
        return _sort_along(values, axis, direction, 1)


def _sort_along(values: Any, axis: Any, direction: str, output: int) -> Tensor:
    """Sorting by TopKV2 of all elements: of the negatives for the ascending order."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Unknown direction {direction}: it must be one of ASCENDING and DESCENDING")
    where = constant_value(to_tensor(axis, None, "axis"))
    if where is None or where.shape:
        raise ValueError("axis must be a constant scalar")
    values = to_tensor(values, None, "values")
    ascending = direction == "ASCENDING"
    rows, back = _to_last_axis(_in_opposite_order(values) if ascending else values, int(where))
    result = top_k(rows, shape(rows)[-1])[output]
    if back is None:
        default_graph().imply(1)  # TensorFlow asks for the rank of the values
    result = result if back is None else transpose(result, back)
    return _in_opposite_order(result) if ascending and not output else result


def _in_opposite_order(values: Tensor) -> Tensor:
    """The values in the opposite order: negated; unsigned ones, which have no negatives, subtracted from their maximum."""
    if values.dtype.is_unsigned:
        return to_tensor(values.dtype.max, values.dtype.base_dtype) - values
    if values.dtype.is_integer:
        return -1 - values  # unlike the negation, this cannot overflow
    return raw_ops.Neg(values)


def _to_last_axis(values: Tensor, axis: int) -> tuple[Tensor, list[int] | None]:
    """The values with ``axis`` swapped to the end, and the permutation that undoes it."""
    rank = values.shape.ndims
    if axis == -1 or (rank is not None and axis + 1 == rank):
        return values, None
    if rank is None:
        raise ValueError("sorting along an axis other than the last needs a known rank")
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return transpose(values, order), order


# --- searching -------------------------------------------------------------------------------------------------------

def _bound_shape(sorted_inputs: Tensor, values: Tensor) -> Any:
    sorted_inputs.shape.with_rank(2)
    return values.shape.with_rank(2)


def _bounds(sorted_inputs: np.ndarray, values: np.ndarray, side: str, out_type: dt.DType) -> np.ndarray:
    if len(sorted_inputs) != len(values):
        raise invalid_argument(f"Leading dim_size of both tensors must match: {len(sorted_inputs)} vs. {len(values)}")
    result = np.empty(values.shape, out_type.np)
    for row, (haystack, needles) in enumerate(zip(sorted_inputs, values)):
        result[row] = np.searchsorted(haystack, needles, side)
    return result


@op("LowerBound", "sorted_inputs: T, values: T -> output: out_type", T=TYPE, out_type=INDEX_32)
class LowerBound:
    """Per row and value, the first place where the value could be inserted in order."""

    def shape(sorted_inputs, values):
        return _bound_shape(sorted_inputs, values)

    def kernel(sorted_inputs, values, out_type):
        return _bounds(sorted_inputs, values, "left", out_type)

    def native(emit, sorted_inputs, values, out_type):
        return emit.order.search(sorted_inputs, values, False, out_type.np)

    gradient = None


@op("UpperBound", "sorted_inputs: T, values: T -> output: out_type", T=TYPE, out_type=INDEX_32)
class UpperBound:
    """Per row and value, the last place where the value could be inserted in order."""

    def shape(sorted_inputs, values):
        return _bound_shape(sorted_inputs, values)

    def kernel(sorted_inputs, values, out_type):
        return _bounds(sorted_inputs, values, "right", out_type)

    def native(emit, sorted_inputs, values, out_type):
        return emit.order.search(sorted_inputs, values, True, out_type.np)

    gradient = None


def searchsorted(sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = dt.int32, name: str | None = None) -> Tensor:
    """``tf.searchsorted``: where each value would be inserted into its sorted row (the last axis of both)."""
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    sequence, values = to_tensor(sorted_sequence), to_tensor(values)
    rows = reshape(sequence, stack([-1, shape(sequence)[-1]]))
    wanted = reshape(values, stack([-1, shape(values)[-1]]))
    places = (LowerBound if side == "left" else UpperBound)(rows, wanted, out_type=out_type, name=name)
    return reshape(places, shape(values))
