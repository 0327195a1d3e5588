"""The model functions of canned estimators as TensorFlow spells them: one call with features, labels, mode and all settings.

They are private there (``tensorflow.python.estimator.canned.dnn._dnn_model_fn``), but the way to an estimator with a head and some changes of one's
own, so programs call them.
"""
from __future__ import annotations

from typing import Any

from penstock.estimator.canned import models
from penstock.estimator.heads.base import Head
from penstock.estimator.run_config import RunConfig
from penstock.ops.nn.activations import relu


def dnn_model_fn(features: Any, labels: Any, mode: str, head: Head, hidden_units: Any, feature_columns: Any, optimizer: Any = "Adagrad",
                 activation_fn: Any = relu, dropout: Any = None, input_layer_partitioner: Any = None, config: Any = None, use_tpu: bool = False,
                 batch_norm: bool = False) -> Any:
    """The EstimatorSpec of a network; ``use_tpu`` changes nothing here."""
    model_fn = models.dnn_model_fn(head, hidden_units, tuple(feature_columns), optimizer, activation_fn, dropout, input_layer_partitioner, batch_norm)
    return model_fn(features=features, labels=labels, mode=mode, config=config or RunConfig())


def linear_model_fn(features: Any, labels: Any, mode: str, head: Head, feature_columns: Any, optimizer: Any, partitioner: Any, config: Any,
                    sparse_combiner: str = "sum") -> Any:
    """The EstimatorSpec of a linear model."""
    model_fn = models.linear_model_fn(head, tuple(feature_columns), optimizer, partitioner, sparse_combiner)
    return model_fn(features=features, labels=labels, mode=mode, config=config or RunConfig())


def baseline_model_fn(features: Any, labels: Any, mode: str, head: Head, optimizer: Any, weight_column: Any = None, config: Any = None) -> Any:
    """The EstimatorSpec of a bias. The head knows the weights; ``weight_column`` is there as in TensorFlow."""
    return models.baseline_model_fn(head, optimizer)(features=features, labels=labels, mode=mode, config=config)


def dnn_linear_combined_model_fn(features: Any, labels: Any, mode: str, head: Head, linear_feature_columns: Any = None,
                                 linear_optimizer: Any = "Ftrl", dnn_feature_columns: Any = None, dnn_optimizer: Any = "Adagrad",
                                 dnn_hidden_units: Any = None, dnn_activation_fn: Any = relu, dnn_dropout: Any = None,
                                 input_layer_partitioner: Any = None, config: Any = None, batch_norm: bool = False,
                                 linear_sparse_combiner: str = "sum") -> Any:
    """The EstimatorSpec of a network and a linear model, whose logits are added."""
    model_fn = models.combined_model_fn(head, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units,
                                        dnn_activation_fn, dnn_dropout, input_layer_partitioner, batch_norm, linear_sparse_combiner)
    return model_fn(features=features, labels=labels, mode=mode, config=config or RunConfig())
