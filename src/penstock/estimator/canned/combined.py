"""Canned models that are wide and deep: a linear model and a network together."""
from __future__ import annotations

from typing import Any

from penstock.estimator.canned.models import combined_model_fn
from penstock.estimator.estimator import Estimator
from penstock.estimator.heads.base import Head
from penstock.estimator.heads.classes import class_head
from penstock.estimator.heads.regression import RegressionHead
from penstock.layers.losses import Reduction
from penstock.ops.nn.activations import relu


class DNNLinearCombinedEstimator(Estimator):
    """``tf.estimator.DNNLinearCombinedEstimator``: a linear model and a network, whose logits are added, under a head of one's choice."""

    def __init__(self, head: Head, model_dir: Any = None, linear_feature_columns: Any = None, linear_optimizer: Any = "Ftrl",
                 dnn_feature_columns: Any = None, dnn_optimizer: Any = "Adagrad", dnn_hidden_units: Any = None, dnn_activation_fn: Any = relu,
                 dnn_dropout: Any = None, input_layer_partitioner: Any = None, config: Any = None, linear_sparse_combiner: str = "sum",
                 batch_norm: bool = False, warm_start_from: Any = None) -> None:
        super().__init__(combined_model_fn(
            head, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout,
            input_layer_partitioner, batch_norm, linear_sparse_combiner), model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedClassifier(DNNLinearCombinedEstimator):
    """``tf.estimator.DNNLinearCombinedClassifier``: classes by a linear model and a network."""

    def __init__(self, model_dir: Any = None, linear_feature_columns: Any = None, linear_optimizer: Any = "Ftrl", dnn_feature_columns: Any = None,
                 dnn_optimizer: Any = "Adagrad", dnn_hidden_units: Any = None, dnn_activation_fn: Any = relu, dnn_dropout: Any = None,
                 n_classes: int = 2, weight_column: Any = None, label_vocabulary: Any = None, input_layer_partitioner: Any = None, config: Any = None,
                 warm_start_from: Any = None, loss_reduction: str = Reduction.SUM, batch_norm: bool = False,
                 linear_sparse_combiner: str = "sum") -> None:
        super().__init__(class_head(n_classes, weight_column, label_vocabulary, loss_reduction), model_dir, linear_feature_columns, linear_optimizer,
                         dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner, config,
                         linear_sparse_combiner, batch_norm, warm_start_from)


class DNNLinearCombinedRegressor(DNNLinearCombinedEstimator):
    """``tf.estimator.DNNLinearCombinedRegressor``: numbers by a linear model and a network."""

    def __init__(self, model_dir: Any = None, linear_feature_columns: Any = None, linear_optimizer: Any = "Ftrl", dnn_feature_columns: Any = None,
                 dnn_optimizer: Any = "Adagrad", dnn_hidden_units: Any = None, dnn_activation_fn: Any = relu, dnn_dropout: Any = None,
                 label_dimension: int = 1, weight_column: Any = None, input_layer_partitioner: Any = None, config: Any = None,
                 warm_start_from: Any = None, loss_reduction: str = Reduction.SUM, batch_norm: bool = False,
                 linear_sparse_combiner: str = "sum") -> None:
        super().__init__(RegressionHead(label_dimension, weight_column, loss_reduction), model_dir, linear_feature_columns, linear_optimizer,
                         dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner, config,
                         linear_sparse_combiner, batch_norm, warm_start_from)
