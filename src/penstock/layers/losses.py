"""``tf.losses``: losses per example, weighted, reduced to one number and kept in a collection."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import add_to_collection, control_dependencies, get_collection, name_scope
from penstock.layers.weighting import assert_broadcastable, broadcast_weights
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros_like
from penstock.ops.array.passing import stop_gradient
from penstock.ops.array.select import where
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import rank, shape, size, squeeze
from penstock.ops.constant import constant
from penstock.ops.flow.control_flow import cond
from penstock.ops.math.add_n import add_n
from penstock.ops.math.compare import equal
from penstock.ops.math.elementwise import abs as absolute
from penstock.ops.math.elementwise import add, div_no_nan, maximum, minimum, multiply, square, squared_difference, subtract
from penstock.ops.math.powers import log
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.activations import relu
from penstock.ops.nn.confusion_matrix import remove_squeezable_dimensions
from penstock.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)


class Reduction:
    """``tf.losses.Reduction``: how losses per example become one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All of them."""
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key: Any) -> None:
        """ValueError unless ``key`` is one of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


_DEFAULT = Reduction.SUM_BY_NONZERO_WEIGHTS
_LAST_REDUCTION = ("last loss reduction",)  # a collection that belongs to the graph but is not exported

# --- reduction -------------------------------------------------------------------------------------------------------


def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES,
                          reduction: str = _DEFAULT) -> Tensor:
    """``tf.losses.compute_weighted_loss``: the losses times their weights, reduced, and added to a collection."""
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]), control_dependencies([assert_broadcastable(weights, losses)]):
        losses = to_tensor(losses)
        dtype = losses.dtype
        losses, weights = cast(losses, dtypes.float32), cast(weights, dtypes.float32)
        loss = multiply(losses, weights)
        if reduction != Reduction.NONE:
            loss = reduce_sum(loss)
        if reduction == Reduction.MEAN:
            loss = _safe_mean(loss, reduce_sum(ones_like(losses) * weights))
        elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
            loss = _safe_mean(loss, _num_present(losses, weights))
        elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
            loss = _safe_mean(loss, _num_elements(losses))
        loss = cast(loss, dtype)
        default_graph().get_collection_ref(_LAST_REDUCTION)[:] = [reduction]
        add_loss(loss, loss_collection)
        return loss


def last_reduction() -> str | None:
    """How the last loss of the graph was reduced; None before the first."""
    kept = default_graph().get_collection_ref(_LAST_REDUCTION)
    return kept[0] if kept else None


def _safe_mean(losses: Tensor, count: Tensor) -> Tensor:
    """The sum of the losses over a count; 0 if the count is 0."""
    return div_no_nan(reduce_sum(losses), count, name="value")


def _num_present(losses: Tensor, weights: Any, per_batch: bool = False) -> Tensor:
    """How many losses have weights that are not 0: in all, or per example of the batch."""
    with name_scope(None, "num_present", [losses, weights]) as scope:
        weights = cast(weights, dtypes.float32)
        present = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
        present = broadcast_weights(present, losses)
        if per_batch:
            return reduce_sum(present, axis=range_op(1, rank(present)), keepdims=True, name=scope)
        return reduce_sum(present, name=scope)


def _num_elements(losses: Tensor) -> Tensor:
    with name_scope(None, "num_elements", [losses]) as scope:
        return cast(size(losses, name=scope), losses.dtype)


# --- losses ----------------------------------------------------------------------------------------------------------


