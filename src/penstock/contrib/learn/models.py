"""Small models from the first months of ``tf.contrib.learn``: functions that return (predictions, loss)."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.layers import losses
from penstock.ops.nn.bias import xw_plus_b
from penstock.ops.sparse import embedding
from penstock.summary import summary
from penstock.variables.initializers import RandomNormal


def linear_regression(x: Any, y: Any, init_mean: float | None = None, init_stddev: float = 1.0) -> tuple[Any, Any]:
    """``tf.contrib.learn.models.linear_regression``: numbers by a weighted sum."""
    with tf.variable_scope("linear_regression"):
        weights, bias = _weights(x, y, 1 if y.shape.ndims == 1 else y.shape.as_list()[1], init_mean, init_stddev)
        return mean_squared_error_regressor(x, y, weights, bias)


def linear_regression_zero_init(x: Any, y: Any) -> tuple[Any, Any]:
    """``tf.contrib.learn.models.linear_regression_zero_init``: the same; weights begin at zero."""
    return linear_regression(x, y, init_mean=0.0, init_stddev=0.0)


def logistic_regression(x: Any, y: Any, class_weight: Any = None, init_mean: float | None = None, init_stddev: float = 1.0) -> tuple[Any, Any]:
    """``tf.contrib.learn.models.logistic_regression``: probabilities of classes, which ``y`` has as rows with one 1."""
    with tf.variable_scope("logistic_regression"):
        weights, bias = _weights(x, y, y.shape.as_list()[-1], init_mean, init_stddev)
        return softmax_classifier(x, y, weights, bias, class_weight=class_weight)


def logistic_regression_zero_init(x: Any, y: Any) -> tuple[Any, Any]:
    """``tf.contrib.learn.models.logistic_regression_zero_init``: the same; weights begin at zero."""
    return logistic_regression(x, y, init_mean=0.0, init_stddev=0.0)


def _weights(x: Any, y: Any, outputs: int, init_mean: float | None, init_stddev: float) -> tuple[Any, Any]:
    """(weights, bias), with histograms of them and of the data."""
    scope = tf.get_default_graph().get_name_scope()
    _show(scope, x=x, y=y)
    dtype = x.dtype.base_dtype
    initializer = None if init_mean is None else RandomNormal(init_mean, init_stddev, dtype=dtype)
    weights = tf.get_variable("weights", [x.shape.as_list()[1], outputs], dtype, initializer)
    bias = tf.get_variable("bias", [outputs], dtype, initializer)
    _show(scope, weights=weights, bias=bias)
    return weights, bias


def _show(scope: str, **values: Any) -> None:
    for name, value in values.items():
        summary.histogram(f"{scope}.{name}", value)


# --- tf.contrib.learn.ops --------------------------------------------------------------------------------------------

def mean_squared_error_regressor(tensor_in: Any, labels: Any, weights: Any, biases: Any, name: str | None = None) -> tuple[Any, Any]:
    """``tf.contrib.learn.ops.mean_squared_error_regressor``: (predictions, loss)."""
    with tf.name_scope(name, "mean_squared_error_regressor", [tensor_in, labels]):
        predictions = xw_plus_b(tensor_in, weights, biases)
        if labels.shape.ndims == 1 and predictions.shape.ndims == 2:
            predictions = tf.squeeze(predictions, axis=[1])
        return predictions, losses.mean_squared_error(labels, predictions)


def softmax_classifier(tensor_in: Any, labels: Any, weights: Any, biases: Any, class_weight: Any = None,
                       name: str | None = None) -> tuple[Any, Any]:
    """``tf.contrib.learn.ops.softmax_classifier``: (probabilities, loss)."""
    with tf.name_scope(name, "softmax_classifier", [tensor_in, labels]):
        logits = xw_plus_b(tensor_in, weights, biases)
        if class_weight is not None:
            logits = tf.multiply(logits, class_weight)
        return tf.softmax(logits), losses.softmax_cross_entropy(labels, logits)


def embedding_lookup(params: Any, ids: Any, name: str = "embedding_lookup") -> Any:
    """``tf.contrib.learn.ops.embedding_lookup``: the rows of ``params`` with these ids, of any shape."""
    return embedding.embedding_lookup(params, ids, name=name)


def categorical_variable(tensor_in: Any, n_classes: int, embedding_size: int, name: str) -> Any:
    """``tf.contrib.learn.ops.categorical_variable``: embeddings of numbers of classes."""
    with tf.variable_scope(name):
        return embedding_lookup(tf.get_variable(f"{name}_embeddings", [n_classes, embedding_size]), tensor_in)
