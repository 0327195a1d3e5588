"""Canned baselines, which do not look at features: classifiers and regressors."""
from __future__ import annotations

from typing import Any

from penstock.estimator.canned.class_heads import class_head
from penstock.estimator.canned.models import baseline_model_fn
from penstock.estimator.canned.regression_head import RegressionHead
from penstock.estimator.estimator import Estimator
from penstock.layers.losses import Reduction


class BaselineClassifier(Estimator):
    """``tf.estimator.BaselineClassifier``: the frequencies of classes."""

    def __init__(self, model_dir: Any = None, n_classes: int = 2, weight_column: Any = None, label_vocabulary: Any = None, optimizer: Any = "Ftrl",
                 config: Any = None, loss_reduction: str = Reduction.SUM) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(baseline_model_fn(head, optimizer), model_dir, config)


class BaselineRegressor(Estimator):
    """``tf.estimator.BaselineRegressor``: the mean of labels."""

    def __init__(self, model_dir: Any = None, label_dimension: int = 1, weight_column: Any = None, optimizer: Any = "Ftrl", config: Any = None,
                 loss_reduction: str = Reduction.SUM) -> None:
        super().__init__(baseline_model_fn(RegressionHead(weight_column, label_dimension, loss_reduction), optimizer), model_dir, config)
