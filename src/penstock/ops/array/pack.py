"""Joining and splitting: concat, stack, unstack, split; and lists that hold tensors as values."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph import raw_ops
from penstock.graph.attrs import SHAPE, TYPE, Attr, count
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import register_tensor_conversion_function, to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import INDEX_32, INDEX_64, as_array, expand_dims, known_elements, shape, squeeze
from penstock.ops.array.slicing import Slice
from penstock.ops.common import at_least, canonical_axis, merge, shape_text
from penstock.ops.constant import identity
from penstock.platform.deprecation import renamed_args, warn_of_order

AT_LEAST_1 = Attr("int", minimum=1)


def runtime_axis(axis: Any, rank: int, what: str) -> int:
    """A non-negative axis for a kernel; raises if it is out of range."""
    axis = int(np.ravel(axis)[0])
    if not -rank <= axis < rank:
        raise invalid_argument(f"{what} : Expected axis in the range [{-rank}, {rank}), but got {axis}")
    return axis + rank if axis < 0 else axis


# --- concat ----------------------------------------------------------------------------------------------------------

def _concat_shape(values: list[Tensor], axis: Tensor) -> Any:
    ranks = {tensor.shape.ndims for tensor in values} - {None}
    if len(ranks) > 1:
        raise ValueError(f"Ranks of all input tensors should match: found ranks {sorted(ranks)}")
    if not ranks:
        return unknown_shape()
    rank = ranks.pop()
    if rank == 0:
        raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    axes = known_elements(axis)
    if axes is None or axes[0] is None:
        return unknown_shape(rank)
    where = canonical_axis(axes[0], rank, "concat axis")
    total, others = [], TensorShape([None] * (rank - 1))
    for tensor in values:
        extents = tensor.shape.with_rank(rank).as_list()
        total.append(extents.pop(where))
        others = merge(others, TensorShape(extents))
    result = others.as_list()
    result.insert(where, None if None in total else sum(total))
    return result


def _concat_kernel(values: list[Any], axis: Any) -> np.ndarray:
    arrays = [as_array(value) for value in values]
    rank = arrays[0].ndim
    where = runtime_axis(axis, rank, "ConcatOp")
    for index, array in enumerate(arrays):
        same = array.ndim == rank and array.shape[:where] + array.shape[where + 1:] == arrays[0].shape[:where] + arrays[0].shape[where + 1:]
        if not same:
            raise invalid_argument(f"ConcatOp : Dimensions of inputs should match: shape[0] = {shape_text(arrays[0])} vs. "
                                   f"shape[{index}] = {shape_text(array)}")
    return np.concatenate(arrays, where)


def _concat_gradient(values: list[Tensor], axis: Tensor, dy: Any) -> list[Any]:
    """The gradients of the values of a concat: slices of the whole gradient, one after the other."""
    if isinstance(dy, IndexedSlices):
        return _sparse_concat_gradient(values, axis, dy)
    where = constant_value(axis)
    rank = dy.shape.ndims if dy.shape.ndims is not None else next((v.shape.ndims for v in values if v.shape.ndims is not None), None)
    if where is None or rank is None:
        return _dynamic_concat_gradient(values, axis, dy)
    position = int(where) % rank
    lengths = [tensor.shape.extents[position] if tensor.shape.ndims is not None else None for tensor in values]
    if None not in lengths and len(values) <= 16:
        starts = np.cumsum([0, *lengths])
        return [_slice_axis(dy, position, rank, int(start), length) for start, length in zip(starts, lengths)]
    if None not in lengths:
        return list(SplitV(dy, np.array(lengths, np.int64), position, num_split=len(values)))
    sizes = stack([shape(tensor)[position] for tensor in values])
    return list(SplitV(dy, sizes, position, num_split=len(values)))


def _slice_axis(tensor: Tensor, axis: int, rank: int, start: int, length: int) -> Tensor:
    begin, size = [0] * rank, [-1] * rank
    begin[axis], size[axis] = start, length
    return Slice(tensor, begin, size)


def _dynamic_concat_gradient(values: list[Tensor], axis: Tensor, dy: Tensor) -> list[Tensor]:
    """Nothing is known but what runs: offsets of all values are computed from their shapes."""
    shapes = [shape(tensor) for tensor in values]
    return [Slice(dy, begin, size) for begin, size in zip(ConcatOffset(cast(axis, dt.int32), shapes), shapes)]


def _sparse_concat_gradient(values: list[Tensor], axis: Tensor, dy: IndexedSlices) -> list[Any]:
    """The gradients of a concat of which rows were gathered: they stay sparse. A row of zeros in front of an embedding is such a concat."""
    where, rank = constant_value(axis), next((tensor.shape.ndims for tensor in values if tensor.shape.ndims is not None), None)
    if where is None or (where < 0 and rank is None):
        return _concat_gradient(values, axis, to_tensor(dy))
    if where % (rank or where + 1) == 0:
        return _rows_by_value(values, dy)
    parts = _concat_gradient(values, axis, dy.values)
    return [IndexedSlices(rows, dy.indices, shape(tensor)) for rows, tensor in zip(parts, values)]


def _rows_by_value(values: list[Tensor], dy: IndexedSlices) -> list[IndexedSlices]:
    """The rows of a gradient, sorted out by the value, of those joined along the first axis, that they belong to."""
    start: Any = 0
    result = []
    for tensor in values:
        stop = start + shape(tensor, out_type=dy.indices.dtype.base_dtype)[0]
        here = raw_ops.LogicalAnd(raw_ops.GreaterEqual(dy.indices, start), raw_ops.Less(dy.indices, stop))
        places = squeeze(raw_ops.Where(here), axis=[1])
        result.append(IndexedSlices(raw_ops.GatherV2(dy.values, places, 0), raw_ops.GatherV2(dy.indices, places, 0) - start, shape(tensor)))
        start = stop
    return result


@op("Concat", "concat_dim: int32, values: N * T -> output: T", N=count(2), T=TYPE)
class Concat:
    """Tensors joined along an axis; the form of old graphs, with the axis first."""

    ranks = {"concat_dim": 0}
    rearranges = True
    joins = "values"

    def shape(concat_dim, values):
        return _concat_shape(values, concat_dim)

    def kernel(concat_dim, values):
        return _concat_kernel(values, concat_dim)

    def native(emit, concat_dim, values, into):
        return emit.move.concat(values, int(emit.known(concat_dim)), into)

    def gradient(op, dy):
        return [None, *_concat_gradient(list(op.inputs[1:]), op.inputs[0], dy)]


def _concat_nodes(op) -> int | None:
    """How many nodes TensorFlow's gradient has: up to 16 values it asks for their shapes one by one, until one is not known."""
    values = op.inputs[:-1]
    known = next((index for index, value in enumerate(values) if not value.shape.is_fully_defined()), None)
    return None if len(values) > 16 else 3 + len(values) + (len(values) if known is None else known + 2)


