"""What training adds to one output of a model: a loss, a target, weights of samples, metrics."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.graph import version2
from penstock.graph.scopes import name_scope
from penstock.keras import losses
from penstock.keras.metrics import functions, registry
from penstock.keras.metrics.base import Metric
from penstock.keras.metrics.means import Mean, MeanMetricWrapper
from penstock.keras.reduction import Reduction, compute_weighted_loss, reduce_weighted_loss, with_rank_of
from penstock.layers import settings
from penstock.ops.array.cast import cast
from penstock.ops.constant import placeholder, placeholder_with_default
from penstock.ops.sparse.sparse_functions import sparse_placeholder
from penstock.platform import logging

_ACCURACY, _CROSSENTROPY = ("accuracy", "acc"), ("crossentropy", "ce")


class Endpoint:
    """One output of a model. ``loss`` None means that the output is not trained."""

    def __init__(self, output: Any, name: str, loss: Any, target: Any = None) -> None:
        self.output, self.name, self.loss, self.loss_weight = output, name, loss, 1.0
        self.shape = None if output.shape.ndims is None else tuple(output.shape.as_list())
        self.loss_metric: Any = None
        self.sample_weight_mode: str | None = None
        self._sample_weight: Any = None
        self.feedable = loss is not None and (target is None or getattr(getattr(target, "op", None), "type", "") == "Placeholder")
        self.target = target if loss is None or target is not None else _target(output, name)

    loss_name = property(lambda self: f"{self.name}_loss", doc="The name under which the loss is reported.")

    @property
    def sample_weight(self) -> Any:
        """The placeholder of the weights."""
        if self._sample_weight is None:
            rank = 2 if self.sample_weight_mode == "temporal" else 1
            self._sample_weight = placeholder_with_default(np.ones([1] * rank, settings.floatx()), [None] * rank, f"{self.name}_sample_weights")
        return self._sample_weight

    def take_weights(self, tensor: Any) -> None:
        """Has the weights come from a tensor instead of a placeholder."""
        self._sample_weight = None if tensor is None else cast(tensor, settings.floatx())

    def loss_tensor(self, weighted: bool) -> Any:
        """The loss of this output: weighted, masked, reduced."""
        return self.loss_of(self.target, self.output, self.sample_weight if weighted else None)

    def loss_of(self, target: Any, output: Any, weights: Any) -> Any:
        """The loss of an output and its target; where the output has a mask, samples that it hides weigh nothing."""
        mask = getattr(output, "_keras_mask", None)
        with name_scope(self.loss_name):
            if mask is not None:
                mask = cast(mask, output.dtype)
                weights = mask if weights is None else with_rank_of(cast(weights, mask.dtype), mask) * mask
            if not hasattr(self.loss, "reduction"):
                return self.loss(target, output, sample_weight=weights)
            losses_ = compute_weighted_loss(self.loss.call(target, output), weights, Reduction.NONE)
            mean = self.loss.reduction in (Reduction.AUTO, Reduction.SUM_OVER_BATCH_SIZE)
            return reduce_weighted_loss(losses_, Reduction.SUM_OVER_BATCH_SIZE if mean else self.loss.reduction)

    def report_loss(self, loss: Any) -> None:
        """Has the loss reported under its own name: the mean over batches."""
        if self.loss_metric is None:
            self.loss_metric = Mean(name=self.loss_name)
        self.loss_metric(loss)


def _target(output: Any, name: str) -> Any:
    rank = output.shape.ndims
    if hasattr(output, "dense_shape"):
        return sparse_placeholder(output.dtype.base_dtype, name=f"{name}_target")
    return placeholder(output.dtype.base_dtype, None if rank is None else [None] * rank, name=f"{name}_target")


def computes(loss: Any, function: Any) -> bool:
    """Whether a loss is this function, wrapped or not."""
    return loss is function or (isinstance(loss, losses.LossFunctionWrapper) and loss.fn is function)


# --- one per output --------------------------------------------------------------------------------------------------


def per_output(given: Any, names: Sequence[str], what: str, single: bool = False) -> list[Any]:
    """A setting of ``compile`` for each output: from a dictionary by name, a list, or one value (for a ``single`` output, or for all)."""
    if given is None:
        return [None] * len(names)
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise ValueError(f"Unknown entries in {what} dictionary: {unknown}. Only expected following keys: {list(names)}")
        return [given.get(name) for name in names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            each = "output" if what == "loss_weights" else "outputs"
            raise ValueError(f"When passing a list as {what}, it should have one entry per model {each}. The model has {len(names)} outputs, but "
                             f"you passed {what}={given}")
        return list(given)
    if single and len(names) > 1:
        raise TypeError(f"Could not interpret {what} argument: {given} - expected a list of dicts.")
    return [given] * len(names)


def loss_functions(loss: Any, names: Sequence[str]) -> list[Any]:
    """The loss of each output."""
    if isinstance(loss, Mapping):
        for name in names:
            if name not in loss:
                logging.warning("Output %s missing from loss dictionary. We assume this was done on purpose. The fit and evaluate APIs will not be "
                                "expecting any data to be passed to %s.", name, name)
    return [_loss_object(each) for each in per_output(loss, names, "loss")]


def _loss_object(loss: Any) -> Any:
    if loss is None or isinstance(loss, losses.Loss) or (callable(loss) and not hasattr(loss, "__name__") and not isinstance(loss, str)):
        return loss
    function = losses.get(loss)
    if isinstance(function, losses.Loss):
        return function
    return losses.LossFunctionWrapper(function, name=function.__name__, reduction=Reduction.SUM_OVER_BATCH_SIZE)


def metrics_per_output(given: Any, names: Sequence[str]) -> list[list[Any]]:
    """The metrics of each output: lists are for all outputs, or, if their elements are lists, for one each."""
    if not given:
        return [[] for _ in names]
    if isinstance(given, Mapping):
        listed = per_output(given, names, "metrics")
        return [[] if each is None else list(each) if isinstance(each, (list, tuple)) else [each] for each in listed]
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"Type of `metrics` argument not understood. Expected a list or dictionary, found: {given}")
    if any(isinstance(each, (list, tuple)) for each in given):
        if len(given) != len(names):
            raise ValueError(f"When passing a list of lists as `metrics`, it should have one entry per model output. The model has {len(names)} "
                             f"outputs, but you passed metrics={given}")
        return [list(each) if isinstance(each, (list, tuple)) else [each] for each in given]
    return [[each.__class__.from_config(each.get_config()) if isinstance(each, Metric) and index else each for each in given]
            for index in range(len(names))]


def metric_object(metric: Any, endpoint: Endpoint, weighted: bool) -> Metric:
    """The metric that a name, a function or an object means for an output."""
    if isinstance(metric, Metric):
        return metric
    function = _metric_function(metric, endpoint)
    if isinstance(function, Metric):
        return function
    return MeanMetricWrapper(function, name=("weighted_" if weighted and not version2.enabled() else "") + _metric_name(metric, function))


def _metric_name(metric: Any, function: Any) -> str:
    """As TensorFlow 1 reports it: "acc" for "accuracy"; with the behaviour of TensorFlow 2, a string is the name."""
    if version2.enabled() and isinstance(metric, str):
        return metric
    if metric in _ACCURACY:
        return "acc"
    if metric in _CROSSENTROPY:
        return "ce"
    return str(getattr(function, "name", None) or getattr(function, "__name__", type(function).__name__))


def _metric_function(metric: Any, endpoint: Endpoint) -> Any:
    """A function of targets and predictions; which accuracy is meant depends on the loss and on the shape of the output."""
    if metric not in (*_ACCURACY, *_CROSSENTROPY):
        return registry.get(metric)
    binary = (endpoint.shape or (None,))[-1] == 1 or computes(endpoint.loss, losses.binary_crossentropy)
    kind = "binary" if binary else "sparse_categorical" if computes(endpoint.loss, losses.sparse_categorical_crossentropy) else "categorical"
    return getattr(functions, f"{kind}_accuracy") if metric in _ACCURACY else getattr(losses, f"{kind}_crossentropy")
