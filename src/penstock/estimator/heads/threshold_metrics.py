"""Metrics of probabilities at thresholds: accuracy, precision and recall of predicting a class from a probability on."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.layers.metrics.means import accuracy
from penstock.layers.metrics.thresholds import precision_at_thresholds, recall_at_thresholds
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import squeeze
from penstock.ops.math.compare import greater_equal


def checked_thresholds(thresholds: Any) -> tuple[float, ...]:
    """Thresholds between 0 and 1."""
    thresholds = tuple(thresholds or ())
    for threshold in thresholds:
        if not 0.0 < threshold < 1.0:
            raise ValueError(f"thresholds not in (0, 1): {thresholds}.")
    return thresholds


def at_thresholds(labels: Any, probabilities: Any, weights: Any, thresholds: tuple[float, ...]) -> dict[str, Any]:
    """{name: (value, update)} of three metrics for each threshold."""
    metrics: dict[str, Any] = {}
    for threshold in thresholds:
        key = f"accuracy/positive_threshold_{threshold:g}"
        metrics[key] = accuracy(labels, cast(greater_equal(probabilities, threshold), dtypes.float32), weights, name=key)
        for kind, metric in (("precision", precision_at_thresholds), ("recall", recall_at_thresholds)):
            key = f"{kind}/positive_threshold_{threshold:g}"
            value, update = metric(labels, probabilities, (threshold,), weights, name=key)
            metrics[key] = squeeze(value), squeeze(update)
    return metrics
