"""Softmax and its logarithm, along the last axis; the public functions bring another axis there and back."""
from __future__ import annotations

import numpy as np

from penstock.errors import InvalidArgumentError
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.static import constant_value
from penstock.ops.array import shape_ops
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import transpose
from penstock.ops.array.slicing import slice_
from penstock.ops.common import FLOATS
from penstock.ops.math.elementwise import subtract
from penstock.ops.math.powers import exp
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.precision import in_float32
from penstock.platform.deprecation import older_argument


def shifted_exp(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(logits - max, its exponential, the sum of that) along the last axis: the parts of a softmax; none overflows."""
    shifted = logits - np.max(logits, axis=-1, keepdims=True, initial=-np.inf)
    exponential = np.exp(shifted)
    return shifted, exponential, np.sum(exponential, axis=-1, keepdims=True)


def composed_shifted_exp(b, logits):
    """The same parts while an op is taken apart for the compiler. To be multiplied by 1 / total: dividing each element takes much longer."""
    shifted = logits - b.max(logits, [-1])
    exponential = b.exp(shifted)
    return shifted, exponential, b.sum(exponential, [-1])


def _at_least_a_vector(logits):
    return logits.shape.with_rank_at_least(1)


@op("Softmax", "logits: T -> softmax: T", T=FLOATS)
class Softmax:
    """exp(logits) / sum(exp(logits)) along the last axis."""

    rows = ("logits",)

    def shape(logits):
        return _at_least_a_vector(logits)

    @in_float32
    def kernel(logits):
        _, result, total = shifted_exp(logits)
        result /= total
        return result

    def compose(b, logits):
        _, exponential, total = composed_shifted_exp(b, b.wide(logits))
        return b.cast(exponential * (1 / total), logits.dtype)

    def gradient(op, dy):
        softmax = op.outputs[0]
        return (dy - reduce_sum(dy * softmax, -1, keepdims=True)) * softmax


@op("LogSoftmax", "logits: T -> logsoftmax: T", T=FLOATS)
class LogSoftmax:
    """logits - log(sum(exp(logits))) along the last axis."""

    rows = ("logits",)

    def shape(logits):
        return _at_least_a_vector(logits)

    @in_float32
    def kernel(logits):
        shifted, _, total = shifted_exp(logits)
        shifted -= np.log(total)
        return shifted

    def compose(b, logits):
        shifted, _, total = composed_shifted_exp(b, b.wide(logits))
        return b.cast(shifted - b.log(total), logits.dtype)

    def gradient(op, dy):
        softmax = exp(op.outputs[0])
        return dy - reduce_sum(dy, -1, keepdims=True) * softmax


def softmax(logits, axis=None, name=None, dim=None):
    """``tf.nn.softmax``: the softmax along ``axis``, by default the last one."""
    axis = older_argument("axis", axis, "dim", dim)
    return _along(logits, Softmax, -1 if axis is None else axis, name)


def log_softmax(logits, axis=None, name=None, dim=None):
    """``tf.nn.log_softmax``: the logarithm of the softmax along ``axis``, by default the last one."""
    axis = older_argument("axis", axis, "dim", dim)
    return _along(logits, LogSoftmax, -1 if axis is None else axis, name)


def _along(logits, definition, axis, name):
    """Applies an op of the last axis to another axis."""
    logits = convert_to_tensor(logits)
    rank = logits.shape.ndims
    if isinstance(axis, Tensor):
        axis = constant_value(axis)
    if axis == -1 or (rank is not None and axis == rank - 1):
        return definition(logits, name=name)
    if axis is None or rank is None:
        raise ValueError(f"softmax along another axis than the last needs a known axis and rank, not those of {logits}")
    if not -rank <= axis < rank:
        # Of all places, here TensorFlow raises this class while a graph is built.
        message = f"Dimension ({axis}) must be in the range [{-rank}, {rank}) where {rank} is the number of dimensions."
        raise InvalidArgumentError(None, None, message)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    with default_graph().counting_as(31 if axis >= 0 else 35):  # TensorFlow computes the order of the axes in the graph
        result = transpose(definition(transpose(logits, order)), order, name=name)
    result.set_shape(logits.shape)
    return result


def flatten_outer(tensor):
    """The tensor as a matrix whose rows run along its last axis."""
    rank = shape_ops.rank(tensor)
    width = slice_(shape_ops.shape(tensor), [subtract(rank, 1)], [1])
    result = shape_ops.reshape(tensor, concat([[-1], width], 0))
    extents = tensor.shape.extents
    if extents is not None:
        rows = None if None in extents[:-1] else int(np.prod(extents[:-1], dtype=np.int64))
        result.set_shape([rows, extents[-1]])
    return result


def move_to_end(tensor, axis):
    """The tensor with ``axis`` moved behind all others."""
    order = list(range(tensor.shape.ndims))
    order.append(order.pop(axis))
    return transpose(tensor, order)
