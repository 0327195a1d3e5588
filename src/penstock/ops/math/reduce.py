"""Reductions over axes: sums, means, products, extremes, logic, norms."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import bfloat16, bool_, float16, int32, int64
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.array.partition import dynamic_stitch
from penstock.ops.array.permute import BroadcastTo
from penstock.ops.array.sequences import all_axes
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import Shape, Size, rank, reshape, size
from penstock.ops.common import NUMERIC
from penstock.ops.constant import constant
from penstock.ops.math.compare import Equal
from penstock.ops.math.complex import conj
from penstock.ops.math.cumulative import products_of_others
from penstock.ops.math.division import FloorDiv, FloorMod, truncated_quotient
from penstock.ops.math.elementwise import AddV2, Maximum, Mul, RealDiv
from penstock.platform.deprecation import older_argument

AXES = types(int32, int64, default=int32)


# --- axes and shapes -------------------------------------------------------------------------------------------------

def reduced_shape(input, reduction_indices, keep_dims):
    """The shape of a reduction, as far as its axes are known."""
    extents = input.shape.extents
    if reduction_indices.shape.ndims not in (None, 0, 1):
        raise ValueError(f"reduction_indices must be a scalar or a vector, not of shape {reduction_indices.shape}")
    axes = constant_value(reduction_indices)
    if extents is None:
        return None
    if axes is None:
        if keep_dims:
            return unknown_shape(len(extents))
        return TensorShape(()) if not extents else None
    axes = {_static_axis(int(axis), len(extents)) for axis in np.ravel(axes)}
    if keep_dims:
        return [1 if axis in axes else extent for axis, extent in enumerate(extents)]
    return [extent for axis, extent in enumerate(extents) if axis not in axes]


def _static_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions.")
    return axis % rank


def axes_of(x: Any, axes: Any) -> tuple[int, ...]:
    """The axes of a reduction, checked and without repetitions; at run time."""
    rank, canonical = np.ndim(x), set()
    for axis in np.ravel(axes).tolist():
        if not -rank <= axis < rank:
            raise invalid_argument(f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)")
        canonical.add(axis % rank)
    return tuple(sorted(canonical))


def _wide(x: np.ndarray) -> np.ndarray:
    """Half precision is accumulated in float32."""
    return x.astype(np.float32) if x.dtype in (float16.np, bfloat16.np) else x


def _accumulate(ufunc: np.ufunc, x: Any, axes: Any, keep: bool) -> Any:
    """A ufunc reduction whose result has the type of ``x``."""
    x = np.asarray(x)
    wide = _wide(x)
    result = ufunc.reduce(wide, axis=axes_of(x, axes), dtype=wide.dtype, keepdims=keep)
    return result if wide is x else np.asarray(result).astype(x.dtype)


def _extreme(ufunc: np.ufunc, x: Any, axes: Any, keep: bool, worst: Any) -> Any:
    """A maximum or minimum; of no elements it is the worst value of the type."""
    x = np.asarray(x)
    axes = axes_of(x, axes)
    if x.size:
        return ufunc.reduce(x, axis=axes, keepdims=keep)
    extents = [1 if axis in axes else extent for axis, extent in enumerate(x.shape) if keep or axis not in axes]
    return np.full(extents, worst(x.dtype), x.dtype)


def _worst(dtype: np.dtype, largest: bool) -> Any:
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if largest else np.iinfo(dtype).min
    return np.inf if largest else -np.inf


# --- gradients -------------------------------------------------------------------------------------------------------

def kept_shape(op) -> Any:
    """The shape of the output as if ``keep_dims`` had been given: an array if it is known, else a tensor."""
    x, axes = op.inputs
    known = reduced_shape(x, axes, True)
    known = None if known is None else TensorShape(known)
    if known is not None and known.is_fully_defined():
        return np.array(known.as_list(), np.int32)
    extents = Shape(x)
    known_axes = constant_value(axes)
    if x.shape.ndims is not None and known_axes is not None:
        kept = np.ones(x.shape.ndims, np.int32)
        kept[np.ravel(known_axes)] = 0
        return AddV2(Mul(extents, kept), 1 - kept)
    return _stitched_shape(extents, axes)


def _stitched_shape(extents: Tensor, axes: Tensor) -> Tensor:
    """``extents`` with 1 at ``axes``, neither of which is known."""
    rank = Size(extents)
    axes = FloorMod(reshape(cast(axes, int32), [-1]), rank)
    return dynamic_stitch([range_(rank), axes], [extents, ones_like(axes)])


def _broadcast_back(op, dy):
    """``dy`` in the shape of the input: once per element that was reduced."""
    x = op.inputs[0]
    if not op.attrs["keep_dims"]:
        dy = reshape(dy, kept_shape(op))
    wanted = np.array(x.shape.as_list(), np.int32) if x.shape.is_fully_defined() else Shape(x)
    return BroadcastTo(dy, wanted)


def _count(op) -> Any:
    """How many elements go into one of the output: a number if it is known, else a tensor."""
    x, y = op.inputs[0].shape.num_elements(), op.outputs[0].shape.num_elements()
    if x is not None and y is not None:
        return constant(x // max(y, 1), int32)
    sizes = size(op.inputs[0]), size(op.outputs[0])
    return FloorDiv(sizes[0], Maximum(sizes[1], 1))


def _extreme_gradient(op, dy):
    """Shared equally among the elements that are the extreme."""
    x, axes = op.inputs
    y = op.outputs[0]
    if not op.attrs["keep_dims"]:
        shape = kept_shape(op)
        y, dy = reshape(y, shape), reshape(dy, shape)
    winners = cast(Equal(y, x), dy.dtype)
    return [Mul(RealDiv(winners, Sum(winners, axes, keep_dims=True)), dy), None]


# --- how many nodes TensorFlow's gradients have -----------------------------------------------------------------------

def _sum_nodes(op) -> int:
    x, axes = op.inputs[0].shape, constant_value(op.inputs[1])
    if x.ndims is None or axes is None:
        return 16
    axes = np.ravel(axes).tolist()
    if axes == list(range(x.ndims)):
        return 4
    if not x.is_fully_defined():
        return 16
    return 21 if default_graph().first_time(("reduced", tuple(x.as_list()), tuple(axes))) else 4


def _mean_nodes(op) -> int:
    is_known = op.inputs[0].shape.is_fully_defined() and op.outputs[0].shape.is_fully_defined()
    return _sum_nodes(op) + (2 if is_known else 11)


def _sum_reads(op) -> list:
    x, axes = op.inputs[0].shape, constant_value(op.inputs[1])
    is_whole = x.ndims is not None and axes is not None and np.ravel(axes).tolist() == list(range(x.ndims))
    if is_whole or (x.is_fully_defined() and axes is not None):
        return [Extents(op.inputs[0])] if is_whole else []
    return [Extents(op.inputs[0]), op.inputs[1], Extents(op.inputs[1])]


def _mean_reads(op) -> list:
    is_known = op.inputs[0].shape.is_fully_defined() and op.outputs[0].shape.is_fully_defined()
    return [*_sum_reads(op), *([] if is_known else [Extents(op.inputs[0]), Extents(op.outputs[0])])]


# --- the ops ---------------------------------------------------------------------------------------------------------

@op("Sum", "input: T, reduction_indices: Tidx -> output: T", keep_dims=False, T=NUMERIC, Tidx=AXES)
class Sum:
    """The sum over axes."""

    gradient_nodes = _sum_nodes
    gradient_reads = _sum_reads
    axes = "reduction_indices"
    reduces = "sum"
    shape = reduced_shape

    def kernel(input, reduction_indices, keep_dims):
        return _accumulate(np.add, input, reduction_indices, keep_dims)

    def gradient(op, dy):
        return [_broadcast_back(op, dy), None]


@op("Mean", "input: T, reduction_indices: Tidx -> output: T", keep_dims=False, T=NUMERIC, Tidx=AXES)
class Mean:
    """The mean over axes; of integers it is rounded towards zero."""

    gradient_nodes = _mean_nodes
    gradient_reads = _mean_reads
    axes = "reduction_indices"
    reduces = "mean"
    shape = reduced_shape

    def kernel(input, reduction_indices, keep_dims):
        x = np.asarray(input)
        total = np.add.reduce(_wide(x), axis=axes_of(x, reduction_indices), dtype=_wide(x).dtype, keepdims=keep_dims)
        number = x.size // max(total.size, 1)
        if x.dtype.kind in "iu":
            return truncated_quotient(total, np.array(max(number, 1)).astype(x.dtype))  # TensorFlow's count wraps, as its sum does
        return np.asarray(np.divide(total, total.dtype.type(number))).astype(x.dtype, copy=False)

    def compose(b, input, reduction_indices, keep_dims, T):
        if not T.is_integer:
            b.unsupported("a mean of floats is a reduction by itself")
        axes = [int(axis) for axis in b.known(reduction_indices).ravel()]
        total = b.sum(input, axes)
        number = np.array(max(math.prod(input.shape) // max(math.prod(total.shape), 1), 1)).astype(T.np)
        if not number:
            b.unsupported("the number of elements, in their type, is 0: the kernel says that this cannot be divided by")
        mean = b.op("_DivideIntegers", total.shape, T, total, b.constant(number, T), T=T, how="truncatediv")
        gone = {axis % len(input.shape) for axis in axes}
        return mean if keep_dims else b.reshape(mean, [extent for axis, extent in enumerate(mean.shape) if axis not in gone])

    def gradient(op, dy):
        return [RealDiv(_broadcast_back(op, dy), cast(_count(op), dy.dtype)), None]


@op("Prod", "input: T, reduction_indices: Tidx -> output: T", keep_dims=False, T=NUMERIC, Tidx=AXES)
class Prod:
    """The product over axes."""

    gradient_nodes = 49
    gradient_reads = lambda op: [Extents(op.inputs[0]), *op.inputs]
    axes = "reduction_indices"
    reduces = "prod"
    shape = reduced_shape

    def kernel(input, reduction_indices, keep_dims):
        return _accumulate(np.multiply, input, reduction_indices, keep_dims)

    def gradient(op, dy):
        x, axes = op.inputs
        return [Mul(_broadcast_back(op, dy), conj(products_of_others(x, axes))), None]


@op("Max", "input: T, reduction_indices: Tidx -> output: T", keep_dims=False, T=NUMERIC, Tidx=AXES)
class Max:
    """The largest element over axes."""

    gradient_nodes = 19
    gradient_reads = lambda op: [Extents(op.inputs[0]), *op.inputs, op.outputs[0]]
    axes = "reduction_indices"
    reduces = "max"
    shape = reduced_shape

    def kernel(input, reduction_indices, keep_dims):
        return _extreme(np.maximum, input, reduction_indices, keep_dims, lambda dtype: _worst(dtype, False))

    gradient = _extreme_gradient


@op("Min", "input: T, reduction_indices: Tidx -> output: T", keep_dims=False, T=NUMERIC, Tidx=AXES)
class Min:
    """The smallest element over axes."""

    gradient_nodes = 19
    gradient_reads = lambda op: [Extents(op.inputs[0]), *op.inputs, op.outputs[0]]
    axes = "reduction_indices"
    reduces = "min"
    shape = reduced_shape

    def kernel(input, reduction_indices, keep_dims):
        return _extreme(np.minimum, input, reduction_indices, keep_dims, lambda dtype: _worst(dtype, True))

    gradient = _extreme_gradient


@op("All", "input: bool, reduction_indices: Tidx -> output: bool", keep_dims=False, Tidx=AXES)
class All:
    """True if all elements over axes are true."""

    axes = "reduction_indices"
    reduces = "and"
    shape = reduced_shape

    def kernel(input, reduction_indices, keep_dims):
        return np.logical_and.reduce(np.asarray(input), axis=axes_of(input, reduction_indices), keepdims=keep_dims)

    gradient = None


@op("Any", "input: bool, reduction_indices: Tidx -> output: bool", keep_dims=False, Tidx=AXES)
class AnyOp:
    """True if any element over axes is true."""

    axes = "reduction_indices"
    reduces = "or"
    shape = reduced_shape

    def kernel(input, reduction_indices, keep_dims):
        return np.logical_or.reduce(np.asarray(input), axis=axes_of(input, reduction_indices), keepdims=keep_dims)

    gradient = None


@op("EuclideanNorm", "input: T, reduction_indices: Tidx -> output: T", keep_dims=False, T=NUMERIC, Tidx=AXES)
class EuclideanNorm:
    """The square root of the sum of squares over axes."""

    shape = reduced_shape

    def kernel(input, reduction_indices, keep_dims):
        x = np.asarray(input)
        wide = _wide(x)
        squares = np.multiply(wide, np.conj(wide)) if wide.dtype.kind == "c" else np.multiply(wide, wide)
        total = np.add.reduce(squares, axis=axes_of(x, reduction_indices), dtype=wide.dtype, keepdims=keep_dims)
        return np.asarray(np.sqrt(total)).astype(x.dtype)

    def compose(b, input, reduction_indices, keep_dims):
        axes = np.ravel(b.known(reduction_indices)).tolist()
        total = b.cast(b.sqrt(b.sum(b.square(b.wide(input)), axes)), input.dtype)
        kept = [extent for axis, extent in enumerate(total.shape) if keep_dims or not {axis, axis - len(total.shape)} & set(axes)]
        return b.reshape(total, kept)

    def gradient(op, dy):
        x, y = op.inputs[0], op.outputs[0]
        if not op.attrs["keep_dims"]:
            y, dy = reshape(y, kept_shape(op)), reshape(dy, kept_shape(op))
        return [Mul(RealDiv(x, y), dy), None]


# --- public functions ------------------------------------------------------------------------------------------------

def old_arguments(keepdims: Any, keep_dims: Any, axis: Any, reduction_indices: Any) -> tuple[bool, Any]:
    """(keepdims, axis) of the new or the old names of the arguments; giving both is an error."""
    keepdims = older_argument("keepdims", keepdims, "keep_dims", keep_dims)
    axis = older_argument("axis", axis, "reduction_indices", reduction_indices)
    return bool(keepdims), axis


def _reduction(definition: Any, public_name: str, what: str) -> Any:
    def reduction(input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None,
                  reduction_indices: Any = None, keep_dims: Any = None) -> Tensor:
        keepdims, axis = old_arguments(keepdims, keep_dims, axis, reduction_indices)
        return reduce_by(definition, input_tensor, axis, keepdims, name)

    reduction.__name__ = reduction.__qualname__ = public_name
    reduction.__doc__ = f"""``tf.{public_name}``: {what} over ``axis`` (an int, a list of them, or None for all axes).

    With ``keepdims`` the reduced axes stay, with extent 1. ``keep_dims`` and ``reduction_indices`` are the old names.
    """
    return reduction


def reduce_by(definition: Any, input_tensor: Any, axis: Any = None, keepdims: bool = False,
              name: str | None = None) -> Tensor:
    """A reduction op over ``axis``, or over all axes."""
    typed = isinstance(input_tensor, Tensor) or hasattr(input_tensor, "_as_graph_element")  # then the op itself refuses a wrong type
    if typed or default_graph().imperative:
        x = to_tensor(input_tensor, bool_ if definition.inputs[0].dtype is bool_ and not typed else None, "input")
        axes = all_axes(x) if axis is None else axis
        if typed and axis is None and not isinstance(input_tensor, Tensor):  # TensorFlow asks for the rank of a variable in the graph
            default_graph().imply(4 if input_tensor.dtype == input_tensor.dtype.base_dtype else 3)
    else:  # what becomes a tensor is named after the op, and its rank is an operation: so in TensorFlow
        x, axes = input_tensor, range_(0, rank(input_tensor)) if axis is None else axis
    result = definition(x, axes, keep_dims=keepdims, name=name)
    if axis is None and not keepdims:
        result.set_shape(())
    return result


reduce_sum = _reduction(Sum, "reduce_sum", "the sum")
reduce_mean = _reduction(Mean, "reduce_mean", "the mean")
reduce_prod = _reduction(Prod, "reduce_prod", "the product")
reduce_max = _reduction(Max, "reduce_max", "the maximum")
reduce_min = _reduction(Min, "reduce_min", "the minimum")
reduce_all = _reduction(All, "reduce_all", "the logical and")
reduce_any = _reduction(AnyOp, "reduce_any", "the logical or")


def reduce_euclidean_norm(input_tensor: Any, axis: Any = None, keepdims: bool = False,
                          name: str | None = None) -> Tensor:
    """``tf.math.reduce_euclidean_norm``: the square root of the sum of squares."""
    return reduce_by(EuclideanNorm, input_tensor, axis, bool(keepdims), name)
