"""Canned linear models."""
from __future__ import annotations

from typing import Any

from penstock.estimator.canned.models import linear_model_fn
from penstock.estimator.canned.sdca import LinearSDCA, sdca_model_fn
from penstock.estimator.estimator import Estimator
from penstock.estimator.heads.base import Head
from penstock.estimator.heads.classes import class_head
from penstock.estimator.heads.regression import RegressionHead
from penstock.layers.losses import Reduction


class LinearEstimator(Estimator):
    """``tf.estimator.LinearEstimator``: a weighted sum of columns, under a head of one's choice."""

    def __init__(self, head: Head, feature_columns: Any, model_dir: Any = None, optimizer: Any = "Ftrl", config: Any = None,
                 partitioner: Any = None, sparse_combiner: str = "sum", warm_start_from: Any = None) -> None:
        columns = tuple(feature_columns or ())
        if isinstance(optimizer, LinearSDCA):
            model_fn = sdca_model_fn(head, columns, optimizer, partitioner, sparse_combiner)
        else:
            model_fn = linear_model_fn(head, columns, optimizer, partitioner, sparse_combiner)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearClassifier(LinearEstimator):
    """``tf.estimator.LinearClassifier``: classes by a weighted sum of columns."""

    def __init__(self, feature_columns: Any, model_dir: Any = None, n_classes: int = 2, weight_column: Any = None, label_vocabulary: Any = None,
                 optimizer: Any = "Ftrl", config: Any = None, partitioner: Any = None, warm_start_from: Any = None,
                 loss_reduction: str = Reduction.SUM, sparse_combiner: str = "sum") -> None:
        super().__init__(class_head(n_classes, weight_column, label_vocabulary, loss_reduction), feature_columns, model_dir, optimizer, config,
                         partitioner, sparse_combiner, warm_start_from)


class LinearRegressor(LinearEstimator):
    """``tf.estimator.LinearRegressor``: numbers by a weighted sum of columns."""

    def __init__(self, feature_columns: Any, model_dir: Any = None, label_dimension: int = 1, weight_column: Any = None, optimizer: Any = "Ftrl",
                 config: Any = None, partitioner: Any = None, warm_start_from: Any = None, loss_reduction: str = Reduction.SUM,
                 sparse_combiner: str = "sum") -> None:
        super().__init__(RegressionHead(label_dimension, weight_column, loss_reduction), feature_columns, model_dir, optimizer, config, partitioner,
                         sparse_combiner, warm_start_from)
