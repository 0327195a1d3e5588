"""Canned linear models."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.learn.canned.kinds import Classifier, Regressor
from penstock.contrib.learn.canned.models import linear_model_fn
from penstock.contrib.learn.canned.sdca import sdca_model_fn, sdca_params
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.heads.base import Head
from penstock.contrib.learn.heads.classes import multi_class_head
from penstock.contrib.learn.heads.regression import regression_head
from penstock.contrib.learn.keys import MetricKey, ModeKeys, ProblemType
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.contrib.linear_optimizer.optimizer import SDCAOptimizer
from penstock.layers.metrics import counts, means, thresholds
from penstock.layers.metrics.streaming import mean
from penstock.platform import logging


def _model(head: Head, feature_columns: Any, optimizer: Any, gradient_clip_norm: float | None, joint_weights: bool, weight_column_name: str | None,
           model_dir: str | None, config: Any) -> tuple[Any, str | None, Any, dict[str, Any]]:
    """What an Estimator is made of: model function, folder, configuration, parameters."""
    columns = tuple(feature_columns or ())
    if not columns:
        raise ValueError("feature_columns must not be empty: a linear model needs columns.")
    if isinstance(optimizer, SDCAOptimizer):
        if joint_weights:
            raise AssertionError("_joint_weight is incompatible with the SDCAOptimizer.")
        return sdca_model_fn, model_dir, config, sdca_params(head, columns, optimizer, weight_column_name)
    return linear_model_fn, model_dir, config, {"head": head, "feature_columns": columns, "optimizer": optimizer,
                                                "gradient_clip_norm": gradient_clip_norm, "joint_weights": joint_weights}


class LinearClassifier(Classifier):
    """``tf.contrib.learn.LinearClassifier``: classes by a weighted sum of columns."""

    def __init__(self, feature_columns: Any, model_dir: str | None = None, n_classes: int = 2, weight_column_name: str | None = None,
                 optimizer: Any = None, gradient_clip_norm: float | None = None, enable_centered_bias: bool = False, _joint_weight: bool = False,
                 config: Any = None, feature_engineering_fn: Any = None, label_keys: Any = None) -> None:
        if isinstance(optimizer, SDCAOptimizer):
            if enable_centered_bias:
                raise ValueError("enable_centered_bias is not supported with SDCA")
            if n_classes != 2:
                raise AssertionError("SDCA only applies to binary classification.")
        head = multi_class_head(n_classes, weight_column_name=weight_column_name, enable_centered_bias=enable_centered_bias, label_keys=label_keys)
        super().__init__(*_model(head, feature_columns, optimizer, gradient_clip_norm, _joint_weight, weight_column_name, model_dir, config),
                         feature_engineering_fn)


class LinearRegressor(Regressor):
    """``tf.contrib.learn.LinearRegressor``: numbers by a weighted sum of columns."""

    def __init__(self, feature_columns: Any, model_dir: str | None = None, weight_column_name: str | None = None, optimizer: Any = None,
                 gradient_clip_norm: float | None = None, enable_centered_bias: bool = False, label_dimension: int = 1,
                 _joint_weights: bool = False, config: Any = None, feature_engineering_fn: Any = None) -> None:
        if isinstance(optimizer, SDCAOptimizer):
            if enable_centered_bias:
                logging.warning("centered_bias is not supported with SDCA, please disable it explicitly.")
                enable_centered_bias = False
            if label_dimension != 1:
                raise AssertionError("SDCA only applies for label_dimension=1.")
        head = regression_head(weight_column_name=weight_column_name, label_dimension=label_dimension, enable_centered_bias=enable_centered_bias)
        super().__init__(*_model(head, feature_columns, optimizer, gradient_clip_norm, _joint_weights, weight_column_name, model_dir, config),
                         feature_engineering_fn)


class LinearEstimator(Estimator):
    """``tf.contrib.learn.LinearEstimator``: a weighted sum of columns with a head of one's choice."""

    def __init__(self, feature_columns: Any, head: Head, model_dir: str | None = None, weight_column_name: str | None = None,
                 optimizer: Any = None, gradient_clip_norm: float | None = None, _joint_weights: bool = False, config: Any = None,
                 feature_engineering_fn: Any = None) -> None:
        if isinstance(optimizer, SDCAOptimizer):
            raise ValueError("LinearEstimator does not support SDCA optimizer.")
        super().__init__(*_model(head, feature_columns, optimizer, gradient_clip_norm, _joint_weights, weight_column_name, model_dir, config),
                         feature_engineering_fn)


def LogisticRegressor(model_fn: Callable[..., Any], thresholds: Any = None, model_dir: str | None = None, config: Any = None,
                      feature_engineering_fn: Any = None) -> Estimator:
    """``tf.contrib.learn.LogisticRegressor``: an estimator for a ``model_fn`` that returns (probabilities, loss, train_op)."""
    def with_metrics(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> ModelFnOps:
        predictions, loss, train_op = model_fn(features, labels, mode)
        metrics = _logistic_metrics(labels, predictions, params["thresholds"] or [0.5]) if mode == ModeKeys.EVAL else None
        return ModelFnOps(mode, predictions, loss, train_op, metrics, {"head": (ProblemType.LOGISTIC_REGRESSION, {"predictions": predictions})})
    return Estimator(with_metrics, model_dir, config, {"thresholds": thresholds}, feature_engineering_fn)


def _logistic_metrics(labels: Any, predictions: Any, cuts: Any) -> dict[str, Any]:
    labels = next(iter(labels.values())) if isinstance(labels, dict) and len(labels) == 1 else labels
    result = {MetricKey.PREDICTION_MEAN: mean(predictions), MetricKey.LABEL_MEAN: mean(labels), MetricKey.ACCURACY_BASELINE: mean(labels),
              MetricKey.AUC: thresholds.auc(labels, predictions)}
    for cut in cuts:
        positive = tf.cast(tf.greater_equal(predictions, cut), tf.float32, name=f"predictions_at_threshold_{cut:f}")
        result[MetricKey.ACCURACY_MEAN % cut] = means.accuracy(labels, positive)
        result[MetricKey.PRECISION_MEAN % cut] = counts.precision(labels, positive)
        result[MetricKey.RECALL_MEAN % cut] = counts.recall(labels, positive)
    return result