def _check_given(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def _float_pair(predictions: Any, labels: Any) -> tuple[Tensor, Tensor]:
    """Predictions and labels as floats of compatible shapes."""
    predictions, labels = cast(predictions, dtypes.float32), cast(labels, dtypes.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


def absolute_difference(labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES,
                        reduction: str = _DEFAULT) -> Tensor:
    """``tf.losses.absolute_difference``: |predictions - labels|."""
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        predictions, labels = _float_pair(predictions, labels)
        return compute_weighted_loss(absolute(subtract(predictions, labels)), weights, scope, loss_collection, reduction)


def cosine_distance(labels: Any, predictions: Any, axis: int | None = None, weights: Any = 1.0, scope: str | None = None,
                    loss_collection: Any = GraphKeys.LOSSES, reduction: str = _DEFAULT, dim: int | None = None) -> Tensor:
    """``tf.losses.cosine_distance``: 1 minus the product of unit vectors along ``axis``."""
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'")
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _float_pair(predictions, labels)
        losses = 1 - reduce_sum(multiply(predictions, labels), axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES,
               reduction: str = _DEFAULT) -> Tensor:
    """``tf.losses.hinge_loss``: what is missing from a margin of 1; labels are 0 and 1."""
    _check_given(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", [logits, labels, weights]) as scope:
        logits, labels = _float_pair(logits, labels)
        ones = ones_like(labels)
        signs = subtract(2 * labels, ones)
        return compute_weighted_loss(relu(subtract(ones, multiply(signs, logits))), weights, scope, loss_collection, reduction)


def huber_loss(labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0, scope: str | None = None,
               loss_collection: Any = GraphKeys.LOSSES, reduction: str = _DEFAULT) -> Tensor:
    """``tf.losses.huber_loss``: half the squared error up to ``delta``, linear beyond."""
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "huber_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _float_pair(predictions, labels)
        error = absolute(subtract(predictions, labels))
        quadratic = minimum(error, delta)
        linear = subtract(error, quadratic)
        losses = add(multiply(to_tensor(0.5, dtype=quadratic.dtype), multiply(quadratic, quadratic)), multiply(delta, linear))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7, scope: str | None = None,
             loss_collection: Any = GraphKeys.LOSSES, reduction: str = _DEFAULT) -> Tensor:
    """``tf.losses.log_loss``: the cross entropy of probabilities of 1."""
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _float_pair(predictions, labels)
        losses = -multiply(labels, log(predictions + epsilon)) - multiply((1 - labels), log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
                                loss_collection: Any = GraphKeys.LOSSES) -> Tensor:
    """``tf.losses.mean_pairwise_squared_error``: differences between pairs of predictions of an example, against those of its labels."""
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]) as scope:
        weights, labels = cast(weights, dtypes.float32), cast(labels, dtypes.float32)
        with control_dependencies([assert_broadcastable(weights, labels)]):
            predictions = cast(predictions, dtypes.float32)
            predictions.shape.assert_is_compatible_with(labels.shape)
            diffs = subtract(predictions, labels)
            axes = range_op(1, rank(diffs))
            squares = reduce_sum(square(diffs), axis=axes, keepdims=True)
            present = _num_present(diffs, weights, per_batch=True)
            first = 2.0 * div_no_nan(squares, maximum(present - 1, 0), name="value")
            total = reduce_sum(diffs, axis=axes, keepdims=True)
            second = 2.0 * div_no_nan(square(total), maximum(multiply(present, present - 1), 0), name="value")
            loss = reduce_sum(multiply(first - second, weights))
            mean_loss = where(reduce_sum(present) > 0, loss, zeros_like(loss), name="value")
            add_loss(mean_loss, loss_collection)
            return mean_loss


def mean_squared_error(labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES,
                       reduction: str = _DEFAULT) -> Tensor:
    """``tf.losses.mean_squared_error``: (predictions - labels) squared."""
    _check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        predictions, labels = _float_pair(predictions, labels)
        return compute_weighted_loss(squared_difference(predictions, labels), weights, scope, loss_collection, reduction)


def sigmoid_cross_entropy(multi_class_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None,
                          loss_collection: Any = GraphKeys.LOSSES, reduction: str = _DEFAULT) -> Tensor:
    """``tf.losses.sigmoid_cross_entropy``: each class for itself; smoothing moves labels towards 1/2."""
    _check_given(multi_class_labels=multi_class_labels, logits=logits)
    with name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]) as scope:
        logits = to_tensor(logits)
        labels = cast(multi_class_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None,
                          loss_collection: Any = GraphKeys.LOSSES, reduction: str = _DEFAULT) -> Tensor:
    """``tf.losses.softmax_cross_entropy``: of one class among several; smoothing moves labels towards 1/classes."""
    _check_given(onehot_labels=onehot_labels, logits=logits)
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as scope:
        logits = to_tensor(logits)
        labels = cast(onehot_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = cast(shape(labels)[-1], logits.dtype)
            smooth_negatives = label_smoothing / classes
            labels = labels * (1.0 - label_smoothing) + smooth_negatives
        labels = stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None,
                                 loss_collection: Any = GraphKeys.LOSSES, reduction: str = _DEFAULT) -> Tensor:
    """``tf.losses.sparse_softmax_cross_entropy``: of one class among several, whose number is the label."""
    _check_given(labels=labels, logits=logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as scope:
        labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        weights = None if weights is None else _squeezed_weights(weights, labels)
        losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _squeezed_weights(weights: Any, labels: Tensor) -> Tensor:
    """The weights without a last axis of extent 1 that the labels do not have."""
    weights = to_tensor(weights)
    if labels.shape.ndims is not None and weights.shape.ndims is not None:
        return squeeze(weights, [-1]) if weights.shape.ndims - labels.shape.ndims == 1 else weights
    difference = rank(weights) - rank(labels)
    extents = weights.shape.as_list() if weights.shape.ndims is not None else None
    if extents is None or (extents and extents[-1] in (1, None)):
        weights = cond(equal(1, difference), lambda: squeeze(weights, [-1]), lambda: weights)
    return weights


# --- collections -----------------------------------------------------------------------------------------------------


def add_loss(loss: Any, loss_collection: Any = GraphKeys.LOSSES) -> None:
    """``tf.losses.add_loss``: adds a loss of one's own to the collection."""
    if loss_collection:
        add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: Any = GraphKeys.LOSSES) -> list[Any]:
    """``tf.losses.get_losses``: the losses of the collection, or those of a name scope."""
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """``tf.losses.get_regularization_losses``."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """``tf.losses.get_regularization_loss``: their sum; 0 without any."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None) -> Tensor:
    """``tf.losses.get_total_loss``: the sum of all losses."""
    losses = get_losses(scope=scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope=scope)
    return add_n(losses, name=name)
