"""Cross entropies between labels and logits."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes
from penstock.graph.attrs import types
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.opdef import op
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.graph.shape import TensorShape, broadcast
from penstock.graph.static import constant_value
from penstock.ops.array import shape_ops
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import Fill, ZerosLike, zeros_like
from penstock.ops.array.passing import stop_gradient
from penstock.ops.array.select import where
from penstock.ops.array.slicing import slice_
from penstock.ops.common import FLOATS, shape_text
from penstock.ops.flow.checks import assert_equal
from penstock.ops.math.elementwise import abs as absolute
from penstock.ops.math.elementwise import add, subtract
from penstock.ops.math.powers import exp, log1p
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.activations import relu
from penstock.ops.nn.softmax import LogSoftmax, Softmax, composed_shifted_exp, flatten_outer, move_to_end, shifted_exp
from penstock.ops.precision import in_float32
from penstock.platform.deprecation import older_argument, renamed_args, warn_of_order

_HALF = (dtypes.float16, dtypes.bfloat16)


@op("SoftmaxCrossEntropyWithLogits", "features: T, labels: T -> loss: T, backprop: T", T=FLOATS)
class SoftmaxCrossEntropyWithLogits:
    """Per row, the cross entropy of the softmax of the features with the labels, and its gradient for the features."""

    rows = ("features", "labels")

    def shape(features, labels):
        rows = broadcast(features.shape.with_rank(2), labels.shape.with_rank(2))
        return [rows.extents[:1], rows]

    @in_float32
    def kernel(features, labels):
        pairs = list(zip(features.shape, labels.shape))
        if features.ndim != 2 or labels.ndim != 2 or any(a != b and 1 not in (a, b) for a, b in pairs):
            raise invalid_argument(f"logits and labels must be broadcastable: logits_size={list(features.shape)} "
                                   f"labels_size={list(labels.shape)}")
        features, labels = np.broadcast_arrays(features, labels)
        shifted, softmax, total = shifted_exp(features)
        loss = np.sum(labels * (np.log(total) - shifted), axis=-1)
        softmax /= total
        softmax -= labels
        return loss, softmax

    def compose(b, features, labels):
        kind, rows = features.dtype, max(features.shape[0], labels.shape[0])
        features, labels = b.wide(features), b.wide(labels)
        if features.shape != labels.shape:
            features, labels = features + b.zeros(labels.shape, labels.dtype), labels + b.zeros(features.shape, features.dtype)
        shifted, exponential, total = composed_shifted_exp(b, features)
        loss = b.sum(labels * (b.log(total) - shifted), [-1])
        return b.cast(b.reshape(loss, [rows]), kind), b.cast(exponential * (1 / total) - labels, kind)

    def gradient(op, d_loss, d_backprop):
        d_logits = _feature_gradient(op, d_loss, d_backprop)
        d_labels = _columns(d_loss) * -LogSoftmax(op.inputs[0])
        return [d_logits, d_labels if _is_zero(d_backprop) else d_labels - d_backprop]


@op("SparseSoftmaxCrossEntropyWithLogits", "features: T, labels: Tlabels -> loss: T, backprop: T", T=FLOATS,
    Tlabels=types(dtypes.int32, dtypes.int64, default=dtypes.int64))
class SparseSoftmaxCrossEntropyWithLogits:
    """The cross entropy with labels that are given as class numbers, and its gradient for the features."""

    gradient_nodes = 4
    rows = ("features", "labels")

    def shape(features, labels):
        matrix, vector = features.shape.with_rank(2), labels.shape.with_rank(1)
        rows = vector.merge_with(matrix[:1])
        return [rows, rows.concatenate(matrix[1:])]

    @in_float32
    def kernel(features, labels):
        _check_labels(features, labels)
        shifted, softmax, total = shifted_exp(features)
        rows = np.arange(len(labels))
        loss = np.log(total[:, 0]) - shifted[rows, labels]
        softmax /= total
        softmax[rows, labels] -= 1
        return loss, softmax

    def compose(b, features, labels):
        kind, (rows, classes) = features.dtype, features.shape
        b.refuse(b.logical_or(b.less(labels, 0), b.greater_equal(labels, classes)))
        shifted, exponential, total = composed_shifted_exp(b, b.wide(features))
        chosen = b.equal(b.constant(np.arange(classes), labels.dtype), b.reshape(labels, [rows, 1]))
        loss = b.log(total) - b.sum(b.select(chosen, shifted, 0), [-1])
        softmax = exponential * (1 / total)
        return b.cast(b.reshape(loss, [rows]), kind), b.cast(b.select(chosen, softmax - 1, softmax), kind)

    def gradient(op, d_loss, d_backprop):
        return [_feature_gradient(op, d_loss, d_backprop), None]


def _check_labels(features, labels):
    if labels.ndim != 1:
        raise invalid_argument(f"labels must be 1-D, but got shape {shape_text(labels)}")
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise invalid_argument("logits and labels must have the same first dimension, got logits shape "
                               f"{list(features.shape)} and labels shape {list(labels.shape)}")
    classes = features.shape[1]
    outside = (labels < 0) | (labels >= classes)
    if outside.any():
        shown = " ".join(map(str, labels[:64].tolist()))
        raise invalid_argument(f"Received a label value of {labels[outside][0]} which is outside the valid range of "
                               f"[0, {classes}).  Label values: {shown}")


def _feature_gradient(op, d_loss, d_backprop):
    """The gradient for the logits: of the loss, and (for second derivatives) of the output ``backprop`` itself."""
    result = _columns(d_loss) * op.outputs[1]
    if _is_zero(d_backprop):
        return result
    softmax = Softmax(op.inputs[0])
    return result + (d_backprop - reduce_sum(d_backprop * softmax, -1, keepdims=True)) * softmax


def _is_zero(tensor):
    """True for the zeros that stand in for the gradient of an unused output."""
    definition = tensor.op.definition
    if definition is ZerosLike:
        return True
    value = constant_value(tensor.op.inputs[1] if definition is Fill else tensor)
    return value is not None and not value.any()


def _columns(vector):
    return shape_ops.expand_dims(vector, -1)


def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name=None, dim=None):
    """``tf.nn.softmax_cross_entropy_with_logits_v2``: the gradient flows into labels too."""
    axis = older_argument("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        half = logits.dtype.base_dtype if logits.dtype.base_dtype in _HALF else None
        if half:
            logits = cast(logits, dtypes.float32)
        labels = cast(labels, logits.dtype.base_dtype)
        rank, extents = shape_ops.rank(logits), logits.shape.extents
        if axis != -1:
            logits, labels = move_to_end(logits, axis), move_to_end(labels, axis)
        outer = shape_ops.shape(logits)
        cost, _ = SoftmaxCrossEntropyWithLogits(flatten_outer(logits), flatten_outer(labels), name=scope)
        cost = shape_ops.reshape(cost, slice_(outer, [0], [subtract(rank, 1)]))
        if extents is not None:
            axis %= len(extents)
            cost.set_shape([*extents[:axis], *extents[axis + 1:]])
        return cast(cost, half) if half else cost


def _labels_and_logits(function_name, sentinel, labels, logits):
    """What was given by name; ``(logits, labels)``, the order of before TensorFlow 1.0, works with a warning."""
    if sentinel is not None:
        if labels is None or logits is not None:
            raise ValueError(f"Only call `{function_name}` with named arguments (labels=..., logits=..., ...)")
        warn_of_order(f"tf.nn.{function_name}", f"tf.nn.{function_name}(labels=..., logits=...)")
        return labels, sentinel
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")
    return labels, logits


def softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None):
    """``tf.nn.softmax_cross_entropy_with_logits``: the cross entropy with labels that get no gradient."""
    labels, logits = _labels_and_logits("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    axis = dim if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = stop_gradient(convert_to_tensor(labels, name="labels"), name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=axis, name=scope)


def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """``tf.nn.sparse_softmax_cross_entropy_with_logits``: the cross entropy with class numbers as labels.

    Logits have one axis more than labels: the classes.
    """
    labels, logits = _labels_and_logits("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        half = logits.dtype.base_dtype if logits.dtype.base_dtype in _HALF else None
        if half:
            logits = cast(logits, dtypes.float32)
        flat_already = logits.shape.ndims == 2
        outer = None if flat_already and default_graph().imperative else shape_ops.shape(labels)  # a graph has it in any case, as TensorFlow's
        _check_sparse_ranks(labels.shape, logits.shape)
        if flat_already:
            cost, _ = SparseSoftmaxCrossEntropyWithLogits(logits, labels, name=name)
        else:
            flat, _ = SparseSoftmaxCrossEntropyWithLogits(*_flat_pair(labels, logits), name=name)
            cost = shape_ops.reshape(flat, outer)
            cost.set_shape(labels.shape)
        return cast(cost, half) if half else cost


def _check_sparse_ranks(labels: TensorShape, logits: TensorShape) -> None:
    if logits.ndims == 0:
        raise ValueError(f"Logits cannot be scalars - received shape {logits}.")
    if logits.ndims is not None and labels.ndims is not None and labels.ndims != logits.ndims - 1:
        raise ValueError(f"Rank mismatch: Rank of labels (received {labels.ndims}) should equal rank of logits minus 1 "
                         f"(received {logits.ndims}).")
    if labels.extents is not None and logits.extents is not None and not labels.is_compatible_with(logits[:-1]):
        raise ValueError(f"Shape mismatch: The shape of labels (received {labels}) should equal the shape of logits "
                         f"except for the last dimension (received {logits}).")


def _flat_pair(labels, logits):
    """Logits as a matrix and labels as a vector; where the shapes may not go together, that is checked when it runs."""
    checks = []
    if not (labels.shape.is_fully_defined() and logits.shape[:-1].is_fully_defined()):
        checks = [assert_equal(shape_ops.shape(labels), shape_ops.shape(logits)[:-1])]
    with control_dependencies(checks):
        classes = shape_ops.shape(logits)[shape_ops.rank(logits) - 1]
        rows = shape_ops.reshape(logits, [-1, classes])
        if logits.shape.extents is not None:
            rows.set_shape([None, logits.shape.extents[-1]])
        return rows, shape_ops.reshape(labels, [-1])


@renamed_args(targets="labels")
def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """``tf.nn.sigmoid_cross_entropy_with_logits``: max(x, 0) - x * z + log(1 + exp(-|x|)) for logits x and labels z."""
    labels, logits = _labels_and_logits("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = convert_to_tensor(logits, name="logits"), convert_to_tensor(labels, name="labels")
        if not labels.shape.is_compatible_with(logits.shape):
            raise ValueError(f"logits and labels must have the same shape ({logits.shape} vs {labels.shape})")
        zeros = zeros_like(logits, dtype=logits.dtype)
        positive = logits >= zeros
        # Select, not Maximum and Abs: at 0 their derivatives are not the one that a smooth function has there.
        relu_logits = where(positive, logits, zeros)
        negative_size = where(positive, -logits, logits)
        return add(relu_logits - logits * labels, log1p(exp(negative_size)), name=scope)


def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None, targets=None):
    """``tf.nn.weighted_cross_entropy_with_logits``: positive labels of a sigmoid count ``pos_weight`` times."""
    labels = shape_ops.one_name("labels", labels, "targets", targets)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = convert_to_tensor(logits, name="logits"), convert_to_tensor(labels, name="labels")
        if not labels.shape.is_compatible_with(logits.shape):
            raise ValueError(f"logits and targets must have the same shape ({logits.shape} vs {labels.shape})")
        weight = 1 + (pos_weight - 1) * labels
        return add((1 - labels) * logits, weight * (log1p(exp(-absolute(logits))) + relu(-logits)), name=scope)
