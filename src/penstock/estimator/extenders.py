"""Estimators and optimizers that extend others: more metrics, features among the predictions, clipped gradients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.estimator.estimator import Estimator
from penstock.estimator.export_outputs import PredictOutput
from penstock.estimator.input_results import call_with
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.ops.math.clip import clip_by_global_norm
from penstock.ops.sparse.sparse_functions import sparse_tensor_to_dense
from penstock.platform.inspection import fn_args
from penstock.train.optimizer import Optimizer
from penstock.train.optimizer_wrapper import OptimizerWrapper

_METRIC_FN_ARGUMENTS = {"features", "labels", "predictions", "config"}


def add_metrics(estimator: Estimator, metric_fn: Callable[..., dict[str, Any]]) -> Estimator:
    """``tf.estimator.add_metrics``: an estimator whose evaluations also have the metrics that ``metric_fn`` returns."""
    unknown = sorted(set(fn_args(metric_fn)) - _METRIC_FN_ARGUMENTS)
    if unknown:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {unknown}")

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        metrics = call_with(metric_fn, features=features, labels=labels, predictions=spec.predictions, config=config)
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **metrics})
    return Estimator(model_fn, estimator.model_dir, estimator.config, warm_start_from=estimator.warm_start_settings)


def forward_features(estimator: Estimator, keys: Any = None, sparse_default_values: dict[str, Any] | None = None) -> Estimator:
    """``tf.contrib.estimator.forward_features``: an estimator whose predictions also have some features, or all."""
    keys = [keys] if isinstance(keys, str) else keys
    if keys is not None and not isinstance(keys, (list, tuple)):
        raise TypeError(f"keys should be either a string or a list of strings. Given: {type(keys)}")
    for key in keys or ():
        if not isinstance(key, str):
            raise TypeError(f"All items in the given keys list should be a string. There exist an item with type: {type(key)}")

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        forwarded = _forwarded_features(features, list(features) if keys is None else keys, spec.predictions, sparse_default_values or {})
        outputs = spec.export_outputs or {}
        for name in ("predict", "serving_default"):
            if isinstance(outputs.get(name), PredictOutput):
                outputs = {**outputs, name: PredictOutput({**outputs[name].outputs, **forwarded})}
        return spec._replace(predictions={**spec.predictions, **forwarded}, export_outputs=outputs or spec.export_outputs)
    return Estimator(model_fn, estimator.model_dir, estimator.config)


def _forwarded_features(features: dict[str, Any], keys: Any, predictions: Any, defaults: dict[str, Any]) -> dict[str, Any]:
    """{key: feature} as tensors."""
    if not isinstance(predictions, dict):
        raise ValueError(f"Predictions should be a dict to be able to forward features. Given: {type(predictions)}")
    forwarded = {}
    for key in keys:
        if key not in features:
            raise ValueError(f'keys should be exist in features. Key "{key}" is not in features dict. features dict has following keys: '
                             f"{sorted(features)}. Please check arguments of forward_features.")
        if key in predictions:
            raise ValueError(f"Cannot forward feature key ({key}). Since it does exist in predictions. Existing prediction keys: "
                             f"{sorted(predictions)}. Please check arguments of forward_features.")
        sparse = isinstance(features[key], SparseTensor)
        if key in defaults and not sparse:
            raise ValueError(f"Feature ({key}) is expected to be a `SparseTensor`.")
        if sparse and key not in defaults:
            raise ValueError(f"Feature ({key}) should be a Tensor. Please use `keys` argument of forward_features to filter unwanted features, or "
                             f"add key to argument `sparse_default_values`. Type of features[{key}] is {type(features[key])}. "
                             f"(Forwarded feature {key} should be a Tensor.)")  # the wording of TensorFlow 1.4
        forwarded[key] = sparse_tensor_to_dense(features[key], default_value=defaults[key]) if sparse else to_tensor(features[key])
    return forwarded


class _ClippingOptimizer(OptimizerWrapper):
    """Scales all gradients together so that their norm is at most ``clip_norm``."""

    def __init__(self, optimizer: Optimizer, clip_norm: Any) -> None:
        super().__init__(optimizer, False, "ClipByNorm" + optimizer.get_name())
        self._clip_norm = clip_norm

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Clips, then applies."""
        gradients, variables = zip(*grads_and_vars)
        return self._opt.apply_gradients(list(zip(clip_by_global_norm(gradients, self._clip_norm)[0], variables)), global_step, name)


def clip_gradients_by_norm(optimizer: Optimizer, clip_norm: Any) -> Optimizer:
    """``tf.contrib.estimator.clip_gradients_by_norm``: an optimizer that clips gradients by their global norm."""
    return _ClippingOptimizer(optimizer, clip_norm)
