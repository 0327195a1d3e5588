"""The model functions of canned estimators: logits, a head, and how they are trained."""
from __future__ import annotations

import math
from typing import Any

from penstock.estimator.canned.logits import (
    OnInput,
    baseline_logits,
    check_features,
    dnn_logits,
    linear_logits,
    network_partitioner,
    table_partitioner,
)
from penstock.estimator.canned.optimizers import optimizer_instance
from penstock.estimator.heads.base import Head
from penstock.estimator.spec import ModelFn
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import control_dependencies, get_collection
from penstock.ops.flow.misc import group
from penstock.ops.math.math import zero_fraction
from penstock.summary import summary
from penstock.train.global_step import get_global_step
from penstock.variables.assign import assign_add
from penstock.variables.scope import variable_scope


def _minimize(optimizer: Any, learning_rate: float) -> Any:
    return lambda loss: optimizer_instance(optimizer, learning_rate).minimize(loss, global_step=get_global_step())


def linear_model_fn(head: Head, columns: Any, optimizer: Any, partitioner: Any, combiner: str) -> ModelFn:
    """A linear model."""
    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        check_features(features)
        with variable_scope("linear", values=tuple(features.values()), partitioner=table_partitioner(partitioner, config)):
            logits = linear_logits(features, head.logits_dimension, columns, combiner)
            return head.create_estimator_spec(features, mode, logits, labels, train_op_fn=_minimize(optimizer, min(0.2, 1 / math.sqrt(len(columns)))))
    return model_fn


def dnn_model_fn(head: Head, hidden_units: Any, columns: Any, optimizer: Any, activation: Any, dropout: Any, partitioner: Any,
                 batch_norm: bool, on_input: OnInput | None = None) -> ModelFn:
    """A network. ``on_input`` is shown its input layer."""
    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        check_features(features)
        with variable_scope("dnn", values=tuple(features.values()), partitioner=network_partitioner(config)):
            logits = dnn_logits(features, mode, head.logits_dimension, hidden_units, columns, activation, dropout, batch_norm,
                                table_partitioner(partitioner, config), on_input)
            return head.create_estimator_spec(features, mode, logits, labels, train_op_fn=_minimize(optimizer, 0.05))
    return model_fn


def baseline_model_fn(head: Head, optimizer: Any) -> ModelFn:
    """A bias."""
    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        logits = baseline_logits(features, head.logits_dimension)
        return head.create_estimator_spec(features, mode, logits, labels, train_op_fn=_minimize(optimizer, 0.3))
    return model_fn


def combined_model_fn(head: Head, linear_columns: Any, linear_optimizer: Any, dnn_columns: Any, dnn_optimizer: Any, hidden_units: Any,
                      activation: Any, dropout: Any, partitioner: Any, batch_norm: bool, combiner: str) -> ModelFn:
    """A network and a linear model, whose logits are added. Each part has an optimizer for its own variables."""
    linear_columns, dnn_columns = tuple(linear_columns or ()), tuple(dnn_columns or ())
    if not linear_columns and not dnn_columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    if dnn_columns and not hidden_units:
        raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        check_features(features)
        values, tables = tuple(features.values()), table_partitioner(partitioner, config)
        parts, units = [], head.logits_dimension
        if dnn_columns:
            with variable_scope("dnn", values=values, partitioner=network_partitioner(config)) as scope:
                logits = dnn_logits(features, mode, units, hidden_units, dnn_columns, activation, dropout, batch_norm, tables)
            parts.append((logits, scope.name, optimizer_instance(dnn_optimizer, 0.001)))
        if linear_columns:
            with variable_scope("linear", values=values, partitioner=tables) as scope:
                logits = linear_logits(features, units, linear_columns, combiner)
                summary.scalar(f"{scope.name}/fraction_of_zero_values", zero_fraction(logits))
                summary.histogram(f"{scope.name}/activation", logits)
            parts.append((logits, scope.name, optimizer_instance(linear_optimizer, min(0.005, 1 / math.sqrt(len(linear_columns))))))

        def train_op_fn(loss: Any) -> Any:
            steps = [optimizer.minimize(loss, var_list=get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=name)) for _, name, optimizer in parts]
            with control_dependencies([group(*steps)]):
                return assign_add(get_global_step(), 1).op
        total = parts[0][0] if len(parts) == 1 else parts[0][0] + parts[1][0]
        return head.create_estimator_spec(features, mode, total, labels, train_op_fn=train_op_fn)
    return model_fn
