"""Metrics that are the mean of a loss or of an accuracy."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.keras import losses
from penstock.keras.metrics import functions
from penstock.keras.metrics.means import MeanMetricWrapper


def _mean_of(cls_name: str, function: Callable[..., Any]) -> type[MeanMetricWrapper]:
    """A metric class whose constructor takes a name, by default the function's, and a type."""
    def __init__(self: Any, name: str | None = function.__name__, dtype: Any = None) -> None:
        MeanMetricWrapper.__init__(self, function, name, dtype=dtype)

    members = {"__init__": __init__, "__module__": __name__, "__doc__": f"``tf.keras.metrics.{cls_name}``: the mean of ``{function.__name__}``."}
    return type(cls_name, (MeanMetricWrapper,), members)


Accuracy = _mean_of("Accuracy", functions.accuracy)
CategoricalAccuracy = _mean_of("CategoricalAccuracy", functions.categorical_accuracy)
SparseCategoricalAccuracy = _mean_of("SparseCategoricalAccuracy", functions.sparse_categorical_accuracy)
MeanAbsoluteError = _mean_of("MeanAbsoluteError", losses.mean_absolute_error)
MeanAbsolutePercentageError = _mean_of("MeanAbsolutePercentageError", losses.mean_absolute_percentage_error)
MeanSquaredError = _mean_of("MeanSquaredError", losses.mean_squared_error)
MeanSquaredLogarithmicError = _mean_of("MeanSquaredLogarithmicError", losses.mean_squared_logarithmic_error)
Hinge = _mean_of("Hinge", losses.hinge)
SquaredHinge = _mean_of("SquaredHinge", losses.squared_hinge)
CategoricalHinge = _mean_of("CategoricalHinge", losses.categorical_hinge)
LogCoshError = _mean_of("LogCoshError", losses.logcosh)
Poisson = _mean_of("Poisson", losses.poisson)
KLDivergence = _mean_of("KLDivergence", losses.kullback_leibler_divergence)


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
