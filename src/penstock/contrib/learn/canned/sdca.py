"""Linear models that SDCA trains, and ``tf.contrib.learn.SVM``, which is one with the hinge loss."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.layers.columns.building import transform_features, weighted_sum_from_feature_columns
from penstock.contrib.layers.columns.dense import real_valued_column
from penstock.contrib.learn.canned.kinds import Classifier
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.heads.base import Head
from penstock.contrib.learn.heads.classes import BinaryHead, BinarySvmHead, binary_svm_head
from penstock.contrib.learn.heads.regression import RegressionHead
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.contrib.linear_optimizer.model import UpdateWeightsHook
from penstock.contrib.linear_optimizer.optimizer import SDCAOptimizer
from penstock.train.global_step import get_global_step

_LOSSES = ((BinarySvmHead, "hinge_loss"), (BinaryHead, "logistic_loss"), (RegressionHead, "squared_loss"))
_BIAS = "tf_virtual_bias_column"


def sdca_params(head: Head, columns: Any, optimizer: SDCAOptimizer, weight_column_name: str | None) -> dict[str, Any]:
    """The parameters of ``sdca_model_fn``."""
    return {"head": head, "feature_columns": columns, "optimizer": optimizer, "weight_column_name": weight_column_name}


def sdca_model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> ModelFnOps:
    """A linear model whose optimizer is an ``SDCAOptimizer``. The bias is the weight of a column of ones."""
    head, columns, optimizer = params["head"], params["feature_columns"], params["optimizer"]
    if not isinstance(optimizer, SDCAOptimizer):
        raise ValueError("Optimizer must be of type SDCAOptimizer")
    loss_type = next((loss for kind, loss in _LOSSES if isinstance(head, kind)), None)
    if loss_type is None:
        raise ValueError(f"Unsupported head type: {head}")
    if any(column.name == _BIAS for column in columns):
        raise ValueError(f"{_BIAS} is a reserved column name.")
    with tf.variable_scope("linear", values=list(features.values()), partitioner=optimizer.partitioner) as scope:
        features = {**features, **transform_features(features, columns)}
        logits, variables, bias = weighted_sum_from_feature_columns(features, columns, 1, scope=scope)
    hooks = []

    def train_op_fn(loss: Any) -> Any:
        ones = real_valued_column(_BIAS)
        seen = {**features, ones: tf.ones([tf.shape(labels)[0], 1])}
        model, train_op = optimizer.get_train_step({**variables, ones: [bias]}, params["weight_column_name"], loss_type, seen, labels,
                                                   get_global_step())
        hooks.append(UpdateWeightsHook(model, train_op))
        return train_op
    ops = head.create_model_fn_ops(features, mode, labels, train_op_fn, logits)
    return ops._replace(training_chief_hooks=[*ops.training_chief_hooks, *hooks])


class SVM(Classifier):
    """``tf.contrib.learn.SVM``: two classes by a linear model with the hinge loss."""

    def __init__(self, example_id_column: str, feature_columns: Any, weight_column_name: str | None = None, model_dir: str | None = None,
                 l1_regularization: float = 0.0, l2_regularization: float = 0.0, num_loss_partitions: int = 1, kernels: Any = None,
                 config: Any = None, feature_engineering_fn: Any = None) -> None:
        if kernels is not None:
            raise ValueError("Kernel SVMs are not currently supported.")
        optimizer = SDCAOptimizer(example_id_column, num_loss_partitions, symmetric_l1_regularization=l1_regularization,
                                  symmetric_l2_regularization=l2_regularization)
        head = binary_svm_head(weight_column_name=weight_column_name)
        super().__init__(sdca_model_fn, model_dir, config, sdca_params(head, tuple(feature_columns), optimizer, weight_column_name),
                         feature_engineering_fn)

    predict = Estimator.predict  # all outputs: in TensorFlow it is not a classifier

    def predict_proba(self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, outputs: Any = None,  # type: ignore[override]
                      as_iterable: bool = True) -> Any:
        """Refused by the head, which has no probabilities."""
        return super().predict_proba(x, input_fn, batch_size, as_iterable)