def _concat_reads(op) -> list:
    """The axis, and the values whose shapes are asked for together."""
    values = op.inputs[:-1]
    return [op.inputs[-1], *([] if all(value.shape.is_fully_defined() for value in values) else values)]


@op("ConcatV2", "values: N * T, axis: Tidx -> output: T", N=count(2), T=TYPE, Tidx=INDEX_32)
class ConcatV2:
    """Tensors joined along an axis."""

    gradient_nodes = _concat_nodes
    gradient_reads = _concat_reads
    axes = "axis"
    ranks = {"axis": 0}
    rank_words = {"axis": (0, "axis tensor should be a scalar integer, but got shape {shape}")}
    rearranges = True
    joins = "values"

    def shape(values, axis):
        return _concat_shape(values, axis)

    def kernel(values, axis):
        return _concat_kernel(values, axis)

    def native(emit, values, axis, into):
        return emit.move.concat(values, int(emit.known(axis)), into)

    def gradient(op, dy):
        return [*_concat_gradient(list(op.inputs[:-1]), op.inputs[-1], dy), None]


@op("ConcatOffset", "concat_dim: int32, shape: N * int32 -> offset: N * int32", N=count(2))
class ConcatOffset:
    """Where each value of a concat begins in the result."""

    ranks = {"concat_dim": 0}

    def shape(shape):
        return [tensor.shape for tensor in shape]

    def kernel(concat_dim, shape):
        for number, extents in enumerate(shape, 1):
            if extents.ndim != 1:
                raise invalid_argument(f"input {number} should be a vector, but got shape {shape_text(extents)}")
        rank, axis = len(shape[0]), int(concat_dim)
        if not -rank <= axis < rank:
            raise invalid_argument(f"Concat dim is out of range: {axis} vs. {rank}")
        where = axis % rank
        offsets, total = [], 0
        for extents in shape:
            offset = np.zeros_like(extents)
            offset[where] = total
            total += extents[where]
            offsets.append(offset)
        return tuple(offsets)

    gradient = None


