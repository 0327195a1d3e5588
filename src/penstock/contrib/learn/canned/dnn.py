"""Canned networks."""
from __future__ import annotations

from typing import Any

from penstock.contrib.learn.canned.kinds import Classifier, Regressor
from penstock.contrib.learn.canned.models import dnn_model_fn
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.heads.base import Head
from penstock.contrib.learn.heads.classes import multi_class_head
from penstock.contrib.learn.heads.regression import regression_head
from penstock.ops.nn.activations import relu


def _params(head: Head, hidden_units: Any, feature_columns: Any, optimizer: Any, activation_fn: Any, dropout: float | None,
            gradient_clip_norm: float | None, embedding_lr_multipliers: Any, input_layer_min_slice_size: int | None) -> dict[str, Any]:
    return {"head": head, "hidden_units": hidden_units, "feature_columns": tuple(feature_columns or ()), "optimizer": optimizer,
            "activation_fn": activation_fn, "dropout": dropout, "gradient_clip_norm": gradient_clip_norm,
            "embedding_lr_multipliers": embedding_lr_multipliers, "input_layer_min_slice_size": input_layer_min_slice_size}


class DNNClassifier(Classifier):
    """``tf.contrib.learn.DNNClassifier``: classes by a network of fully connected layers on columns."""

    def __init__(self, hidden_units: Any, feature_columns: Any, model_dir: str | None = None, n_classes: int = 2,
                 weight_column_name: str | None = None, optimizer: Any = None, activation_fn: Any = relu, dropout: float | None = None,
                 gradient_clip_norm: float | None = None, enable_centered_bias: bool = False, config: Any = None, feature_engineering_fn: Any = None,
                 embedding_lr_multipliers: Any = None, input_layer_min_slice_size: int | None = None, label_keys: Any = None) -> None:
        head = multi_class_head(n_classes, weight_column_name=weight_column_name, enable_centered_bias=enable_centered_bias, label_keys=label_keys)
        super().__init__(dnn_model_fn, model_dir, config, _params(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout, gradient_clip_norm, embedding_lr_multipliers,
            input_layer_min_slice_size), feature_engineering_fn)


class DNNRegressor(Regressor):
    """``tf.contrib.learn.DNNRegressor``: numbers by a network of fully connected layers on columns."""

    def __init__(self, hidden_units: Any, feature_columns: Any, model_dir: str | None = None, weight_column_name: str | None = None,
                 optimizer: Any = None, activation_fn: Any = relu, dropout: float | None = None, gradient_clip_norm: float | None = None,
                 enable_centered_bias: bool = False, config: Any = None, feature_engineering_fn: Any = None, label_dimension: int = 1,
                 embedding_lr_multipliers: Any = None, input_layer_min_slice_size: int | None = None) -> None:
        head = regression_head(label_dimension=label_dimension, weight_column_name=weight_column_name, enable_centered_bias=enable_centered_bias)
        super().__init__(dnn_model_fn, model_dir, config, _params(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout, gradient_clip_norm, embedding_lr_multipliers,
            input_layer_min_slice_size), feature_engineering_fn)


class DNNEstimator(Estimator):
    """``tf.contrib.learn.DNNEstimator``: a network of fully connected layers on columns with a head of one's choice."""

    def __init__(self, head: Head, hidden_units: Any, feature_columns: Any, model_dir: str | None = None, optimizer: Any = None,
                 activation_fn: Any = relu, dropout: float | None = None, gradient_clip_norm: float | None = None, config: Any = None,
                 feature_engineering_fn: Any = None, embedding_lr_multipliers: Any = None, input_layer_min_slice_size: int | None = None) -> None:
        super().__init__(dnn_model_fn, model_dir, config, _params(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout, gradient_clip_norm, embedding_lr_multipliers,
            input_layer_min_slice_size), feature_engineering_fn)
