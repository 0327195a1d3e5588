"""Model functions of canned estimators: logits of columns, a head, and how they are trained. Scopes are named as TensorFlow names them.

Columns may be those of ``tf.contrib.layers`` or of ``tf.feature_column``. Each part of a model puts its variables into a collection with the name of
its scope, and trains the variables of that collection.
"""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.layers.columns.base import LayersColumn
from penstock.contrib.layers.columns.building import (
    input_from_feature_columns,
    joint_weighted_sum_from_feature_columns,
    weighted_sum_from_feature_columns,
)
from penstock.contrib.layers.columns.dense import EmbeddingColumn
from penstock.contrib.layers.connected import fully_connected
from penstock.contrib.layers.optimizers import OPTIMIZER_CLS_NAMES, optimize_loss
from penstock.contrib.layers.shaping import dropout
from penstock.contrib.learn.keys import ModeKeys
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.estimator.columns.building import input_layer, linear_model
from penstock.ops.math.math import zero_fraction
from penstock.ops.math.trigonometry import tanh
from penstock.summary import summary
from penstock.train.global_step import get_global_step
from penstock.train.rules import FtrlOptimizer
from penstock.train.sync_replicas import SyncReplicasOptimizer
from penstock.variables.partitioned import min_max_variable_partitioner

_ACTIVATIONS = {"relu": tf.relu, "tanh": tanh, "sigmoid": tf.sigmoid}
_DNN_RATE, _LINEAR_RATE = 0.05, 0.2
# What a model function takes for parameters that it is not given.
_OPTIONAL: dict[str, Any] = {
    **dict.fromkeys(["optimizer", "dropout", "gradient_clip_norm", "embedding_lr_multipliers", "input_layer_min_slice_size", "joint_weights",
                     "linear_feature_columns", "linear_optimizer", "joint_linear_weights", "dnn_feature_columns", "dnn_optimizer",
                     "dnn_hidden_units", "dnn_activation_fn", "dnn_dropout", "input_layer_partitioner"]),
    "activation_fn": tf.relu, "fix_global_step_increment_bug": True}


def dnn_model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any = None) -> ModelFnOps:
    """A network."""
    params = {**_OPTIONAL, **params}
    features, head = _features_by_name(features), params["head"]
    with _dnn_scope(features, config):
        logits, input_scope = _dnn_logits(
            features, mode, head.logits_dimension, params["feature_columns"], params["hidden_units"], params["activation_fn"], params["dropout"],
            table_partitioner(config, params["input_layer_min_slice_size"]), "_")

        def train_op_fn(loss: Any) -> Any:
            return optimize_loss(loss, get_global_step(), _DNN_RATE, _new_optimizer(params["optimizer"] or "Adagrad"), name="dnn", summaries=[],
                                 gradient_multipliers=_rate_factors(params["embedding_lr_multipliers"], input_scope),
                                 clip_gradients=params["gradient_clip_norm"])
        return head.create_model_fn_ops(features=features, mode=mode, labels=labels, train_op_fn=train_op_fn, logits=logits)


def linear_model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any = None) -> ModelFnOps:
    """A linear model."""
    params = {**_OPTIONAL, **params}
    features, head, columns = _features_by_name(features), params["head"], params["feature_columns"]
    with _linear_scope(features, config) as scope:
        logits = _linear_logits(features, head.logits_dimension, columns, params["joint_weights"], scope)

        def train_op_fn(loss: Any) -> Any:
            variables = tf.get_collection("linear")
            gradients = tf.gradients(loss, variables)
            if params["gradient_clip_norm"]:
                gradients, _ = tf.clip_by_global_norm(gradients, params["gradient_clip_norm"])
            optimizer = _new_optimizer(params["optimizer"] or FtrlOptimizer(_linear_rate(columns)))
            if isinstance(optimizer, str):
                optimizer = OPTIMIZER_CLS_NAMES[optimizer](learning_rate=_LINEAR_RATE)
            return optimizer.apply_gradients(zip(gradients, variables), global_step=get_global_step())
        return head.create_model_fn_ops(features=features, mode=mode, labels=labels, train_op_fn=train_op_fn, logits=logits)


class _Part(NamedTuple):
    """A part of a combined model, and how it is trained."""

    name: str
    logits: Any
    rate: float
    optimizer: Any
    input_scope: str | None = None


def combined_model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any = None) -> ModelFnOps:
    """A network and a linear model, whose logits are added. Each part has an optimizer for its own variables.

    Unless ``fix_global_step_increment_bug`` is set, each of them counts the step: TensorFlow's default.
    """
    params = {**_OPTIONAL, **params}
    features, head, fixed = _features_by_name(features), params["head"], params["fix_global_step_increment_bug"]
    linear_columns, dnn_columns = params["linear_feature_columns"], params["dnn_feature_columns"]
    parts = []
    if dnn_columns:
        if not params["dnn_hidden_units"]:
            raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
        partitioner = params["input_layer_partitioner"] or table_partitioner(config, params["input_layer_min_slice_size"])
        with _dnn_scope(features, config):
            logits, input_scope = _dnn_logits(features, mode, head.logits_dimension, dnn_columns, params["dnn_hidden_units"],
                                              params["dnn_activation_fn"] or tf.relu, params["dnn_dropout"], partitioner, "/")
        parts.append(_Part("dnn", logits, _DNN_RATE, _asynchronous_optimizer(params["dnn_optimizer"] or "Adagrad"), input_scope))
    if linear_columns:
        with _linear_scope(features, config) as scope:
            logits = _linear_logits(features, head.logits_dimension, linear_columns, params["joint_linear_weights"], scope)
            _summarize(logits, scope.name + "/")
        parts.append(_Part("linear", logits, _linear_rate(linear_columns), _asynchronous_optimizer(params["linear_optimizer"] or "Ftrl")))

    def train_op_fn(loss: Any) -> Any:
        steps = []
        for part in parts:
            factors = None if part.input_scope is None else _rate_factors(params["embedding_lr_multipliers"], part.input_scope)
            steps.append(optimize_loss(loss, get_global_step(), part.rate, part.optimizer, gradient_multipliers=factors,
                                       clip_gradients=params["gradient_clip_norm"], variables=tf.get_collection(part.name), name=part.name,
                                       summaries=[], increment_global_step=not fixed))
        if not fixed:
            return tf.group(*steps)
        with tf.control_dependencies([tf.group(*steps)]):
            return tf.assign_add(get_global_step(), 1).op
    total = parts[0].logits if len(parts) == 1 else parts[0].logits + parts[1].logits
    return head.create_model_fn_ops(features=features, mode=mode, labels=labels, train_op_fn=train_op_fn, logits=total)