@renamed_args(concat_dim="axis")
def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """``tf.concat``: tensors joined along an axis. ``tf.concat(axis, values)``, the order of before TensorFlow 1.0, works with a warning.

    >>> concat([[[1, 2]], [[3, 4], [5, 6]]], 0).shape.as_list()
    [3, 2]
    """
    if isinstance(axis, (list, tuple)) and not isinstance(values, (list, tuple)):
        warn_of_order("tf.concat", "tf.concat(values, axis)")
        values, axis = axis, values
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name):
            to_tensor(axis, dt.int32, "concat_dim").shape.assert_has_rank(0)
            return identity(values[0], name=name)
    return ConcatV2(list(values), axis, name=name)


# --- stack -----------------------------------------------------------------------------------------------------------

@op("Pack", "values: N * T -> output: T", N=count(1), T=TYPE, axis=0)
class Pack:
    """Tensors of one shape, joined along a new axis."""

    rearranges = True
    joins = alike = "values"

    def shape(values, axis):
        merged = unknown_shape()
        for index, tensor in enumerate(values):
            try:
                merged = merged.merge_with(tensor.shape)
            except ValueError:
                raise ValueError(f"Shapes must be equal rank and extents to be stacked, but are {merged} and {tensor.shape} "
                                 f"(value {index})") from None
        if merged.extents is None:
            return merged
        extents = merged.as_list()
        extents.insert(canonical_axis(axis, len(extents) + 1, "stack axis"), len(values))
        return extents

    def kernel(values, axis):
        arrays = [as_array(value) for value in values]
        for index, array in enumerate(arrays):
            if array.shape != arrays[0].shape:
                raise invalid_argument(f"Shapes of all inputs must match: values[0].shape = {shape_text(arrays[0])} != "
                                       f"values[{index}].shape = {shape_text(array)}")
        return np.stack(arrays, axis)

    def native(emit, values, axis, into):
        return emit.move.pack(values, axis, into)

    def batched(op, inputs, stacked):
        axis = op.attrs["axis"]
        return [Pack(inputs, axis=axis + 1 if axis >= 0 else axis)] if len(stacked) == len(inputs) else None

    def gradient(op, dy):
        return unstack(dy, num=op.attrs["N"], axis=op.attrs["axis"])


@op("Unpack", "value: T -> output: num * T", num=Attr("int", minimum=0), T=TYPE, axis=0)
class Unpack:
    """The parts of a tensor along an axis, without that axis."""

    aliases = True

    def shape(value, num, axis):
        if value.shape.extents is None:
            return [None] * num
        extents = value.shape.as_list()
        parts = extents.pop(canonical_axis(axis, len(extents), "unstack axis"))
        if parts not in (None, num):
            raise ValueError(f"Dimension must be {num} but is {parts}")
        return [extents] * num

    def kernel(value, num, axis):
        value = as_array(value)
        axis = runtime_axis(axis, value.ndim, "Unpack")
        if value.shape[axis] != num:
            raise invalid_argument(f"Input shape axis {axis} must equal {num}, got shape {shape_text(value)}")
        front = np.moveaxis(value, axis, 0)
        return tuple(front[index, ...] for index in range(num))

    def native(emit, value, num, axis):
        return emit.move.view(Unpack.kernel, value, num, axis)

    def gradient(op, *dys):
        return stack(list(dys), axis=op.attrs["axis"])


