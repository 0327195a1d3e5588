"""Canned models that are wide and deep: a linear model and a network together."""
from __future__ import annotations

from typing import Any

from penstock.contrib.learn.canned.kinds import Classifier, Regressor
from penstock.contrib.learn.canned.models import combined_model_fn, table_partitioner
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.heads.base import Head
from penstock.contrib.learn.heads.classes import multi_class_head
from penstock.contrib.learn.heads.regression import regression_head
from penstock.ops.nn.activations import relu


def _params(head: Head, linear_feature_columns: Any, linear_optimizer: Any, joint_linear_weights: bool, dnn_feature_columns: Any, dnn_optimizer: Any,
            dnn_hidden_units: Any, dnn_activation_fn: Any, dnn_dropout: float | None, gradient_clip_norm: float | None,
            embedding_lr_multipliers: Any, fix_global_step_increment_bug: bool, input_layer_partitioner: Any = None,
            input_layer_min_slice_size: int | None = None) -> dict[str, Any]:
    linear_columns, dnn_columns = tuple(linear_feature_columns or ()), tuple(dnn_feature_columns or ())
    if not linear_columns and not dnn_columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    return {"head": head, "linear_feature_columns": linear_columns, "linear_optimizer": linear_optimizer,
            "joint_linear_weights": joint_linear_weights, "dnn_feature_columns": dnn_columns, "dnn_optimizer": dnn_optimizer,
            "dnn_hidden_units": dnn_hidden_units, "dnn_activation_fn": dnn_activation_fn, "dnn_dropout": dnn_dropout,
            "gradient_clip_norm": gradient_clip_norm, "embedding_lr_multipliers": embedding_lr_multipliers,
            "input_layer_partitioner": input_layer_partitioner, "input_layer_min_slice_size": input_layer_min_slice_size,
            "fix_global_step_increment_bug": fix_global_step_increment_bug}


class DNNLinearCombinedClassifier(Classifier):
    """``tf.contrib.learn.DNNLinearCombinedClassifier``: classes by a linear model and a network."""

    def __init__(self, model_dir: str | None = None, n_classes: int = 2, weight_column_name: str | None = None, linear_feature_columns: Any = None,
                 linear_optimizer: Any = None, _joint_linear_weights: bool = False, dnn_feature_columns: Any = None, dnn_optimizer: Any = None,
                 dnn_hidden_units: Any = None, dnn_activation_fn: Any = relu, dnn_dropout: float | None = None,
                 gradient_clip_norm: float | None = None, enable_centered_bias: bool = False, config: Any = None, feature_engineering_fn: Any = None,
                 embedding_lr_multipliers: Any = None, input_layer_min_slice_size: int | None = None, label_keys: Any = None,
                 fix_global_step_increment_bug: bool = False) -> None:
        head = multi_class_head(n_classes, weight_column_name=weight_column_name, enable_centered_bias=enable_centered_bias, label_keys=label_keys)
        super().__init__(combined_model_fn, model_dir, config, _params(
            head, linear_feature_columns, linear_optimizer, _joint_linear_weights, dnn_feature_columns, dnn_optimizer, dnn_hidden_units,
            dnn_activation_fn, dnn_dropout, gradient_clip_norm, embedding_lr_multipliers, fix_global_step_increment_bug,
            table_partitioner(config, input_layer_min_slice_size), input_layer_min_slice_size), feature_engineering_fn)


class DNNLinearCombinedRegressor(Regressor):
    """``tf.contrib.learn.DNNLinearCombinedRegressor``: numbers by a linear model and a network."""

    def __init__(self, model_dir: str | None = None, weight_column_name: str | None = None, linear_feature_columns: Any = None,
                 linear_optimizer: Any = None, _joint_linear_weights: bool = False, dnn_feature_columns: Any = None, dnn_optimizer: Any = None,
                 dnn_hidden_units: Any = None, dnn_activation_fn: Any = relu, dnn_dropout: float | None = None,
                 gradient_clip_norm: float | None = None, enable_centered_bias: bool = False, label_dimension: int = 1, config: Any = None,
                 feature_engineering_fn: Any = None, embedding_lr_multipliers: Any = None, input_layer_min_slice_size: int | None = None,
                 fix_global_step_increment_bug: bool = False) -> None:
        head = regression_head(weight_column_name=weight_column_name, label_dimension=label_dimension, enable_centered_bias=enable_centered_bias)
        super().__init__(combined_model_fn, model_dir, config, _params(
            head, linear_feature_columns, linear_optimizer, _joint_linear_weights, dnn_feature_columns, dnn_optimizer, dnn_hidden_units,
            dnn_activation_fn, dnn_dropout, gradient_clip_norm, embedding_lr_multipliers, fix_global_step_increment_bug,
            table_partitioner(config, input_layer_min_slice_size), input_layer_min_slice_size), feature_engineering_fn)


class DNNLinearCombinedEstimator(Estimator):
    """``tf.contrib.learn.DNNLinearCombinedEstimator``: a linear model and a network with a head of one's choice."""

    def __init__(self, head: Head, model_dir: str | None = None, linear_feature_columns: Any = None, linear_optimizer: Any = None,
                 _joint_linear_weights: bool = False, dnn_feature_columns: Any = None, dnn_optimizer: Any = None, dnn_hidden_units: Any = None,
                 dnn_activation_fn: Any = None, dnn_dropout: float | None = None, gradient_clip_norm: float | None = None, config: Any = None,
                 feature_engineering_fn: Any = None, embedding_lr_multipliers: Any = None, fix_global_step_increment_bug: bool = False,
                 input_layer_partitioner: Any = None) -> None:
        super().__init__(combined_model_fn, model_dir, config, _params(
            head, linear_feature_columns, linear_optimizer, _joint_linear_weights, dnn_feature_columns, dnn_optimizer, dnn_hidden_units,
            dnn_activation_fn, dnn_dropout, gradient_clip_norm, embedding_lr_multipliers, fix_global_step_increment_bug,
            input_layer_partitioner), feature_engineering_fn)
