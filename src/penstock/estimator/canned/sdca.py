"""``tf.estimator.experimental.LinearSDCA``: canned linear models that dual coordinate ascent trains."""
from __future__ import annotations

from typing import Any

from penstock.contrib.linear_optimizer.features import training_data
from penstock.contrib.linear_optimizer.model import SdcaModel, UpdateWeightsHook
from penstock.contrib.linear_optimizer.optimizer import SdcaSettings
from penstock.estimator.canned.logits import table_partitioner
from penstock.estimator.columns.base import DenseColumn, FeatureCache
from penstock.estimator.columns.building import canned_linear_model
from penstock.estimator.heads.base import Head
from penstock.estimator.heads.classes import BinaryClassHead, MultiClassHead
from penstock.estimator.heads.regression import RegressionHead
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import ModelFn
from penstock.ops.array.fill import ones
from penstock.ops.array.shape_ops import shape
from penstock.summary import summary
from penstock.train.global_step import get_global_step
from penstock.variables.scope import variable_scope


class LinearSDCA(SdcaSettings):
    """``tf.estimator.experimental.LinearSDCA``: the optimizer of a LinearClassifier or LinearRegressor."""

    slot_suffix = "_unshrunk"

    def __init__(self, example_id_column: str, num_loss_partitions: int = 1, num_table_shards: int | None = None,
                 symmetric_l1_regularization: float = 0.0, symmetric_l2_regularization: float = 1.0, adaptive: bool = False) -> None:
        super().__init__(example_id_column, num_loss_partitions, num_table_shards, symmetric_l1_regularization, symmetric_l2_regularization, adaptive)

    def get_train_step(self, state_manager: Any, weight_column_name: str | None, loss_type: str, feature_columns: Any, features: dict[str, Any],
                       targets: Any, bias_var: Any, global_step: Any) -> tuple[SdcaModel, Any]:
        """(model, operation of a step). ``state_manager.get_variable(column, "weights")`` gives the weights of a column."""
        variables = {column: state_manager.get_variable(column, "weights") for column in feature_columns}
        return self.train_step_of({**variables, "bias": bias_var}, weight_column_name, loss_type, feature_columns, features, targets, global_step)

    def train_step_of(self, variables: dict[Any, Any], weight_column: str | None, loss_type: str, columns: Any, features: dict[str, Any],
                       targets: Any, global_step: Any) -> tuple[SdcaModel, Any]:
        """(model, operation of a step). ``variables`` are those of ``linear_model``."""
        cache = FeatureCache(features)
        examples, weights = training_data(
            sorted(columns, key=lambda column: column.name), variables, cache, lambda column: _numbers(column, cache), targets,
            features[weight_column] if weight_column else None, features[self.example_id_column])
        examples["dense_features"].append(ones([shape(targets)[0], 1]))
        weights["dense_features_weights"].append(variables["bias"])
        return self.train_step((examples, weights), loss_type, global_step)


def _numbers(column: Any, cache: FeatureCache) -> Any:
    if not isinstance(column, DenseColumn):
        raise ValueError(f"LinearSDCA does not support column type {type(column).__name__}.")
    if column.variable_shape.ndims != 1:
        raise ValueError(f"Column {type(column).__name__} has rank {column.variable_shape.ndims}, larger than 1.")
    return column.get_dense_tensor(cache)


def sdca_model_fn(head: Head, columns: Any, optimizer: LinearSDCA, partitioner: Any, combiner: str) -> ModelFn:
    """A linear model of one logit."""
    if combiner != "sum":
        raise ValueError('sparse_combiner must be "sum" when optimizer is a LinearSDCA object.')
    if isinstance(head, MultiClassHead):
        raise ValueError("LinearSDCA cannot be used in a multi-class setting.")
    if head.logits_dimension > 1:
        raise ValueError("LinearSDCA can only be used with one-dimensional label.")
    loss_type = "logistic_loss" if isinstance(head, BinaryClassHead) else "squared_loss"
    if type(head) not in (BinaryClassHead, RegressionHead):
        raise ValueError(f"Unsupported head type: {head}")

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        with variable_scope("linear", values=tuple(features.values()), partitioner=table_partitioner(partitioner, config)):
            return built(features, labels, mode)

    def built(features: Any, labels: Any, mode: str) -> Any:
        variables: dict[Any, Any] = {}
        logits = canned_linear_model(features, columns, cols_to_vars=variables)
        variables = {key: given[0] if isinstance(given, list) and len(given) == 1 else given for key, given in variables.items()}
        summary.scalar("bias", variables["bias"][0])
        if mode != ModeKeys.TRAIN:
            return head.create_estimator_spec(features, mode, logits, labels)
        model, train_op = optimizer.train_step_of(variables, head._weight_column, loss_type, columns, features, labels, get_global_step())
        spec = head.create_estimator_spec(features, mode, logits, labels, train_op_fn=lambda loss: train_op)
        return spec._replace(training_chief_hooks=(*spec.training_chief_hooks, UpdateWeightsHook(model, train_op)))
    return model_fn
