"""Metrics of probabilities at thresholds: counts, precision, recall, the area under a curve, sensitivity and specificity."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.graph import dtypes
from penstock.graph.scopes import control_dependencies
from penstock.layers.metrics.streaming import Metric, aligned, collected, metric_variable
from penstock.layers.weighting import broadcast_weights
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.array.pack import stack
from penstock.ops.array.permute import tile, transpose
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.ops.constant import constant, identity
from penstock.ops.flow.checks import assert_greater_equal, assert_less_equal
from penstock.ops.math.argmax import argmax, argmin
from penstock.ops.math.compare import equal, greater, logical_and, logical_not
from penstock.ops.math.cumulative import cumsum
from penstock.ops.math.division import div
from penstock.ops.math.elementwise import abs as absolute
from penstock.ops.math.elementwise import div_no_nan, maximum, minimum, multiply
from penstock.ops.math.powers import log
from penstock.ops.math.reduce import reduce_min, reduce_sum
from penstock.platform import logging
from penstock.variables.assign import assign_add
from penstock.variables.scope import variable_scope

_NAMES = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}
MARGIN = 1e-7  # beyond 0 and 1, so that all probabilities lie between the outermost thresholds


def counts_at(labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None,
              includes: Sequence[str] = tuple(_NAMES)) -> tuple[dict[str, Any], dict[str, Any]]:
    """For each wanted kind ("tp", ...), the variable of counts at each threshold, and the op that adds a batch."""
    inside = [assert_greater_equal(predictions, cast(0.0, predictions.dtype), message="predictions must be in [0, 1]"),
              assert_less_equal(predictions, cast(1.0, predictions.dtype), message="predictions must be in [0, 1]")]
    with control_dependencies(inside):
        predictions, labels, weights = aligned(cast(predictions, dtypes.float32), cast(labels, dtypes.bool_), weights)
    return streaming_counts(labels, predictions, thresholds, weights, includes)


def streaming_counts(labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any,
                     includes: Sequence[str] = tuple(_NAMES)) -> tuple[dict[str, Any], dict[str, Any]]:
    """The counts of predictions, labels and weights that are aligned already."""
    count = len(thresholds)
    column, row = reshape(predictions, [-1, 1]), reshape(cast(labels, dtypes.bool_), [1, -1])
    number = column.shape.as_list()[0]
    number = shape(column)[0] if number is None else number
    tiled = tile(expand_dims(constant(thresholds), [1]), stack([1, number]))
    said = {True: greater(tile(transpose(column), [count, 1]), tiled)}
    if "fn" in includes or "tn" in includes:
        said[False] = logical_not(said[True])
    right = {True: tile(row, [count, 1])}
    if "fp" in includes or "tn" in includes:
        right[False] = logical_not(right[True])
    if weights is not None:
        weights = broadcast_weights(cast(weights, dtypes.float32), predictions)
        weights = tile(reshape(weights, [1, -1]), [count, 1])
        tiled.shape.assert_is_compatible_with(weights.shape)
    values, updates = {}, {}
    for kind in (each for each in _NAMES if each in includes):
        values[kind] = metric_variable([count], dtypes.float32, name=_NAMES[kind])
        answer = kind[1] == "p"  # a positive, true or false, is an answer yes
        hits = cast(logical_and(right[answer == (kind[0] == "t")], said[answer]), dtypes.float32)
        updates[kind] = assign_add(values[kind], reduce_sum(hits if weights is None else hits * weights, 1))
    return values, updates


def _count_at_thresholds(kind: str) -> Callable[..., Metric]:
    """The metric that counts a kind of answers at each threshold."""
    what = _NAMES[kind]

    def metric(labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None, metrics_collections: Any = None,
               updates_collections: Any = None, name: str | None = None) -> Metric:
        with variable_scope(name, what, [predictions, labels, weights]):
            values, updates = counts_at(labels, predictions, thresholds, weights=weights, includes=(kind,))
            return collected(identity(values[kind]), updates[kind], metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = f"{what}_at_thresholds"
    metric.__doc__ = f"``tf.metrics.{what}_at_thresholds``: for each threshold, above which answers are yes, the {what.replace('_', ' ')}."
    return metric


true_positives_at_thresholds, false_negatives_at_thresholds = _count_at_thresholds("tp"), _count_at_thresholds("fn")
true_negatives_at_thresholds, false_positives_at_thresholds = _count_at_thresholds("tn"), _count_at_thresholds("fp")


def precision_at_thresholds(labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None, metrics_collections: Any = None,
                            updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.precision_at_thresholds``."""
    return _share_at_thresholds("precision", "fp", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name)


