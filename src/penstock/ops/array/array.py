"""Arrays: the names that the rest of Penstock takes from here, and what is composed of them (meshgrid, sequence_mask, repeat).

The ops themselves stand in one file per theme; ``stack`` of lists that hold tensors is registered in ``pack``.
"""
from __future__ import annotations

import builtins
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import raw_ops
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import Fill, OneHot, OnesLike, ZerosLike, fill, one_hot, ones, ones_like, zeros, zeros_like
from penstock.ops.array.gather import batch_gather, boolean_mask, gather, gather_nd, merge_axes
from penstock.ops.array.pack import Concat, ConcatV2, Pack, Split, SplitV, Unpack, concat, parallel_stack, split, stack, unstack
from penstock.ops.array.pad import MirrorPad, Pad, PadV2, pad
from penstock.ops.array.passing import check_numerics, ensure_shape, identity_n, prevent_gradient, stop_gradient
from penstock.ops.array.permute import (
    BroadcastTo,
    InvertPermutation,
    Reverse,
    ReverseV2,
    Tile,
    Transpose,
    broadcast_to,
    matrix_transpose,
    reverse,
    reverse_sequence,
    roll,
    tile,
    transpose,
)
from penstock.ops.array.scatter_nd import ScatterNd, scatter_nd
from penstock.ops.array.select import Select, Where, where, where_v2
from penstock.ops.array.sequences import Range, all_axes, range
from penstock.ops.array.shape_ops import expand_dims, rank, reshape, shape, size, squeeze
from penstock.ops.array.slicing import Slice, StridedSlice, slice_, strided_slice
from penstock.ops.constant import constant, identity

__all__ = [
    "BroadcastTo", "Concat", "ConcatV2", "Fill", "InvertPermutation", "MirrorPad", "OneHot", "OnesLike", "Pack", "Pad", "PadV2", "Range",
    "Reverse", "ReverseV2", "ScatterNd", "Select", "Slice", "Split", "SplitV", "StridedSlice", "Tile", "Transpose", "Unpack", "Where",
    "ZerosLike", "batch_gather", "batch_positions", "boolean_mask", "broadcast_to", "check_numerics", "concat", "constant", "ensure_shape",
    "expand_dims", "fill", "gather", "gather_nd", "identity", "identity_n", "matrix_transpose", "meshgrid", "one_hot", "ones", "ones_like", "pad",
    "parallel_stack", "prevent_gradient", "range", "rank", "repeat", "reshape", "reverse", "reverse_sequence", "roll", "scatter_nd",
    "sequence_mask", "shape", "size", "slice_", "split", "squeeze", "stack", "stop_gradient", "strided_slice", "tile", "transpose", "unstack",
    "where", "where_v2", "zeros", "zeros_like"]


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = dt.bool_, name: str | None = None) -> Tensor:
    """``tf.sequence_mask``: per length, a row of ``maxlen`` elements of which the first ``length`` are True.

    >>> sequence_mask([1, 3], 4).shape.as_list()
    [2, 4]
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = to_tensor(lengths)
        if maxlen is None:
            maxlen = raw_ops.Maximum(constant(0, lengths.dtype.base_dtype), raw_ops.Max(lengths, all_axes(lengths)))
        else:
            maxlen = to_tensor(maxlen)
        if maxlen.shape.ndims not in (None, 0):
            raise ValueError("maxlen must be scalar for sequence_mask")
        kind = maxlen.dtype.base_dtype
        if lengths.dtype.base_dtype is kind:
            default_graph().imply(1)  # TensorFlow's Cast to the same type
        row = Range(constant(0, kind), maxlen, constant(1, kind))
        result = raw_ops.Less(row, cast(expand_dims(lengths, -1), kind))
        return result if dt.as_dtype(dtype) is dt.bool_ else cast(result, dtype)


def batch_positions(indices: Tensor) -> Tensor:
    """Indices along the last axis of a batch as positions in the whole: in front of each stand its own coordinates in the leading axes."""
    if indices.shape.ndims is None:
        raise ValueError("batch_scatter_update needs indices of known rank")
    extents = shape(indices, out_type=indices.dtype)
    grids = meshgrid(*[range(extents[axis]) for axis in builtins.range(indices.shape.ndims)], indexing="ij")
    return stack([*grids[:-1], indices], -1)


def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """``tf.meshgrid(*vectors, indexing="xy", name="meshgrid")``: each vector spread over the grid that all of them span."""
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", list(args)):
        count = len(args)
        before = default_graph().counted_operations()
        vectors = [vector if isinstance(vector, Tensor) else to_tensor(vector, None, "stack") for vector in args]
        listed = default_graph().counted_operations() - before
        if not vectors:
            return []
        axes = list(builtins.range(count))
        if indexing == "xy" and count > 1:
            axes[:2] = [1, 0]
        # TensorFlow makes vectors of lists again for sizes and type, swaps axes by two more reshapes and counts ones in the graph.
        operations = 5 * count + 4 + listed + (listed > 0) + (4 if count > 1 and indexing == "xy" else 0)
        with default_graph().counting_as(operations):
            return _grids(vectors, axes)


def _grids(vectors: list[Tensor], axes: list[int]) -> list[Tensor]:
    """Each vector along its axis of the grid."""
    count = len(vectors)
    grids = [reshape(vector, [-1 if axis == own else 1 for axis in builtins.range(count)]) for vector, own in zip(vectors, axes)]
    sizes: list[Any] = [None] * count
    for vector, axis in zip(vectors, axes):
        sizes[axis] = size(vector)
    extents = [constant_value(length) for length in sizes]
    whole = ones([int(extent) for extent in extents] if all(extent is not None for extent in extents) else stack(sizes), vectors[0].dtype.base_dtype)
    return [grid * whole for grid in grids]


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """``tf.repeat``: each element along an axis as many times as ``repeats``, a number or one number per element, says."""
    if axis is None:
        input, axis = reshape(input, [-1]), 0
    with name_scope(name, "Repeat", [input, repeats]):
        data, repeats = to_tensor(input, None, "data"), cast(to_tensor(repeats, None, "repeats"), dt.int32)
        if data.shape.ndims is None or repeats.shape.ndims is None:
            raise ValueError("tf.repeat needs to know the ranks of its arguments")
        if repeats.shape.ndims > 1:
            raise ValueError(f"repeats must be a number or a vector, not of shape {repeats.shape}")
        axis = axis + data.shape.ndims if axis < 0 else axis
        if repeats.shape.ndims == 1 and repeats.shape.extents[0] == 1:
            repeats = reshape(repeats, [])
        positions = expand_dims(range(shape(data)[axis]), 1)
        if repeats.shape.ndims == 0:
            places = reshape(tile(positions, stack([1, repeats])), [-1])
        else:
            mask = sequence_mask(repeats)
            places = boolean_mask(tile(positions, stack([1, shape(mask)[1]])), mask)
        return gather(merge_axes(data, axis, 1), places, axis=axis)
