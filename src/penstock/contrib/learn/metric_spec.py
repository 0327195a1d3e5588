"""``MetricSpec``: a metric function, and which predictions, labels and weights of a model it gets."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.platform import logging
from penstock.platform.inspection import fn_args

# What metric functions call their arguments; the first name is the usual one.
_LABELS, _PREDICTIONS, _WEIGHTS = ("labels", "label", "targets", "target"), ("predictions", "prediction", "logits", "logit"), ("weights", "weight")


class MetricSpec:
    """``tf.contrib.learn.MetricSpec``: how a metric of an evaluation is computed."""

    def __init__(self, metric_fn: Callable[..., Any], prediction_key: str | None = None, label_key: str | None = None,
                 weight_key: str | None = None) -> None:
        self._name = _name_of(metric_fn)
        self._metric_fn = _with_usual_names(metric_fn, self._name, label_key is not None, weight_key is not None)
        self._prediction_key, self._label_key, self._weight_key = prediction_key, label_key, weight_key

    prediction_key = property(lambda self: self._prediction_key, doc="Which predictions the metric gets.")
    label_key = property(lambda self: self._label_key, doc="Which labels the metric gets.")
    weight_key = property(lambda self: self._weight_key, doc="Which feature has the weights.")
    metric_fn = property(lambda self: self._metric_fn, doc="A function of the keywords ``labels``, ``predictions`` and ``weights``.")

    def __str__(self) -> str:
        return (f"MetricSpec(metric_fn={self._name}, prediction_key={self.prediction_key}, label_key={self.label_key}, "
                f"weight_key={self.weight_key})")

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """(value, update) of the metric."""
        chosen = {"predictions": _tensor_of("prediction", predictions, self.prediction_key), "labels": _tensor_of("label", labels, self.label_key)}
        try:
            return self.metric_fn(**chosen, weights=inputs[self.weight_key] if self.weight_key else None)
        except Exception as error:
            logging.error("Could not create metric ops for %s, %s.", self, error)
            raise


def _tensor_of(what: str, tensors: Any, key: str | None) -> Any:
    if key:
        if not isinstance(tensors, dict):
            raise ValueError(f"MetricSpec with {what}_key specified requires {what}s dict, got {tensors}.\nYou must not provide a {what}_key if you "
                             f"only have a single Tensor as {what}s.")
        if key not in tensors:
            raise KeyError(f"Key '{key}' missing from {list(tensors)}.")
        return tensors[key]
    if not isinstance(tensors, dict):
        return tensors
    if len(tensors) != 1:
        raise ValueError(f"MetricSpec without specified {what}_key requires {what}s tensor or single element dict, got {tensors}")
    return next(iter(tensors.values()))


def _name_of(function: Any) -> str:
    return getattr(function, "__name__", None) or (_name_of(function.func) if isinstance(function, functools.partial) else str(function))


def _with_usual_names(metric_fn: Callable[..., Any], name: str, needs_labels: bool, needs_weights: bool) -> Callable[..., Any]:
    """The metric as a function of keywords, whatever it calls its arguments. Predictions that have no known name are its first free argument."""
    names = fn_args(metric_fn)
    labels_name = _argument_name(name, names, _LABELS, needs_labels)
    predictions_name = _argument_name(name, names, _PREDICTIONS, False)
    weights_name = _argument_name(name, names, _WEIGHTS, needs_weights)

    def metric(_sentinel: Any = None, labels: Any = None, predictions: Any = None, weights: Any = None) -> Any:
        if _sentinel is not None:
            raise ValueError("`metric_fn` requires named args: `labels`, `predictions`, and optionally `weights`.")
        given: dict[str, Any] = {} if weights is None else {str(weights_name): weights}
        if predictions_name:
            given[predictions_name] = predictions
        if labels_name and not predictions_name and labels_name == names[0]:
            return metric_fn(labels, predictions, **given)
        if labels_name:
            given[labels_name] = labels
        return metric_fn(**given) if predictions_name else metric_fn(predictions, **given)
    return metric


def _argument_name(function: str, names: tuple[str, ...], candidates: tuple[str, ...], is_required: bool) -> str | None:
    """The argument of a metric function that has one of the names in ``candidates``."""
    present = [name for name in candidates if name in names]
    if len(present) > 1:
        raise ValueError(f"Ambiguous arguments {present}, must provide only one of {candidates}.")
    if not present:
        if is_required:
            raise ValueError(f"{candidates} missing from {function}({names}).")
        return None
    if present[0] != candidates[0]:
        logging.warning("Canonical arg %s missing from %s(%s), using %s.", candidates[0], function, names, present[0])
    return present[0]
