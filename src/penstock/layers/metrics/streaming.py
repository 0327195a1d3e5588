"""What all metrics are made of: variables that outlive a step, weights that fit, collections, and the mean of a stream."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import add_to_collections, control_dependencies
from penstock.layers.weighting import broadcast_weights
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros
from penstock.ops.array.shape_ops import expand_dims, rank, size, squeeze
from penstock.ops.flow.control_flow import cond
from penstock.ops.math.compare import equal
from penstock.ops.math.elementwise import div_no_nan, maximum, multiply
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.confusion_matrix import remove_squeezable_dimensions
from penstock.variables import creators
from penstock.variables.assign import assign_add
from penstock.variables.modes import VariableAggregation, VariableSynchronization
from penstock.variables.scope import variable_scope

Metric = tuple[Any, Any]  # the value, and the op that adds a batch and returns the new value


def metric_variable(shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None) -> Any:
    """A variable of zeros that is local and belongs to a metric."""
    if default_graph().imperative:
        raise RuntimeError("tf.metrics is not supported when eager execution is enabled: use tf.contrib.eager.metrics or tf.keras.metrics.")
    return creators.create(initial_value=lambda: zeros(shape, dtype), trainable=False, validate_shape=validate_shape, name=name,
                           collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
                           synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.SUM)


def collected(value: Any, update: Any, metrics_collections: Any, updates_collections: Any) -> Metric:
    """The pair, in the collections that were asked for."""
    if metrics_collections:
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update


def aligned(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Predictions, labels and weights whose ranks fit: a last axis of extent 1 is dropped, or added to the weights."""
    predictions = to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    return predictions, labels, _aligned_weights(to_tensor(weights), predictions)


def _aligned_weights(weights: Tensor, predictions: Tensor) -> Tensor:
    own, wanted = weights.shape.ndims, predictions.shape.ndims
    if own == 0:
        return weights
    if own is not None and wanted is not None:
        return squeeze(weights, [-1]) if own - wanted == 1 else expand_dims(weights, [-1]) if wanted - own == 1 else weights
    own_rank = rank(weights)
    difference = own_rank - rank(predictions)
    fixed = own is not None and not weights.shape[-1].is_compatible_with(1)

    def expanded() -> Tensor:
        return cond(equal(difference, -1), lambda: expand_dims(weights, [-1]), lambda: weights)

    def adjusted() -> Tensor:
        return cond(equal(difference, 1), lambda: weights if fixed else squeeze(weights, [-1]), expanded)

    return cond(equal(own_rank, 0), lambda: weights, adjusted)


def mean(values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.mean``: the weighted mean of all values so far."""
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, dtypes.float32)
        total, count = metric_variable([], dtypes.float32, name="total"), metric_variable([], dtypes.float32, name="count")
        if weights is None:
            number = cast(size(values), dtypes.float32)
        else:
            values, _, weights = aligned(values, None, weights)
            weights = broadcast_weights(cast(weights, dtypes.float32), values)
            values, number = multiply(values, weights), reduce_sum(weights)
        update_total = assign_add(total, reduce_sum(values))
        with control_dependencies([values]):
            update_count = assign_add(count, number)
        value = div_no_nan(total, maximum(count, 0), name="value")
        update = div_no_nan(update_total, maximum(update_count, 0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)
