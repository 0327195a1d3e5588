"""Metrics as functions of targets and predictions: a value per sample."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.layers import settings
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import squeeze
from penstock.ops.math.argmax import argmax
from penstock.ops.math.compare import equal, greater
from penstock.ops.math.reduce import reduce_mean
from penstock.ops.nn.nn_ops import in_top_k


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """1 where predictions are equal to targets."""
    y_pred.shape.assert_is_compatible_with(y_true.shape)
    return cast(equal(y_true, cast(y_pred, y_true.dtype)), settings.floatx())


def binary_accuracy(y_true: Any, y_pred: Any, threshold: Any = 0.5) -> Any:
    """``tf.keras.metrics.binary_accuracy``: how often predictions are on the right side of the threshold."""
    y_pred = to_tensor(y_pred)
    decided = cast(greater(y_pred, cast(threshold, y_pred.dtype)), y_pred.dtype)
    return reduce_mean(cast(equal(y_true, decided), settings.floatx()), axis=-1)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.metrics.categorical_accuracy``."""
    return cast(equal(argmax(y_true, axis=-1), argmax(y_pred, axis=-1)), settings.floatx())


def _numbers(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Numbers of classes without a last axis that the predictions have, too."""
    y_true, y_pred = to_tensor(y_true), to_tensor(y_pred)
    if y_true.shape.ndims is not None and y_true.shape.ndims == y_pred.shape.ndims:
        y_true = squeeze(y_true, [-1])
    return y_true, y_pred


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.metrics.sparse_categorical_accuracy``."""
    y_true, y_pred = _numbers(y_true, y_pred)
    return cast(equal(y_true, cast(argmax(y_pred, axis=-1), y_true.dtype)), settings.floatx())


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """``tf.keras.metrics.top_k_categorical_accuracy``."""
    return cast(in_top_k(y_pred, argmax(y_true, axis=-1), k), settings.floatx())


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """``tf.keras.metrics.sparse_top_k_categorical_accuracy``."""
    y_true, y_pred = _numbers(y_true, y_pred)
    return cast(in_top_k(y_pred, cast(y_true, dtypes.int32), k), settings.floatx())
