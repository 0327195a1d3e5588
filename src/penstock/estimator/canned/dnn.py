"""Canned networks."""
from __future__ import annotations

from typing import Any

from penstock.estimator.canned.logits import OnInput
from penstock.estimator.canned.models import dnn_model_fn
from penstock.estimator.estimator import Estimator
from penstock.estimator.heads.base import Head
from penstock.estimator.heads.classes import class_head
from penstock.estimator.heads.regression import RegressionHead
from penstock.layers.losses import Reduction
from penstock.ops.nn.activations import relu


class DNNEstimator(Estimator):
    """``tf.estimator.DNNEstimator``: a network of fully connected layers on columns, under a head of one's choice."""

    def __init__(self, head: Head, hidden_units: Any, feature_columns: Any, model_dir: Any = None, optimizer: Any = "Adagrad",
                 activation_fn: Any = relu, dropout: Any = None, input_layer_partitioner: Any = None, config: Any = None,
                 warm_start_from: Any = None, batch_norm: bool = False) -> None:
        super().__init__(dnn_model_fn(head, hidden_units, tuple(feature_columns or ()), optimizer, activation_fn, dropout, input_layer_partitioner,
                                      batch_norm, self._on_input), model_dir, config, warm_start_from=warm_start_from)

    _on_input: OnInput | None = None  # is shown the input layer


class DNNClassifier(DNNEstimator):
    """``tf.estimator.DNNClassifier``: classes by a network of fully connected layers on columns."""

    def __init__(self, hidden_units: Any, feature_columns: Any, model_dir: Any = None, n_classes: int = 2, weight_column: Any = None,
                 label_vocabulary: Any = None, optimizer: Any = "Adagrad", activation_fn: Any = relu, dropout: Any = None,
                 input_layer_partitioner: Any = None, config: Any = None, warm_start_from: Any = None, loss_reduction: str = Reduction.SUM,
                 batch_norm: bool = False) -> None:
        super().__init__(class_head(n_classes, weight_column, label_vocabulary, loss_reduction), hidden_units, feature_columns, model_dir, optimizer,
                         activation_fn, dropout, input_layer_partitioner, config, warm_start_from, batch_norm)


class DNNRegressor(DNNEstimator):
    """``tf.estimator.DNNRegressor``: numbers by a network of fully connected layers on columns."""

    def __init__(self, hidden_units: Any, feature_columns: Any, model_dir: Any = None, label_dimension: int = 1, weight_column: Any = None,
                 optimizer: Any = "Adagrad", activation_fn: Any = relu, dropout: Any = None, input_layer_partitioner: Any = None, config: Any = None,
                 warm_start_from: Any = None, loss_reduction: str = Reduction.SUM, batch_norm: bool = False) -> None:
        super().__init__(RegressionHead(label_dimension, weight_column, loss_reduction), hidden_units, feature_columns, model_dir, optimizer,
                         activation_fn, dropout, input_layer_partitioner, config, warm_start_from, batch_norm)