@op("ParallelConcat", "values: N * T -> output: T", N=count(1), T=TYPE, shape=SHAPE)
class ParallelConcat:
    """Tensors of extent 1, joined along their first axis."""

    def shape(values, shape):
        if not shape.is_fully_defined() or shape.ndims == 0 or shape.extents[0] != len(values):
            raise ValueError(f"shape must be fully defined and begin with the number of values, {len(values)}, but is {shape}")
        for value in values:
            value.shape.assert_is_compatible_with([1, *shape.extents[1:]])
        return shape

    def kernel(values):
        return _concat_kernel(values, 0)

    def native(emit, values):
        return emit.move.concat(values, 0)

    gradient = None


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """``tf.stack``: tensors of one shape joined along a new axis; a constant if all are plain values."""
    if axis == 0:
        try:
            return to_tensor(values, None, name)
        except (TypeError, ValueError):  # mixed types: Pack says so
            values = list(values)
    values = list(values)
    if values and not isinstance(values[0], Tensor):
        to_tensor(values[0], None, name)  # TensorFlow looks at its shape, and leaves a constant of that name behind
    rank = next((len(item.shape) for item in values if isinstance(item, Tensor) and item.shape.ndims is not None), None)
    if rank is not None and not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis = {axis} not in [{-rank - 1}, {rank + 1})")
    return Pack(values, axis=axis, name=name)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """``tf.parallel_stack``: ``stack`` along the first axis for values of known shape."""
    with name_scope(name):
        first = to_tensor(values[0])
        rows = [expand_dims(value, 0) for value in values]
        return ParallelConcat(rows, shape=TensorShape([len(values)]).concatenate(first.shape))


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """``tf.unstack``: the parts of a tensor along an axis, without that axis; their number must be known."""
    if num is None:
        value = to_tensor(value)
        if value.shape.ndims is not None:
            if not -value.shape.ndims <= axis < value.shape.ndims:
                raise ValueError(f"axis = {axis} not in [{-value.shape.ndims}, {value.shape.ndims})")
            num = value.shape.extents[axis]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {value.shape}")
    return Unpack(value, num=num, axis=axis, name=name)


# --- split -----------------------------------------------------------------------------------------------------------

@op("Split", "split_dim: int32, value: T -> output: num_split * T", num_split=AT_LEAST_1, T=TYPE)
class Split:
    """Equal parts of a tensor along an axis."""

    ranks = {"split_dim": 0}
    aliases = False  # it is the second input that the outputs share

    def shape(split_dim, value, num_split):
        extents, axes = value.shape.extents, known_elements(split_dim)
        if extents is None:
            return [None] * num_split
        if axes is None or axes[0] is None:
            return [[None] * len(extents)] * num_split
        axis, result = canonical_axis(axes[0], len(extents), "split axis"), list(extents)
        if result[axis] is not None:
            if result[axis] % num_split:
                raise ValueError(f"Dimension size must be evenly divisible by {num_split} but is {result[axis]}: "
                                 "Number of ways to split should evenly divide the split dimension")
            result[axis] //= num_split
        return [result] * num_split

    def kernel(split_dim, value, num_split):
        value = as_array(value)
        axis = runtime_axis(split_dim, value.ndim, "SplitOp")
        if value.shape[axis] % num_split:
            raise invalid_argument(f"Number of ways to split should evenly divide the split dimension, but got split_dim {axis} "
                                   f"(size = {value.shape[axis]}) and num_split {num_split}")
        return tuple(part.copy() for part in np.split(value, num_split, axis))

    def native(emit, split_dim, value, num_split):
        return emit.move.view(lambda whole, axis: np.split(whole, num_split, int(axis)), value, split_dim)

    def gradient(op, *dys):
        return [None, concat(list(dys), op.inputs[0])]


@op("SplitV", "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split * T", num_split=AT_LEAST_1, T=TYPE, Tlen=INDEX_64)
class SplitV:
    """Parts of given extents of a tensor along an axis; one extent may be -1."""

    ranks = {"split_dim": 0, "value": at_least(1)}
    aliases = True

    def shape(value, size_splits, split_dim, num_split):
        extents, axes = value.shape.extents, known_elements(split_dim)
        if extents is None:
            return [None] * num_split
        if axes is None or axes[0] is None:
            return [[None] * len(extents)] * num_split
        axis = canonical_axis(axes[0], len(extents), "split axis")
        known = known_elements(size_splits)
        if known is not None and len(known) != num_split:
            raise ValueError(f"Length of size_splits should be equal to num_outputs: {len(known)} and {num_split}")
        sizes = _split_sizes(known or [None] * num_split, extents[axis])
        return [[*extents[:axis], size, *extents[axis + 1:]] for size in sizes]

    def kernel(value, size_splits, split_dim, num_split):
        value = as_array(value)
        axis = runtime_axis(split_dim, value.ndim, "SplitVOp")
        if len(size_splits) != num_split:
            raise invalid_argument(f"size_splits has {len(size_splits)} elements for {num_split} outputs")
        try:
            sizes = _split_sizes(size_splits.tolist(), value.shape[axis])
        except ValueError as error:
            raise invalid_argument(str(error)) from None
        return tuple(np.split(value, np.cumsum(sizes)[:-1], axis))

    def native(emit, value, size_splits, split_dim, num_split):
        return emit.move.view(SplitV.kernel, value, size_splits, split_dim, num_split)

    def gradient(op, *dys):
        return [concat(list(dys), op.inputs[2]), None, None]


