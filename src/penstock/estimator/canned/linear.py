"""Canned linear models: classifiers and regressors."""
from __future__ import annotations

from typing import Any

from penstock.estimator.canned.class_heads import class_head
from penstock.estimator.canned.models import linear_model_fn
from penstock.estimator.canned.regression_head import RegressionHead
from penstock.estimator.estimator import Estimator
from penstock.layers.losses import Reduction


class LinearClassifier(Estimator):
    """``tf.estimator.LinearClassifier``: classes by a weighted sum of columns."""

    def __init__(self, feature_columns: Any, model_dir: Any = None, n_classes: int = 2, weight_column: Any = None, label_vocabulary: Any = None,
                 optimizer: Any = "Ftrl", config: Any = None, partitioner: Any = None, warm_start_from: Any = None,
                 loss_reduction: str = Reduction.SUM, sparse_combiner: str = "sum") -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(linear_model_fn(head, tuple(feature_columns or ()), optimizer, partitioner, sparse_combiner), model_dir, config,
                         warm_start_from=warm_start_from)


class LinearRegressor(Estimator):
    """``tf.estimator.LinearRegressor``: numbers by a weighted sum of columns."""

    def __init__(self, feature_columns: Any, model_dir: Any = None, label_dimension: int = 1, weight_column: Any = None, optimizer: Any = "Ftrl",
                 config: Any = None, partitioner: Any = None, warm_start_from: Any = None, loss_reduction: str = Reduction.SUM,
                 sparse_combiner: str = "sum") -> None:
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        super().__init__(linear_model_fn(head, tuple(feature_columns or ()), optimizer, partitioner, sparse_combiner), model_dir, config,
                         warm_start_from=warm_start_from)
