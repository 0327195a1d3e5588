"""Softmax and its logarithm, along the last axis; the public functions bring another axis there and back."""
from __future__ import annotations

import numpy as np

from penstock.graph import dtypes
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import op
from penstock.graph.static import constant_value
from penstock.ops import array, elementwise, reduce, shape_ops
from penstock.ops.common import FLOATS
from penstock.ops.constant import identity
from penstock.ops.precision import in_float32


def shifted_exp(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(logits - max, its exponential, the sum of that), along the last axis: the parts of every softmax, none of which overflows."""
    shifted = logits - np.max(logits, axis=-1, keepdims=True, initial=-np.inf)
    exponential = np.exp(shifted)
    return shifted, exponential, np.sum(exponential, axis=-1, keepdims=True)


def _at_least_a_vector(logits):
    return logits.shape.with_rank_at_least(1)


@op("Softmax", "logits: T -> softmax: T", T=FLOATS)
class Softmax:
    """exp(logits) / sum(exp(logits)) along the last axis."""

    def shape(logits):
        return _at_least_a_vector(logits)

    @in_float32
    def kernel(logits):
        _, result, total = shifted_exp(logits)
        result /= total
        return result

    def gradient(op, dy):
        softmax = op.outputs[0]
        return (dy - reduce.reduce_sum(dy * softmax, -1, keepdims=True)) * softmax


@op("LogSoftmax", "logits: T -> logsoftmax: T", T=FLOATS)
class LogSoftmax:
    """logits - log(sum(exp(logits))) along the last axis."""

    def shape(logits):
        return _at_least_a_vector(logits)

    @in_float32
    def kernel(logits):
        shifted, _, total = shifted_exp(logits)
        shifted -= np.log(total)
        return shifted

    def gradient(op, dy):
        softmax = elementwise.exp(op.outputs[0])
        return dy - reduce.reduce_sum(dy, -1, keepdims=True) * softmax


def softmax(logits, axis=None, name=None, dim=None):
    """``tf.nn.softmax``: the softmax along ``axis``, by default the last one."""
    axis = shape_ops.one_name("axis", axis, "dim", dim)
    return _along(logits, Softmax, -1 if axis is None else axis, name)


def log_softmax(logits, axis=None, name=None, dim=None):
    """``tf.nn.log_softmax``: the logarithm of the softmax along ``axis``, by default the last one."""
    axis = shape_ops.one_name("axis", axis, "dim", dim)
    return _along(logits, LogSoftmax, -1 if axis is None else axis, name)


def _along(logits, definition, axis, name):
    """Applies an op of the last axis to another axis."""
    logits = convert_to_tensor(logits)
    rank = logits.shape.ndims
    if axis == -1 or (rank is not None and axis == rank - 1):
        return definition(logits, name=name)
    known = axis if isinstance(axis, int) else constant_value(axis)
    if known is not None and rank is not None and not -rank <= known < rank:
        raise _bad_axis(known, rank)
    position = axis
    if not isinstance(axis, int) or axis < 0:
        position = elementwise.floormod(axis + shape_ops.rank(logits), shape_ops.rank(logits))
    last = shape_ops.rank(logits) - 1
    swapped = array.transpose(logits, _exchange(position, last))
    result = array.transpose(definition(swapped), _exchange(position, last), name=name)
    result.set_shape(logits.shape)
    return result


def _bad_axis(axis, rank):
    from penstock.errors import InvalidArgumentError  # the one error of a step that TensorFlow raises while building
    return InvalidArgumentError(None, None, f"Dimension (dim) {axis} must be in the range [{-rank}, {rank}) where {rank} is the number of "
                                            "dimensions in the input.")


def _exchange(axis, last):
    """The permutation that exchanges an axis with the last one."""
    return array.concat([array.range(axis), [last], array.range(axis + 1, last), [axis]], 0)


def move_to_end(tensor, axis, rank):
    """The tensor with ``axis`` moved behind all others."""
    return array.transpose(tensor, array.concat([array.range(axis), array.range(axis + 1, rank), [axis]], 0))


def flatten_outer(tensor):
    """The tensor as a matrix whose columns are its last axis."""
    last = shape_ops.rank(tensor) - 1
    width = array.slice(shape_ops.shape(tensor), [last], [1])
    result = shape_ops.reshape(tensor, array.concat([[-1], width], 0))
    extents = tensor.shape.extents
    if extents is not None and None not in extents[:-1]:
        result.set_shape([int(np.prod(extents[:-1], dtype=np.int64)), extents[-1]])
    return result
