"""The heads of canned estimators as TensorFlow's private functions make them: those of ``tf.contrib.estimator``, with the sum as their loss."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.estimator.heads.classes import BinaryClassHead, MultiClassHead
from penstock.estimator.heads.contrib_heads import binary_classification_head, multi_class_head
from penstock.estimator.heads.contrib_heads import regression_head as mean_regression_head
from penstock.estimator.heads.regression import RegressionHead
from penstock.layers.losses import Reduction


def multi_class_head_with_softmax_cross_entropy_loss(n_classes: int, weight_column: Any = None, label_vocabulary: Any = None,
                                                     loss_reduction: str = Reduction.SUM, loss_fn: Callable[..., Any] | None = None,
                                                     name: str | None = None) -> MultiClassHead:
    """More than two classes."""
    return multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def binary_logistic_head_with_sigmoid_cross_entropy_loss(weight_column: Any = None, thresholds: Any = None, label_vocabulary: Any = None,
                                                         loss_reduction: str = Reduction.SUM, loss_fn: Callable[..., Any] | None = None,
                                                         name: str | None = None) -> BinaryClassHead:
    """Two classes."""
    return binary_classification_head(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


def regression_head(weight_column: Any = None, label_dimension: int = 1, loss_reduction: str = Reduction.SUM,
                    loss_fn: Callable[..., Any] | None = None, inverse_link_fn: Callable[[Any], Any] | None = None,
                    name: str | None = None) -> RegressionHead:
    """Numbers."""
    return mean_regression_head(weight_column, label_dimension, loss_reduction, loss_fn, inverse_link_fn, name)


regression_head_with_mean_squared_error_loss = regression_head  # its name up to TensorFlow 1.7