def recall_at_thresholds(labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any = None, metrics_collections: Any = None,
                         updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.recall_at_thresholds``."""
    return _share_at_thresholds("recall", "fn", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name)


def _share_at_thresholds(what: str, misses: str, labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any,
                         metrics_collections: Any, updates_collections: Any, name: str | None) -> Metric:
    with variable_scope(name, f"{what}_at_thresholds", [predictions, labels, weights]):
        values, updates = counts_at(labels, predictions, thresholds, weights, includes=("tp", misses))

        def share(counts: dict[str, Any], name: str) -> Any:
            return div(counts["tp"], MARGIN + counts["tp"] + counts[misses], name=f"{what}_{name}")

        return collected(share(values, "value"), share(updates, "update_op"), metrics_collections, updates_collections)


# --- curves ----------------------------------------------------------------------------------------------------------


def even_thresholds(count: int) -> list[float]:
    """The inner ones of ``count`` thresholds at even distances between 0 and 1."""
    return [(index + 1) * 1.0 / (count - 1) for index in range(count - 2)]


def auc(labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200, metrics_collections: Any = None,
        updates_collections: Any = None, curve: str = "ROC", name: str | None = None, summation_method: str = "trapezoidal",
        thresholds: Sequence[float] | None = None) -> Metric:
    """``tf.metrics.auc``: the area under the curve of recall over false positives ("ROC"), or of precision over recall ("PR")."""
    with variable_scope(name, "auc", [labels, predictions, weights]):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        inner = even_thresholds(num_thresholds) if thresholds is None else sorted(thresholds)
        values, updates = counts_at(labels, predictions, [0.0 - MARGIN, *inner, 1.0 + MARGIN], weights)
        last = len(inner) + 1
        return collected(_area(values, last, curve, summation_method, "value"), _area(updates, last, curve, summation_method, "update_op"),
                         metrics_collections, updates_collections)


def _area(counts: dict[str, Any], last: int, curve: str, summation_method: str, name: str) -> Any:
    tp, fn, tn, fp = (counts[kind] for kind in ("tp", "fn", "tn", "fp"))
    if curve == "PR" and summation_method == "careful_interpolation":
        return _interpolated_area(tp, fp, fn, last)
    if curve == "PR" and summation_method == "trapezoidal":
        logging.warning('Trapezoidal rule is known to produce incorrect PR-AUCs; please switch to "careful_interpolation" instead.')
    epsilon = 1.0e-6
    recall = div(tp + epsilon, tp + fn + epsilon)
    if curve == "ROC":
        x, y = div(fp, fp + tn + epsilon), recall
    else:
        x, y = recall, div(tp + epsilon, tp + fp + epsilon)
    if summation_method not in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        raise ValueError(f"Invalid summation_method: {summation_method}")
    widths = x[:last] - x[1:]
    if summation_method in ("minoring", "majoring"):
        heights = (minimum if summation_method == "minoring" else maximum)(y[:last], y[1:])
    else:
        heights = (y[:last] + y[1:]) / 2.0
    return reduce_sum(multiply(widths, heights), name=name)


def _interpolated_area(tp: Any, fp: Any, fn: Any, last: int) -> Any:
    """The area under precision over recall if, between thresholds, true positives are linear in all positives (Davis and Goadrich 2006)."""
    gained = tp[:last] - tp[1:]
    positives = tp + fp
    slope = div_no_nan(gained, maximum(positives[:last] - positives[1:], 0), name="prec_slope")
    intercept = tp[1:] - multiply(slope, positives[1:])
    ratio = where(logical_and(positives[:last] > 0, positives[1:] > 0),
                  div_no_nan(positives[:last], maximum(positives[1:], 0), name="recall_relative_ratio"), ones_like(positives[1:]))
    increments = div_no_nan(slope * (gained + intercept * log(ratio)), maximum(tp[1:] + fn[1:], 0), name="pr_auc_increment")
    return reduce_sum(increments, name="interpolate_pr_auc")


def sensitivity_at_specificity(labels: Any, predictions: Any, specificity: float, weights: Any = None, num_thresholds: int = 200,
                               metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.sensitivity_at_specificity``: recall at the threshold whose specificity comes closest."""
    if specificity < 0 or specificity > 1:
        raise ValueError("`specificity` must be in the range [0, 1].")
    with variable_scope(name, "sensitivity_at_specificity", [predictions, labels, weights]):
        values, updates = counts_at(labels, predictions, [0.0 - MARGIN, *even_thresholds(num_thresholds), 1.0 + MARGIN], weights)

        def sensitivity(counts: dict[str, Any], name: str) -> Any:
            specificities = div(counts["tn"], counts["tn"] + counts["fp"] + MARGIN)
            place = cast(argmin(absolute(specificities - specificity), 0), dtypes.int32)
            return div(counts["tp"][place], counts["tp"][place] + counts["fn"][place] + MARGIN, name)

        return collected(sensitivity(values, "value"), sensitivity(updates, "update_op"), metrics_collections, updates_collections)


def specificity_at_sensitivity(labels: Any, predictions: Any, sensitivity: float, weights: Any = None, num_thresholds: int = 200,
                               metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.specificity_at_sensitivity``: specificity at the last threshold whose recall comes closest."""
    if sensitivity < 0 or sensitivity > 1:
        raise ValueError("`sensitivity` must be in the range [0, 1].")
    with variable_scope(name, "specificity_at_sensitivity", [predictions, labels, weights]):
        values, updates = counts_at(labels, predictions, [0.0 - MARGIN, *even_thresholds(num_thresholds), 1.0 - MARGIN], weights)

        def specificity(counts: dict[str, Any], name: str) -> Any:
            sensitivities = div(counts["tp"], counts["tp"] + counts["fn"] + MARGIN)
            closest = reduce_min(absolute(sensitivities - sensitivity))
            ranks = cumsum(cast(equal(absolute(sensitivities - sensitivity), closest), dtypes.int64))
            place = cast(argmax(ranks, 0), dtypes.int32)
            return div(counts["tn"][place], counts["tn"][place] + counts["fp"][place] + MARGIN, name)

        return collected(specificity(values, "value"), specificity(updates, "update_op"), metrics_collections, updates_collections)
