"""Parts of models that are put together by hand: logits of columns by a linear model or a network, and the step that trains their variables."""
from __future__ import annotations

import math
import re
from typing import Any

from penstock.checkpoint.contents import list_variables, load_variable
from penstock.contrib import prelude as tf
from penstock.contrib.layers.columns.building import (
    check_feature_columns,
    input_from_feature_columns,
    joint_weighted_sum_from_feature_columns,
    weighted_sum_from_feature_columns,
)
from penstock.contrib.layers.connected import fully_connected
from penstock.contrib.layers.optimizers import OPTIMIZER_CLS_NAMES
from penstock.contrib.layers.shaping import dropout as dropout_layer
from penstock.ops.math.math import zero_fraction
from penstock.summary import summary
from penstock.variables.partitioned import min_max_variable_partitioner

_TABLE_SLICE = 64 << 20


class ComposableModel:
    """What both kinds share. Its variables are in the collection of its ``scope``."""

    default_optimizer: str

    def __init__(self, num_label_columns: int, optimizer: Any, gradient_clip_norm: float | None, num_ps_replicas: int, scope: str,
                 trainable: bool = True) -> None:
        self._num_label_columns, self._optimizer, self._gradient_clip_norm = num_label_columns, optimizer, gradient_clip_norm
        self._num_ps_replicas, self._scope, self._trainable = num_ps_replicas, scope, trainable
        self._feature_columns: Any = None

    def get_scope_name(self) -> str:
        """The name of its scope."""
        return self._scope

    def build_model(self, features: dict[str, Any], feature_columns: Any, is_training: bool) -> Any:
        """The logits."""
        raise NotImplementedError(f"{type(self).__name__}.build_model")

    def default_rate(self) -> float:
        """The learning rate of an optimizer that is given by its name."""
        raise NotImplementedError(f"{type(self).__name__}.default_rate")

    def get_train_step(self, loss: Any) -> list[Any]:
        """The operations that train its variables."""
        variables = tf.get_collection(self._scope) if self._columns() else []
        if not variables:
            return []
        gradients = tf.gradients(loss, variables)
        if self._gradient_clip_norm:
            gradients, _ = tf.clip_by_global_norm(gradients, self._gradient_clip_norm)
        return [self._made_optimizer().apply_gradients(zip(gradients, variables))]

    def _columns(self) -> list[Any]:
        """Its columns, in the order in which they are computed."""
        if not self._feature_columns:
            return []
        check_feature_columns(self._feature_columns)
        return sorted(set(self._feature_columns), key=lambda column: column.key)

    def _made_optimizer(self) -> Any:
        if self._optimizer is None or isinstance(self._optimizer, str):
            return OPTIMIZER_CLS_NAMES[self._optimizer or self.default_optimizer](learning_rate=self.default_rate())
        return self._optimizer() if callable(self._optimizer) else self._optimizer

    def _partition(self, name: str, values: Any, min_slice_size: int = 256 << 10) -> Any:
        return tf.variable_scope(self._scope + name, values=list(values),
                                 partitioner=min_max_variable_partitioner(self._num_ps_replicas, min_slice_size=min_slice_size))


class LinearComposableModel(ComposableModel):
    """A weighted sum of columns."""

    default_optimizer = "Ftrl"

    def __init__(self, num_label_columns: int, optimizer: Any = None, _joint_weights: bool = False, gradient_clip_norm: float | None = None,
                 num_ps_replicas: int = 0, scope: str | None = None, trainable: bool = True) -> None:
        super().__init__(num_label_columns, optimizer, gradient_clip_norm, num_ps_replicas, scope or "linear", trainable)
        self._joint_weights = _joint_weights

    def default_rate(self) -> float:
        """Smaller for many columns."""
        return min(0.2, 1.0 / math.sqrt(len(self._columns())))

    def build_model(self, features: dict[str, Any], feature_columns: Any, is_training: bool) -> Any:
        """The weighted sum."""
        self._feature_columns = feature_columns
        weighted_sum = joint_weighted_sum_from_feature_columns if self._joint_weights else weighted_sum_from_feature_columns
        with self._partition("", features.values(), _TABLE_SLICE) as scope:
            return weighted_sum(features, self._columns(), self._num_label_columns, weight_collections=[self._scope], trainable=self._trainable,
                                scope=scope)[0]

    def get_weights(self, model_dir: str) -> Any:
        """The weights in a checkpoint: {name: value}, or the value if there is one."""
        slot = re.compile(rf".*/{self._made_optimizer().get_name()}(_\d)?$")
        names = [name for name, _ in list_variables(model_dir) if name.startswith(self._scope + "/")]
        values = {name: load_variable(model_dir, name) for name in names if name != f"{self._scope}/bias_weight" and not slot.match(name)}
        return next(iter(values.values())) if len(values) == 1 else values

    def get_bias(self, model_dir: str) -> Any:
        """The bias in a checkpoint."""
        return load_variable(model_dir, f"{self._scope}/bias_weight")


class DNNComposableModel(ComposableModel):
    """A network on columns."""

    default_optimizer = "Adagrad"

    def __init__(self, num_label_columns: int, hidden_units: Any, optimizer: Any = None, activation_fn: Any = tf.relu, dropout: float | None = None,
                 gradient_clip_norm: float | None = None, num_ps_replicas: int = 0, scope: str | None = None, trainable: bool = True) -> None:
        super().__init__(num_label_columns, optimizer, gradient_clip_norm, num_ps_replicas, scope or "dnn", trainable)
        self._hidden_units, self._activation_fn, self._dropout = hidden_units, activation_fn, dropout

    def default_rate(self) -> float:
        """A fixed rate."""
        return 0.05

    def build_model(self, features: dict[str, Any], feature_columns: Any, is_training: bool) -> Any:
        """The logits of the network."""
        self._feature_columns = feature_columns
        with self._partition("/input_from_feature_columns", features.values(), _TABLE_SLICE) as scope:
            net = input_from_feature_columns(features, self._columns(), weight_collections=[self._scope], trainable=self._trainable, scope=scope)
        options = {"variables_collections": [self._scope], "trainable": self._trainable}
        for number, units in enumerate(self._hidden_units):
            with self._partition(f"/hiddenlayer_{number}", [net]) as scope:
                net = fully_connected(net, units, activation_fn=self._activation_fn, scope=scope, **options)
                if self._dropout is not None and is_training:
                    net = dropout_layer(net, keep_prob=1.0 - self._dropout)
            _summarize(net, scope.name)
        with self._partition("/logits", [net]) as scope:
            logits = fully_connected(net, self._num_label_columns, activation_fn=None, scope=scope, **options)
        _summarize(logits, "logits")
        return logits

    def _stored_values(self, model_dir: str, kind: str) -> list[Any]:
        layers = [*(f"hiddenlayer_{number}" for number, _ in enumerate(self._hidden_units)), "logits"]
        return [load_variable(model_dir, f"{self._scope}/{layer}/{kind}") for layer in layers]

    def get_weights(self, model_dir: str) -> list[Any]:
        """The weights of the layers in a checkpoint."""
        return self._stored_values(model_dir, "weights")

    def get_bias(self, model_dir: str) -> list[Any]:
        """The biases of the layers in a checkpoint."""
        return self._stored_values(model_dir, "biases")


def _summarize(value: Any, tag: str) -> None:
    summary.scalar(f"{tag}/fraction_of_zero_values", zero_fraction(value))
    summary.histogram(f"{tag}/activation", value)
