"""Ops about shapes: asking for them, and changing them without touching an element."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph import raw_ops
from penstock.graph.attrs import TYPE, count, ints, types
from penstock.graph.composite import IndexedSlices, SparseTensor, SparseTensorValue
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, brackets, broadcast, unknown_shape
from penstock.graph.static import constant_value, extents_as_array
from penstock.ops.array.broadcast_gradient import BroadcastArgs
from penstock.ops.array.cast import cast
from penstock.ops.common import canonical_axis, fixed
from penstock.ops.constant import constant
from penstock.platform.deprecation import older_argument

INDEX_32 = types(dt.int32, dt.int64, default=dt.int32)
INDEX_64 = types(dt.int32, dt.int64, default=dt.int64)


def as_array(value: Any) -> np.ndarray:
    """An array for what a kernel gets: a scalar may come as a NumPy scalar or, for a string, as bytes."""
    if isinstance(value, np.ndarray):
        return value
    return np.asarray(value, object) if isinstance(value, (bytes, str)) else np.asarray(value)


def known_elements(tensor: Tensor) -> list[int | None] | None:
    """The elements of an integer vector (or scalar), None where they are not known; None if not even their number is known."""
    value = constant_value(tensor, partial=True)
    if value is None:
        length = tensor.shape.num_elements()
        return None if length is None else [None] * length
    elements = np.ravel(value).tolist()
    if -1 in elements and constant_value(tensor) is None:  # -1 means unknown, unless it is written in the graph
        return [None if element == -1 else element for element in elements]
    return elements


def known_shape(tensor: Tensor) -> TensorShape:
    """The shape that an integer vector without -1 describes, as far as its value is known."""
    if tensor.shape.ndims not in (None, 1):
        raise ValueError(f"Shape must be rank 1 but is rank {tensor.shape.ndims}")
    elements = known_elements(tensor)
    for element in elements or ():
        if element is not None and element < 0:
            raise ValueError(f"Dimension {element} must be >= 0")
    return unknown_shape() if elements is None else TensorShape(elements)


# --- asking ----------------------------------------------------------------------------------------------------------

@op("Shape", "input: T -> output: out_type", T=TYPE, out_type=INDEX_32)
class Shape:
    """The extents of a tensor as a vector."""

    shape_only = borrows = True
    counted = "_CountedShape"

    def shape(input):
        return [input.shape.ndims]

    def static(input):
        return extents_as_array(input.shape)

    def kernel(input, out_type):
        return np.array(np.shape(input), out_type.np)

    gradient = None


@op("ShapeN", "input: N * T -> output: N * out_type", N=count(1), T=TYPE, out_type=INDEX_32)
class ShapeN:
    """The shapes of several tensors."""

    shape_only = borrows = True

    def shape(input):
        return [[tensor.shape.ndims] for tensor in input]

    def kernel(input, out_type):
        return tuple(np.array(np.shape(array), out_type.np) for array in input)

    gradient = None


@op("Size", "input: T -> output: out_type", T=TYPE, out_type=INDEX_32)
class Size:
    """The number of elements of a tensor."""

    shape_only = borrows = True
    counted = "_CountedSize"
    shape = fixed()

    def static(input):
        size = input.shape.num_elements()
        return None if size is None else np.array(size, np.int32 if size < 2**31 else np.int64)

    def kernel(input, out_type):
        return np.array(np.size(input), out_type.np)

    gradient = None


@op("_CountedShape", "input: T, count: int32 -> output: out_type", T=TYPE, out_type=INDEX_32)
class CountedShape:
    """The shape of a tensor of which as many rows count."""

    borrows = True

    def shape(input):
        return [input.shape.ndims]

    def kernel(input, count, out_type):
        return np.array([count, *np.shape(input)[1:]], out_type.np)

    def native(emit, input, count, out_type):
        return emit.select.counted_shape(input, count, out_type.np)

    gradient = None


@op("_CountedSize", "input: T, count: int32 -> output: out_type", T=TYPE, out_type=INDEX_32)
class CountedSize:
    """The number of elements of a tensor of which as many rows count."""

    borrows = True
    shape = fixed()

    def kernel(input, count, out_type):
        return np.array(int(count) * math.prod(np.shape(input)[1:]), out_type.np)

    def native(emit, input, count, out_type):
        return emit.select.counted_size(input, count, out_type.np)

    gradient = None


@op("Rank", "input: T -> output: int32", T=TYPE)
class Rank:
    """The number of axes of a tensor."""

    shape_only = borrows = True
    shape = fixed()

    def static(input):
        return None if input.shape.ndims is None else np.array(input.shape.ndims, np.int32)

    def kernel(input):
        return np.array(np.ndim(input), np.int32)

    gradient = None


def _is_sparse(value: Any) -> bool:
    return isinstance(value, (SparseTensor, SparseTensorValue))


def shape_internal(input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dt.int32) -> Tensor:
    """``shape``; with ``optimize=False`` never as a constant."""
    out_type = dt.as_dtype(out_type)
    with name_scope(name, "Shape", [input]) as scope:
        if _is_sparse(input):
            return cast(input.dense_shape, out_type)
        tensor = to_tensor(input)
        if optimize and tensor.shape.is_fully_defined():
            return constant(np.array(tensor.shape.as_list(), out_type.np), name=scope)
        return Shape(tensor, out_type=out_type, name=scope)


def shape(input: Any, name: str | None = None, out_type: Any = dt.int32) -> Tensor:
    """``tf.shape``: the shape of ``input`` as a vector: a constant if it is known now."""
    return shape_internal(input, name, True, out_type)


def shape_n(input: Any, out_type: Any = dt.int32, name: str | None = None) -> list[Tensor]:
    """``tf.shape_n``: the shapes of several tensors."""
    return ShapeN(input, out_type=out_type, name=name)


def size(input: Any, name: str | None = None, out_type: Any = dt.int32) -> Tensor:
    """``tf.size``: the number of elements of ``input``: a constant if it is known now."""
    return size_internal(input, name, True, out_type)


def size_internal(input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dt.int32) -> Tensor:
    """``size``; with ``optimize=False`` never as a constant."""
    out_type = dt.as_dtype(out_type)
    with name_scope(name, "Size", [input]) as scope:
        if _is_sparse(input):
            return raw_ops.Prod(shape(input, out_type=out_type), 0, name=scope)
        tensor = to_tensor(input)
        known = tensor.shape.num_elements()
        if optimize and known is not None:
            return constant(np.array(known, out_type.np), name=scope)
        return Size(tensor, out_type=out_type, name=scope)


def rank(input: Any, name: str | None = None) -> Tensor:
    """``tf.rank``: the number of axes of ``input``: a constant if it is known now."""
    return rank_internal(input, name)


def rank_internal(input: Any, name: str | None = None, optimize: bool = True) -> Tensor:
    """``rank``; with ``optimize=False`` never as a constant."""
    with name_scope(name, "Rank", [input]) as scope:
        if _is_sparse(input):
            return size(input.dense_shape, name=scope)
        tensor = to_tensor(input)
        if optimize and tensor.shape.ndims is not None:
            return constant(np.array(tensor.shape.ndims, np.int32), name=scope)
        return Rank(tensor, name=scope)


# --- changing --------------------------------------------------------------------------------------------------------

def reads_extents(op: Any) -> list[Any]:
    """``gradient_reads`` of an op whose gradient is given the shape of its input."""
    return [Extents(op.inputs[0])]


@op("Reshape", "tensor: T, shape: Tshape -> output: T", T=TYPE, Tshape=INDEX_32)
class Reshape:
    """The same elements in another shape; an extent of -1 is what is left over."""

    rank_words = {"shape": (1, "sizes input must be 1-D, not {shape}")}
    aliases = rearranges = keeps_order = True

    def shape(tensor, shape):
        if shape.shape.ndims not in (None, 1):
            raise ValueError(f"Shape must be rank 1 but is rank {shape.shape.ndims}")
        try:
            return _static_reshape(tensor.shape, known_elements(shape))
        except ValueError:
            if getattr(shape.op.graph, "captures", None) and shape.op._inputs:  # computed in a branch: TensorFlow does not look there
                return unknown_shape(shape.shape.num_elements())
            raise

    def kernel(tensor, shape):
        tensor = as_array(tensor)
        extents = [int(extent) for extent in np.ravel(shape)]
        _check_reshape(tensor.size, extents)
        return tensor.reshape(extents)

    def native(emit, tensor, shape):
        return emit.move.reshape(tensor, emit.known(shape))

    gradient_reads = reads_extents

    def gradient(op, dy):
        return [_reshape_to_input(op, dy), None]


def _reshape_to_input(op: Any, dy: Any) -> Tensor:
    """The gradient of what moves no element. Nobody could spare the dense tensor that slices become here: there is no warning, as in TensorFlow."""
    if not isinstance(dy, IndexedSlices):
        return reshape(dy, shape(op.inputs[0]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Converting sparse IndexedSlices to a dense Tensor")
        return reshape(dy, shape(op.inputs[0]))


def _static_reshape(source: TensorShape, wanted: list[int | None] | None) -> TensorShape:
    """The static shape of a Reshape: ``wanted`` with its one open extent filled in if the sizes tell it."""
    if wanted is None:
        return unknown_shape()
    result = [None if extent == -1 else extent for extent in wanted]
    if any(extent is not None and extent < 0 for extent in result):
        raise ValueError(f"Cannot reshape to the negative extents of {wanted}")
    if source.extents is None:
        return TensorShape(result)
    known = math.prod(extent for extent in result if extent is not None)
    available = math.prod(extent for extent in source.extents if extent is not None)
    unknown_out, unknown_in = result.count(None), source.extents.count(None)
    shown = brackets(result)
    if not unknown_in and not unknown_out and available != known:
        raise ValueError(f"Cannot reshape a tensor with {available} elements to shape {shown} ({known} elements)")
    if not unknown_in and unknown_out and known and available % known:
        raise ValueError(f"Dimension size must be evenly divisible by {known} but is {available}: cannot reshape to {shown}")
    if unknown_in and not unknown_out and available and known % available:
        raise ValueError(f"Cannot reshape a tensor with a multiple of {available} elements to shape {shown} ({known} elements)")
    if not unknown_in and unknown_out == 1 and known:
        result[result.index(None)] = available // known
    return TensorShape(result)


def _check_reshape(size: int, extents: list[int]) -> None:
    """Raises unless ``size`` elements fit into ``extents``."""
    open_axes = [axis for axis, extent in enumerate(extents) if extent == -1]
    if len(open_axes) > 1:
        raise invalid_argument(f"Only one input size may be -1, not both {open_axes[0]} and {open_axes[1]}")
    for axis, extent in enumerate(extents):
        if extent < -1:
            raise invalid_argument(f"Size {axis} must be non-negative, not {extent}")
    known = math.prod(extent for extent in extents if extent != -1)
    if open_axes and known == 0:
        raise invalid_argument("reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are non-zero")
    if open_axes and size % known:
        raise invalid_argument(f"Input to reshape is a tensor with {size} values, but the requested shape requires a multiple of {known}")
    if not open_axes and size != known:
        raise invalid_argument(f"Input to reshape is a tensor with {size} values, but the requested shape has {known}")


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """``tf.reshape``: the same elements in another shape; one extent may be -1.

    >>> reshape([[1, 2, 3], [4, 5, 6]], [3, -1]).shape.as_list()
    [3, 2]
    """
    return Reshape(tensor, shape, name=name)


@op("Squeeze", "input: T -> output: T", T=TYPE, squeeze_dims=ints())
class Squeeze:
    """Drops axes of extent 1: those named, or all."""

    aliases = rearranges = keeps_order = True

    def shape(input, squeeze_dims):
        extents = input.shape.extents
        if extents is None:
            return None
        if not squeeze_dims:
            return None if None in extents else [extent for extent in extents if extent != 1]
        axes = {canonical_axis(axis, len(extents), "squeeze axis") for axis in squeeze_dims}
        for axis in axes:
            if extents[axis] not in (1, None):
                raise ValueError(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {extents[axis]}")
        return [extent for axis, extent in enumerate(extents) if axis not in axes]

    def kernel(input, squeeze_dims):
        input = as_array(input)
        if not squeeze_dims:
            return input.squeeze()
        rank = input.ndim
        axes = {axis + rank if axis < 0 else axis for axis in squeeze_dims}
        for axis in axes:
            if not 0 <= axis < rank:
                raise invalid_argument(f"Tried to squeeze dim index {axis} for tensor with {rank} dimensions.")
            if input.shape[axis] != 1:
                raise invalid_argument(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {input.shape[axis]}")
        return input.squeeze(tuple(axes))

    def native(emit, input, squeeze_dims):
        return emit.move.view(Squeeze.kernel, input, squeeze_dims)

    gradient_reads = reads_extents

    def gradient(op, dy):
        return _reshape_to_input(op, dy)


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Tensor:
    """``tf.squeeze``: drops the axes of extent 1 that are named, or all of them; ``squeeze_dims`` is the old name of ``axis``."""
    axis = older_argument("axis", axis, "squeeze_dims", squeeze_dims)
    axes = [] if axis is None else [axis] if np.ndim(axis) == 0 else list(axis)
    return Squeeze(input, squeeze_dims=axes, name=name)


@op("ExpandDims", "input: T, dim: Tdim -> output: T", T=TYPE, Tdim=INDEX_32)
class ExpandDims:
    """Inserts an axis of extent 1."""

    aliases = rearranges = keeps_order = True

    def shape(input, dim):
        extents, axes = input.shape.extents, known_elements(dim)
        if extents is None:
            return None
        if axes is None or axes == [None]:
            return unknown_shape(len(extents) + 1)
        if len(axes) != 1:
            raise ValueError(f"'dim' input must be a tensor with a single value, not {len(axes)}")
        axis = canonical_axis(axes[0], len(extents) + 1, "dimension")
        return [*extents[:axis], 1, *extents[axis:]]

    def kernel(input, dim):
        input = as_array(input)
        if np.size(dim) != 1:
            raise invalid_argument(f"'dim' must be a tensor with a single value, not {np.size(dim)}")
        axis, rank = int(np.ravel(dim)[0]), input.ndim
        if not -rank - 1 <= axis <= rank:
            raise invalid_argument(f"Tried to expand dim index {axis} for tensor with {rank} dimensions.")
        return np.expand_dims(input, axis)

    def native(emit, input, dim):
        return emit.move.view(ExpandDims.kernel, input, dim)

    gradient_reads = reads_extents

    def gradient(op, dy):
        return [_reshape_to_input(op, dy), None]


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """``tf.expand_dims``: inserts an axis of extent 1; ``dim`` is the old name of ``axis``."""
    axis = older_argument("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return ExpandDims(input, axis, name=name)


def one_name(new: str, new_value: Any, old: str, old_value: Any) -> Any:
    """The value of an argument that has an old name too; ValueError if both are given."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'")
    return old_value


# --- broadcasting of shapes ------------------------------------------------------------------------------------------

def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """``tf.broadcast_dynamic_shape``: the shape, as a tensor, that two shapes broadcast to."""
    return BroadcastArgs(shape_x, shape_y)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """``tf.broadcast_static_shape``: the TensorShape that two TensorShapes broadcast to."""
    return broadcast(TensorShape(shape_x), TensorShape(shape_y))
