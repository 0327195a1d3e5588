"""Canned baselines, which do not look at features."""
from __future__ import annotations

from typing import Any

from penstock.estimator.canned.models import baseline_model_fn
from penstock.estimator.estimator import Estimator
from penstock.estimator.heads.base import Head
from penstock.estimator.heads.classes import class_head
from penstock.estimator.heads.regression import RegressionHead
from penstock.layers.losses import Reduction


class BaselineEstimator(Estimator):
    """``tf.estimator.BaselineEstimator``: the same logits for every example, under a head of one's choice."""

    def __init__(self, head: Head, model_dir: Any = None, optimizer: Any = "Ftrl", config: Any = None) -> None:
        super().__init__(baseline_model_fn(head, optimizer), model_dir, config)


class BaselineClassifier(BaselineEstimator):
    """``tf.estimator.BaselineClassifier``: the frequencies of classes."""

    def __init__(self, model_dir: Any = None, n_classes: int = 2, weight_column: Any = None, label_vocabulary: Any = None, optimizer: Any = "Ftrl",
                 config: Any = None, loss_reduction: str = Reduction.SUM) -> None:
        super().__init__(class_head(n_classes, weight_column, label_vocabulary, loss_reduction), model_dir, optimizer, config)


class BaselineRegressor(BaselineEstimator):
    """``tf.estimator.BaselineRegressor``: the mean of labels."""

    def __init__(self, model_dir: Any = None, label_dimension: int = 1, weight_column: Any = None, optimizer: Any = "Ftrl", config: Any = None,
                 loss_reduction: str = Reduction.SUM) -> None:
        super().__init__(RegressionHead(label_dimension, weight_column, loss_reduction), model_dir, optimizer, config)
