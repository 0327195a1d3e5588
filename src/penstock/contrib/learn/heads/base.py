"""What a head is, and what heads with one problem have in common.

A head turns logits into ``ModelFnOps``. Each kind says what it predicts, what its loss is and which metrics it has; weights of examples, the centred
bias, summaries and the training step are the same for all. The loss that trains is the mean over examples; the one that is reported is the weighted
average.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.layers.connected import linear
from penstock.contrib.learn.keys import MetricKey, ModeKeys
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.layers.metrics.streaming import mean
from penstock.ops.nn.bias import bias_add
from penstock.platform import logging
from penstock.summary import summary
from penstock.train.rules import AdagradOptimizer
from penstock.variables import creators

TrainOpFn = Callable[[Any], Any]
LossAndAverage = tuple[Any, Any]


class Head:
    """``tf.contrib.learn.Head``: the interface of all heads."""

    head_name: str | None

    @property
    def logits_dimension(self) -> int:
        """How many logits an example has."""
        raise NotImplementedError("Calling an abstract method.")

    def create_model_fn_ops(self, features: Any, mode: str, labels: Any = None, train_op_fn: TrainOpFn | None = None, logits: Any = None,
                            logits_input: Any = None, scope: Any = None) -> ModelFnOps:
        """The outputs of a model with these ``logits``, or with those of a last layer on ``logits_input``."""
        raise NotImplementedError("Calling an abstract method.")


class SingleHead(Head):
    """A head with one problem."""

    default_scope: str
    problem_type: int

    def __init__(self, logits_dimension: int | None, label_name: str | None = None, weight_column_name: str | None = None,
                 enable_centered_bias: bool = False, head_name: str | None = None) -> None:
        if logits_dimension is None or logits_dimension < 1:
            raise ValueError(f"Invalid logits_dimension {logits_dimension}.")
        self._logits_dimension, self._has_centered_bias = logits_dimension, enable_centered_bias
        self.label_name, self.weight_column_name, self.head_name = label_name, weight_column_name, head_name

    @property
    def logits_dimension(self) -> int:
        """How many logits an example has."""
        return self._logits_dimension

    # --- what kinds of heads say -------------------------------------------------------------------------------------

    def used_labels(self, labels: Any) -> Any:
        """The labels as loss and metrics use them."""
        if isinstance(labels, tf.SparseTensor):
            raise ValueError("SparseTensor is not supported.")
        return labels

    def predictions(self, logits: Any) -> dict[str, Any]:
        """Predictions by name."""
        raise NotImplementedError(f"{type(self).__name__}.predictions")

    def loss(self, labels: Any, logits: Any, weights: Any) -> LossAndAverage:
        """(the loss that trains, the weighted average)."""
        raise NotImplementedError(f"{type(self).__name__}.loss")

    def metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        """Its metrics, but for the loss."""
        raise NotImplementedError(f"{type(self).__name__}.metrics")

    def outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """What an exported model gives."""
        return predictions

    # --- what is the same for all ------------------------------------------------------------------------------------

    def create_model_fn_ops(self, features: Any, mode: str, labels: Any = None, train_op_fn: TrainOpFn | None = None, logits: Any = None,
                            logits_input: Any = None, scope: Any = None) -> ModelFnOps:
        """The outputs of a model with these ``logits``, or with those of a last layer on ``logits_input``."""
        with tf.variable_scope(scope, default_name=self.head_name or self.default_scope, values=[*features.values(), logits, logits_input]):
            if mode == ModeKeys.INFER or labels is None:
                labels = None
            else:
                labels = self.used_labels(_chosen_labels(labels, self.label_name))
            logits = _logits(logits_input, logits, self.logits_dimension)
            return self._ops(features, mode, labels, train_op_fn, logits)

    def _ops(self, features: Any, mode: str, labels: Any, train_op_fn: TrainOpFn | None, logits: Any) -> ModelFnOps:
        check_mode(mode)
        bias = _centered_bias(self.logits_dimension, self.head_name) if self._has_centered_bias else None
        if bias is not None:
            logits = bias_add(logits, bias)
        with tf.name_scope(None, "predictions", [logits]):
            predictions = self.predictions(logits)
        outputs = {self.head_name: (self.problem_type, self.outputs(predictions))}
        if labels is None:
            return ModelFnOps(mode, predictions, output_alternatives=outputs)
        weights = _example_weights(features, self.weight_column_name)
        loss, average = self.loss(labels, logits, weights)
        summarize_loss(self.named(MetricKey.LOSS), average)
        train_op = None
        if mode == ModeKeys.TRAIN:
            step = None if bias is None else self._bias_step(bias, tf.shape(logits)[0], labels, weights)
            train_op = training_op(loss, train_op_fn, step)
        with tf.name_scope("metrics"):
            metrics = {MetricKey.LOSS: mean(average), **self.metrics(predictions, labels, weights)}
        return ModelFnOps(mode, predictions, loss, train_op, {self.named(key): value for key, value in metrics.items()}, outputs)

    def named(self, key: str) -> str:
        """The key of a metric, with the name of the head, if it has one."""
        return f"{key}/{self.head_name}" if self.head_name else key

    def _bias_step(self, bias: Any, batch: Any, labels: Any, weights: Any) -> Any:
        """Trains the centred bias, as if it were all logits."""
        with tf.name_scope(None, "centered_bias_step") as name:
            logits = tf.reshape(tf.tile(bias, (batch,)), (batch, self.logits_dimension))
            with tf.name_scope(None, "centered_bias", [logits]):
                loss = tf.reduce_mean(tf.stack(self.loss(labels, logits, weights)), name="training_loss")
        return AdagradOptimizer(0.1).minimize(loss, var_list=[bias], name=name)


def check_mode(mode: str) -> None:
    """ValueError unless it is a mode."""
    if mode not in (ModeKeys.TRAIN, ModeKeys.INFER, ModeKeys.EVAL):
        raise ValueError(f"mode={mode} unrecognized.")


def training_op(loss: Any, train_op_fn: TrainOpFn | None, also: Any = None) -> Any:
    """What ``train_op_fn`` makes of the loss, together with another step."""
    if train_op_fn is None:
        raise ValueError("train_op_fn can not be None in TRAIN mode")
    with tf.name_scope(None, "train_op", [loss]):
        train_op = train_op_fn(loss)
        return train_op if also is None else tf.group(train_op, also)


def summarize_loss(key: str, loss: Any) -> None:
    """A summary of the loss, outside of all name scopes."""
    with tf.name_scope(""):
        summary.scalar(key, tf.identity(loss))


def _chosen_labels(labels: Any, name: str | None) -> Any:
    if isinstance(labels, dict):
        if name not in labels:
            raise KeyError(f"There are no labels called {name!r}. There are {sorted(map(str, labels))}; label_name of the head chooses.")
        labels = labels[name]
    return labels if isinstance(labels, tf.SparseTensor) else tf.convert_to_tensor(labels)


def _logits(logits_input: Any, logits: Any, dimension: int) -> Any:
    if logits is None:
        if logits_input is None:
            raise ValueError("Neither logits nor logits_input supplied.")
        return linear(logits_input, dimension, scope="logits")
    if logits_input is not None:
        raise ValueError("Both logits and logits_input supplied.")
    logits = tf.convert_to_tensor(logits, name="logits")
    if logits.shape.ndims is not None:
        logits.shape[-1].assert_is_compatible_with(dimension)
    return logits


def _centered_bias(dimension: int, head_name: str | None) -> Any:
    bias = creators.create(name="centered_bias_weight", initial_value=tf.zeros((dimension,)), trainable=True)
    for number in range(dimension):
        summary.scalar(f"centered_bias/bias_{number}" + (f"/{head_name}" if head_name else ""), bias[number])
    return bias


# --- losses ----------------------------------------------------------------------------------------------------------

def _example_weights(features: Any, name: str | None) -> Any:
    """The weights of examples, [batch, 1]; None without a column of weights."""
    if not name:
        return None
    if name not in features:
        raise ValueError(f"Weights {name} missing from features. There are {sorted(map(str, features))}.")
    with tf.name_scope(None, "weight_tensor"):
        weights = tf.cast(features[name], tf.float32)
        if weights.shape.ndims != 1:
            return weights
        logging.warning("Weights %s has shape %s, expanding to make it 2d.", name, weights.shape)
        return tf.reshape(weights, (-1, 1))


def mean_and_average(losses: Any, weights: Any) -> LossAndAverage:
    """(the mean of the weighted losses, their average by weight) of the losses of examples."""
    with tf.name_scope("loss") as scope:
        if weights is None:
            loss = tf.reduce_mean(losses, name=scope)
            return loss, loss
        weights = tf.broadcast_weights(weights, losses)
        weighted = tf.multiply(losses, weights, name="weighted_loss")
        average = tf.div(tf.reduce_sum(weighted), tf.reduce_sum(weights), name="weighted_average_loss")
        return tf.reduce_mean(weighted, name=scope), average


def as_column(tensor: Any) -> Any:
    """A vector as a matrix with one column; a matrix as it is."""
    tensor = tf.convert_to_tensor(tensor)
    return tf.expand_dims(tensor, axis=1) if tensor.shape.ndims == 1 else tensor
