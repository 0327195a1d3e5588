"""Metrics that are added to an evaluation: ``MetricSpec`` objects, or functions of predictions and labels, as they were given before."""
from __future__ import annotations

from typing import Any

from penstock.contrib.learn.metric_spec import MetricSpec
from penstock.platform import logging


def custom_metric_ops(metrics: dict[Any, Any] | None, features: Any, labels: Any, predictions: Any) -> dict[str, Any]:
    """{name: (value, update)} of ``metrics``. A name may be a pair (name, key of a prediction) if its metric is a function."""
    result = {}
    for name, metric in sorted((metrics or {}).items(), key=lambda item: str(item[0])):
        if isinstance(metric, MetricSpec):
            result[name] = metric.create_metric_ops(features, labels, predictions)
            continue
        logging.warning("Please specify metrics using MetricSpec. Using bare functions or (key, fn) tuples is deprecated and support for it will be "
                        "removed on Oct 1, 2016.")
        key, values, wanted = _arguments(name, labels, predictions)
        result[key] = metric(values, wanted)
    return result


def _arguments(name: Any, labels: Any, predictions: Any) -> tuple[str, Any, Any]:
    """(name, predictions, labels) of a metric that is a function."""
    wanted = next(iter(labels.values())) if isinstance(labels, dict) and len(labels) == 1 else labels
    if not isinstance(name, tuple):
        if isinstance(predictions, dict):
            raise ValueError(f"Metrics passed provide only name, no prediction, but predictions are dict. Metric: {name}, predictions: "
                             f"{sorted(map(str, predictions))}. Use MetricSpec with a prediction_key.")
        return name, predictions, wanted
    if len(name) != 2:
        raise ValueError(f"Invalid metric for {name}. It returned a tuple with len {len(name)}, expected 2.")
    if not isinstance(predictions, dict):
        raise ValueError(f"Metrics passed provide (name, prediction), but predictions are not dict. Metric: {name}, Predictions: {predictions}.")
    key, prediction = name
    return key, predictions[prediction], labels[prediction] if isinstance(labels, dict) and prediction in labels else wanted
