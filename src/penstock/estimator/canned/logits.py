"""The logits of canned models: a network on columns, a linear model of columns, a bias alone. Scopes are named as TensorFlow names them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.estimator.columns.building import canned_linear_model, joined_numbers
from penstock.estimator.input_results import call_with
from penstock.estimator.mode_keys import ModeKeys
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.layers.scoped_layers import batch_normalization, dense, dropout
from penstock.ops.array.fill import ones
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.math.elementwise import multiply
from penstock.ops.math.math import zero_fraction
from penstock.summary import summary
from penstock.variables.initializers import GlorotUniform, Zeros
from penstock.variables.partitioned import min_max_variable_partitioner
from penstock.variables.scope import get_variable, variable_scope

# TensorFlow's canned networks have resource variables: a node more for each that is made, and one for each read or update.
_RESOURCES_OF_DENSE, _RESOURCES_OF_BATCH_NORM = 4, 10
OnInput = Callable[[dict[str, Any], dict[Any, Any]], None]  # features, {column: its numbers}


def check_features(features: Any) -> None:
    """ValueError for features without names."""
    if not isinstance(features, dict):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")


def table_partitioner(given: Any, config: Any) -> Any:
    """How tables are split over parameter servers: into slices of at least 64 MB."""
    return given or min_max_variable_partitioner(max_partitions=max(config.num_ps_replicas, 1), min_slice_size=64 << 20)


def network_partitioner(config: Any) -> Any:
    """How the weights of layers are split. Also one part is a part: the names of slots in checkpoints depend on it."""
    return min_max_variable_partitioner(max_partitions=max(config.num_ps_replicas, 1))


def dnn_logits(features: Any, mode: str, units: int, hidden_units: Sequence[int], columns: Any, activation: Callable[..., Any], drop: Any,
               batch_norm: bool, partitioner: Any, on_input: OnInput | None = None) -> Any:
    """The logits of a network; called inside its scope. ``on_input`` is shown the numbers of each column."""
    outputs: dict[Any, Any] = {}
    with variable_scope("input_from_feature_columns", partitioner=partitioner):
        net = joined_numbers(features, columns, cols_to_output_tensors=outputs, tables_first=True)
    if on_input is not None:
        on_input(features, outputs)
    for number, size in enumerate(hidden_units):
        with variable_scope(f"hiddenlayer_{number}", values=(net,)) as scope:
            net = dense(net, size, activation=activation, kernel_initializer=GlorotUniform(), name=scope)
            default_graph().imply(_RESOURCES_OF_DENSE)
            if drop is not None and mode == ModeKeys.TRAIN:
                net = dropout(net, rate=drop, training=True)
            if batch_norm:
                net = batch_normalization(net, momentum=0.999, training=mode == ModeKeys.TRAIN, name=f"batchnorm_{number}")
                default_graph().imply(_RESOURCES_OF_BATCH_NORM)
        _summarize(net, scope.name)
    with variable_scope("logits", values=(net,)) as scope:
        logits = dense(net, units, activation=None, kernel_initializer=GlorotUniform(), name=scope)
        default_graph().imply(_RESOURCES_OF_DENSE)
    _summarize(logits, scope.name)
    return logits


def _summarize(value: Any, tag: str) -> None:
    summary.scalar(f"{tag}/fraction_of_zero_values", zero_fraction(value))
    summary.histogram(f"{tag}/activation", value)


def linear_logits(features: Any, units: int, columns: Any, combiner: str) -> Any:
    """The logits of a linear model; called inside its scope."""
    variables: dict[Any, Any] = {}
    logits = canned_linear_model(features, columns, units=units, sparse_combiner=combiner, cols_to_vars=variables)
    bias = variables.pop("bias")[0]
    summary.histogram("bias", bias) if units > 1 else summary.scalar("bias", bias[0])
    weights = [reshape(to_tensor(part), [-1]) for parts in variables.values() for part in parts]
    summary.scalar("fraction_of_zero_weights", zero_fraction(concat(weights, 0)))
    return logits


def baseline_logits(features: Any, units: int) -> Any:
    """The same logits for every example."""
    values = list(features.values()) if isinstance(features, dict) else [features]
    if not values:
        raise ValueError("Number of features must be at least 1")
    with variable_scope("baseline"):
        bias = get_variable("bias", shape=[units], initializer=Zeros())
        return multiply(bias, ones([shape(values[0])[0], units]))


def dnn_logit_fn_builder(units: int, hidden_units: Sequence[int], feature_columns: Any, activation_fn: Callable[..., Any], dropout: Any,
                         input_layer_partitioner: Any, batch_norm: bool = False) -> Callable[..., Any]:
    """``tf.contrib.estimator.dnn_logit_fn_builder``: a function from features and a mode to the logits of a network."""
    if not isinstance(units, int):
        raise ValueError(f"units must be an int.  Given type: {type(units)}")
    return lambda features, mode: dnn_logits(features, mode, units, hidden_units, feature_columns, activation_fn, dropout, batch_norm,
                                             input_layer_partitioner)


def linear_logit_fn_builder(units: int, feature_columns: Any, sparse_combiner: str = "sum") -> Callable[..., Any]:
    """``tf.contrib.estimator.linear_logit_fn_builder``: a function from features to the logits of a linear model."""
    return lambda features: linear_logits(features, units, feature_columns, sparse_combiner)


def call_logit_fn(logit_fn: Callable[..., Any], features: Any, mode: str, params: Any, config: Any) -> Any:
    """``tf.contrib.estimator.call_logit_fn``: the logits that a function gives, which is called with those of the arguments that it names."""
    logits = call_with(logit_fn, features=features, mode=mode, params=params, config=config)
    tensors = logits.values() if isinstance(logits, dict) else [logits]
    if not all(isinstance(tensor, Tensor) for tensor in tensors) or (isinstance(logits, dict) and not all(isinstance(key, str) for key in logits)):
        raise ValueError(f"logit_fn should return a Tensor or a dictionary mapping strings to Tensors.  logit_fn returned: {logits}")
    return logits
