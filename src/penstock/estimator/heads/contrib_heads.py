"""``tf.contrib.estimator``'s functions that make heads: the classes under their older names, with arguments in their older order."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.estimator.heads.classes import BinaryClassHead, CannedMultiClassHead, MultiClassHead, MultiLabelHead
from penstock.estimator.heads.multi import MultiHead
from penstock.estimator.heads.regression import LogisticRegressionHead, PoissonRegressionHead, RegressionHead
from penstock.layers.losses import Reduction

_OVER_BATCH = Reduction.SUM_OVER_BATCH_SIZE


def binary_classification_head(weight_column: Any = None, thresholds: Any = None, label_vocabulary: Any = None, loss_reduction: str = _OVER_BATCH,
                               loss_fn: Callable[..., Any] | None = None, name: str | None = None) -> BinaryClassHead:
    """``tf.contrib.estimator.binary_classification_head``."""
    return BinaryClassHead(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


def multi_class_head(n_classes: int, weight_column: Any = None, label_vocabulary: Any = None, loss_reduction: str = _OVER_BATCH,
                     loss_fn: Callable[..., Any] | None = None, name: str | None = None) -> MultiClassHead:
    """``tf.contrib.estimator.multi_class_head``."""
    return CannedMultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def multi_label_head(n_classes: int, weight_column: Any = None, thresholds: Any = None, label_vocabulary: Any = None,
                     loss_reduction: str = _OVER_BATCH, loss_fn: Callable[..., Any] | None = None, classes_for_class_based_metrics: Any = None,
                     name: str | None = None) -> MultiLabelHead:
    """``tf.contrib.estimator.multi_label_head``."""
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for multi-class classification. Given: {n_classes}")
    return MultiLabelHead(n_classes, weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, classes_for_class_based_metrics, name)


def regression_head(weight_column: Any = None, label_dimension: int = 1, loss_reduction: str = _OVER_BATCH,
                    loss_fn: Callable[..., Any] | None = None, inverse_link_fn: Callable[[Any], Any] | None = None,
                    name: str | None = None) -> RegressionHead:
    """``tf.contrib.estimator.regression_head``."""
    return RegressionHead(label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name)


def poisson_regression_head(weight_column: Any = None, label_dimension: int = 1, loss_reduction: str = _OVER_BATCH, compute_full_loss: bool = True,
                            name: str | None = None) -> PoissonRegressionHead:
    """``tf.contrib.estimator.poisson_regression_head``."""
    return PoissonRegressionHead(label_dimension, weight_column, loss_reduction, compute_full_loss, name)


def logistic_regression_head(weight_column: Any = None, loss_reduction: str = _OVER_BATCH, name: str | None = None) -> LogisticRegressionHead:
    """``tf.contrib.estimator.logistic_regression_head``."""
    return LogisticRegressionHead(weight_column, loss_reduction, name)


def multi_head(heads: Any, head_weights: Any = None) -> MultiHead:
    """``tf.contrib.estimator.multi_head``."""
    return MultiHead(heads, head_weights)