# --- logits ----------------------------------------------------------------------------------------------------------

def _dnn_scope(features: dict[str, Any], config: Any) -> Any:
    return tf.variable_scope("dnn", values=list(features.values()), partitioner=min_max_variable_partitioner(_servers(config)))


def _linear_scope(features: dict[str, Any], config: Any) -> Any:
    return tf.variable_scope("linear", values=list(features.values()), partitioner=table_partitioner(config))


def table_partitioner(config: Any, min_slice_size: int | None = None) -> Any:
    """How tables are split over parameter servers: into slices of at least 64 MB."""
    return min_max_variable_partitioner(_servers(config), min_slice_size=min_slice_size or 64 << 20)


def _servers(config: Any) -> int:
    return config.num_ps_replicas if config else 0


def _dnn_logits(features: dict[str, Any], mode: str, units: int, columns: Any, hidden_units: Any, activation: Any, drop: float | None,
                input_partitioner: Any, separator: str) -> tuple[Any, str]:
    """(the logits of a network, the scope of its input); called inside its scope."""
    activation = _activation(activation)
    with tf.variable_scope("input_from_feature_columns", values=list(features.values()), partitioner=input_partitioner) as input_scope:
        if _are_old(columns):
            net = input_from_feature_columns(features, columns, weight_collections=["dnn"], scope=input_scope)
        else:
            net = input_layer(features, columns, weight_collections=["dnn"])
    for number, size in enumerate(hidden_units):
        with tf.variable_scope(f"hiddenlayer_{number}", values=[net]) as scope:
            net = fully_connected(net, size, activation_fn=activation, variables_collections=["dnn"], scope=scope)
            if drop is not None and mode == ModeKeys.TRAIN:
                net = dropout(net, keep_prob=1.0 - drop)
        _summarize(net, scope.name + separator)
    with tf.variable_scope("logits", values=[net]) as scope:
        logits = fully_connected(net, units, activation_fn=None, variables_collections=["dnn"], scope=scope)
    _summarize(logits, scope.name + separator)
    return logits, input_scope.name


def _linear_logits(features: dict[str, Any], units: int, columns: Any, joint: bool, scope: Any) -> Any:
    """The logits of a linear model; called inside its scope."""
    if not _are_old(columns):
        return linear_model(features, columns, units=units, weight_collections=["linear"])
    weighted_sum = joint_weighted_sum_from_feature_columns if joint else weighted_sum_from_feature_columns
    return weighted_sum(features, columns, units, weight_collections=["linear"], scope=scope)[0]


def _summarize(value: Any, prefix: str) -> None:
    summary.scalar(f"{prefix}fraction_of_zero_values", zero_fraction(value))
    summary.histogram(f"{prefix}activation", value)


def _features_by_name(features: Any) -> dict[str, Any]:
    """Features by name; that of a single tensor is empty."""
    return features if isinstance(features, dict) else {"": features}


def _are_old(columns: Any) -> bool:
    return all(isinstance(column, LayersColumn) for column in columns)


def _activation(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if given not in _ACTIVATIONS:
        raise ValueError(f"Activation name should be one of [{', '.join(_ACTIVATIONS)}], you provided {given}.")
    return _ACTIVATIONS[given]


# --- optimizers ------------------------------------------------------------------------------------------------------

def _new_optimizer(optimizer: Any) -> Any:
    """The optimizer, or its name; a function makes one."""
    return optimizer() if callable(optimizer) else optimizer


def _asynchronous_optimizer(optimizer: Any) -> Any:
    made = _new_optimizer(optimizer)
    if isinstance(made, SyncReplicasOptimizer):
        raise ValueError("SyncReplicasOptimizer is not supported in DNNLinearCombined model. If you want to use this optimizer, please use either "
                         "DNN or Linear model.")
    return made


def _linear_rate(columns: Any) -> float:
    return min(_LINEAR_RATE, 1.0 / math.sqrt(len(columns)))


def _rate_factors(multipliers: dict[Any, float] | None, input_scope: str) -> dict[Any, float] | None:
    """{variable: factor for its learning rate} of {embedding column: factor}."""
    if not multipliers:
        return None
    factors = {}
    for column, factor in multipliers.items():
        if not isinstance(column, EmbeddingColumn):
            raise ValueError(f"learning rate multipler can only be defined for embedding columns. It is defined for {column}")
        factors.update({table: factor for table in embedding_tables(column, "dnn", input_scope)})
    return factors


def embedding_tables(column: EmbeddingColumn, collection: str, input_scope: str) -> list[Any]:
    """The variables of an embedding column in an input layer."""
    tables: list[Any] = tf.get_collection(collection, f"{input_scope}/{column.name}")
    if not tables:
        raise ValueError(f"Couldn't find a variable for column {column}")
    return tables