def _split_sizes(sizes: list[int | None], extent: int | None) -> list[int | None]:
    """The extents of a split with its -1 filled in; ValueError if they do not add up to ``extent``."""
    known = [size for size in sizes if size is not None]
    if known.count(-1) > 1:
        raise ValueError("There can only be one -1 in the input.")
    if None in sizes or extent is None:
        return [None if size == -1 else size for size in sizes]
    rest = extent - sum(size for size in known if size != -1)
    if rest < 0 or (rest and -1 not in known):
        raise ValueError(f"Determined shape must either match input shape along split_dim exactly if fully specified, or be less than the "
                         f"size of the input along split_dim if not fully specified.  Got: {extent - rest}")
    return [rest if size == -1 else size for size in known]


@renamed_args(split_dim="axis", num_split="num_or_size_splits")
def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split") -> list[Tensor]:
    """``tf.split``: a tensor cut along an axis into a number of equal parts, or into parts of given extents. ``tf.split(axis, number, value)``, the
    order of before TensorFlow 1.0, works with a warning.

    >>> [part.shape.as_list() for part in split([[1, 2, 3]], [1, 2], axis=1)]
    [[1, 1], [1, 2]]
    """
    if isinstance(value, (int, np.integer)) and not isinstance(axis, (int, np.integer)):
        warn_of_order("tf.split", "tf.split(value, num_or_size_splits, axis)")
        value, axis = axis, value
    if type(num_or_size_splits) is int and default_graph().imperative:  # no node to make for the number
        return Split(axis, value, num_split=num_or_size_splits, name=name)
    sizes = to_tensor(num_or_size_splits)
    if sizes.shape.ndims == 0:
        parts = constant_value(sizes)
        if parts is None or sizes.dtype.base_dtype not in (dt.int32, dt.int64):
            raise TypeError(f"the number of parts must be known while the graph is built, not {num_or_size_splits!r}")
        return Split(axis, value, num_split=int(parts), name=name)
    if num is None:
        num = sizes.shape.num_elements()
        if num is None:
            raise ValueError(f"Cannot infer num from shape {num_or_size_splits}")
    return SplitV(value, sizes, axis, num_split=num, name=name)


# --- lists that hold tensors -----------------------------------------------------------------------------------------

def _pack_nested(value: Any, dtype: DType, name: str | None) -> Any:
    """A nested list with tensors of one type in it as one Tensor; a list without is left as it is.

    Each list has a name scope, even one that is left as it is: names are TensorFlow's.
    """
    items, holds_tensor = [], False
    with name_scope(name, "packed") as scope:
        for index, item in enumerate(value):
            packed = _pack_nested(item, dtype, str(index)) if isinstance(item, (list, tuple)) else \
                to_tensor(item) if hasattr(item, "_as_graph_element") else item
            holds_tensor = holds_tensor or isinstance(packed, Tensor)
            if isinstance(packed, Tensor) and packed.dtype.base_dtype is not dtype:
                raise TypeError(f"Cannot convert a list containing a tensor of dtype {packed.dtype.base_dtype} to {dtype} (Tensor is: {packed!r})")
            items.append(packed)
        if not holds_tensor:
            return value
        return Pack([item if isinstance(item, Tensor) else to_tensor(item, dtype, str(index)) for index, item in enumerate(items)], name=scope)


def _cast_nested(value: Any, dtype: DType) -> Any:
    """A nested list with its tensors in another type."""
    return [_cast_nested(item, dtype) if isinstance(item, (list, tuple)) else
            cast(to_tensor(item), dtype) if hasattr(item, "_as_graph_element") or isinstance(item, Tensor) else item for item in value]


def _first_dtype(value: Any) -> DType | None:
    for item in value:
        dtype = _first_dtype(item) if isinstance(item, (list, tuple)) else getattr(item, "dtype", None)
        if isinstance(dtype, DType):
            return dtype.base_dtype
    return None


def _convert_list(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    first = None if as_ref else _first_dtype(value)
    if first is None:
        return NotImplemented
    if dtype is not None:
        value = _cast_nested(value, dtype.base_dtype)
    return _pack_nested(value, first if dtype is None else dtype.base_dtype, name or "packed")


register_tensor_conversion_function((list, tuple), _convert_list, 99)
