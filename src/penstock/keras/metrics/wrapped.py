"""Metrics that are the mean of a loss or of an accuracy."""
from __future__ import annotations

from typing import Any

from penstock.keras import losses
from penstock.keras.metrics import functions
from penstock.keras.metrics.means import MeanMetricWrapper


class Accuracy(MeanMetricWrapper):
    """``tf.keras.metrics.Accuracy``."""

    def __init__(self, name: str | None = "accuracy", dtype: Any = None) -> None:
        super().__init__(functions.accuracy, name, dtype=dtype)


class CategoricalAccuracy(MeanMetricWrapper):
    """``tf.keras.metrics.CategoricalAccuracy``."""

    def __init__(self, name: str | None = "categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(functions.categorical_accuracy, name, dtype=dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """``tf.keras.metrics.SparseCategoricalAccuracy``."""

    def __init__(self, name: str | None = "sparse_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(functions.sparse_categorical_accuracy, name, dtype=dtype)


class MeanAbsoluteError(MeanMetricWrapper):
    """``tf.keras.metrics.MeanAbsoluteError``."""

    def __init__(self, name: str | None = "mean_absolute_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_absolute_error, name, dtype=dtype)


class MeanAbsolutePercentageError(MeanMetricWrapper):
    """``tf.keras.metrics.MeanAbsolutePercentageError``."""

    def __init__(self, name: str | None = "mean_absolute_percentage_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_absolute_percentage_error, name, dtype=dtype)


class MeanSquaredError(MeanMetricWrapper):
    """``tf.keras.metrics.MeanSquaredError``."""

    def __init__(self, name: str | None = "mean_squared_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_squared_error, name, dtype=dtype)


class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """``tf.keras.metrics.MeanSquaredLogarithmicError``."""

    def __init__(self, name: str | None = "mean_squared_logarithmic_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_squared_logarithmic_error, name, dtype=dtype)


class Hinge(MeanMetricWrapper):
    """``tf.keras.metrics.Hinge``."""

    def __init__(self, name: str | None = "hinge", dtype: Any = None) -> None:
        super().__init__(losses.hinge, name, dtype=dtype)


class SquaredHinge(MeanMetricWrapper):
    """``tf.keras.metrics.SquaredHinge``."""

    def __init__(self, name: str | None = "squared_hinge", dtype: Any = None) -> None:
        super().__init__(losses.squared_hinge, name, dtype=dtype)


class CategoricalHinge(MeanMetricWrapper):
    """``tf.keras.metrics.CategoricalHinge``."""

    def __init__(self, name: str | None = "categorical_hinge", dtype: Any = None) -> None:
        super().__init__(losses.categorical_hinge, name, dtype=dtype)


class LogCoshError(MeanMetricWrapper):
    """``tf.keras.metrics.LogCoshError``."""

    def __init__(self, name: str | None = "logcosh", dtype: Any = None) -> None:
        super().__init__(losses.logcosh, name, dtype=dtype)


class Poisson(MeanMetricWrapper):
    """``tf.keras.metrics.Poisson``."""

    def __init__(self, name: str | None = "poisson", dtype: Any = None) -> None:
        super().__init__(losses.poisson, name, dtype=dtype)


class KLDivergence(MeanMetricWrapper):
    """``tf.keras.metrics.KLDivergence``."""

    def __init__(self, name: str | None = "kullback_leibler_divergence", dtype: Any = None) -> None:
        super().__init__(losses.kullback_leibler_divergence, name, dtype=dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """``tf.keras.metrics.BinaryAccuracy``."""

    def __init__(self, name: str | None = "binary_accuracy", dtype: Any = None, threshold: float = 0.5) -> None:
        super().__init__(functions.binary_accuracy, name, dtype=dtype, threshold=threshold)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """``tf.keras.metrics.TopKCategoricalAccuracy``."""

    def __init__(self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(functions.top_k_categorical_accuracy, name, dtype=dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """``tf.keras.metrics.SparseTopKCategoricalAccuracy``."""

    def __init__(self, k: int = 5, name: str | None = "sparse_top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(functions.sparse_top_k_categorical_accuracy, name, dtype=dtype, k=k)


class CosineSimilarity(MeanMetricWrapper):
    """``tf.keras.metrics.CosineSimilarity``."""

    def __init__(self, name: str | None = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(losses.cosine_proximity, name, dtype=dtype, axis=axis)


class BinaryCrossentropy(MeanMetricWrapper):
    """``tf.keras.metrics.BinaryCrossentropy``."""

    def __init__(self, name: str | None = "binary_crossentropy", dtype: Any = None, from_logits: bool = False, label_smoothing: Any = 0) -> None:
        super().__init__(losses.binary_crossentropy, name, dtype=dtype, from_logits=from_logits, label_smoothing=label_smoothing)


class CategoricalCrossentropy(MeanMetricWrapper):
    """``tf.keras.metrics.CategoricalCrossentropy``."""

    def __init__(self, name: str | None = "categorical_crossentropy", dtype: Any = None, from_logits: bool = False,
                 label_smoothing: Any = 0) -> None:
        super().__init__(losses.categorical_crossentropy, name, dtype=dtype, from_logits=from_logits, label_smoothing=label_smoothing)


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """``tf.keras.metrics.SparseCategoricalCrossentropy``."""

    def __init__(self, name: str | None = "sparse_categorical_crossentropy", dtype: Any = None, from_logits: bool = False, axis: int = -1) -> None:
        super().__init__(losses.sparse_categorical_crossentropy, name, dtype=dtype, from_logits=from_logits, axis=axis)
