"""Estimators of gradient boosted trees: ``tf.contrib.boosted_trees.estimator_batch.estimator``."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.boosted_trees.learner_config import LearnerConfig
from penstock.contrib.boosted_trees.losses import per_example_maxent_loss
from penstock.contrib.boosted_trees.model import model_builder
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.heads.classes import multi_class_head
from penstock.contrib.learn.heads.regression import regression_head
from penstock.errors import UnimplementedError


class _TreeEstimator(Estimator):
    """What all of them share."""

    def __init__(self, learner_config: LearnerConfig, examples_per_layer: Any, head: Any, num_trees: int | None, feature_columns: Any,
                 weight_column_name: str | None, model_dir: str | None, config: Any, feature_engineering_fn: Any, logits_modifier_function: Any,
                 center_bias: bool, num_quantiles: int, not_here: dict[str, Any]) -> None:
        for name, value in not_here.items():
            if value:
                raise UnimplementedError(None, None, f"{type(self).__name__}({name}=...) is not supported: leave it out.")
        params = {"head": head, "feature_columns": feature_columns, "learner_config": learner_config, "num_trees": num_trees,
                  "weight_column_name": weight_column_name, "examples_per_layer": examples_per_layer, "center_bias": center_bias,
                  "logits_modifier_function": logits_modifier_function, "num_quantiles": num_quantiles}
        super().__init__(model_fn=model_builder, model_dir=model_dir, config=config, params=params, feature_engineering_fn=feature_engineering_fn)


class GradientBoostedDecisionTreeClassifier(_TreeEstimator):
    """Classes by trees. A layer grows when ``examples_per_layer`` examples, or as many as a function of the layer's number says, were seen."""

    def __init__(self, learner_config: LearnerConfig, examples_per_layer: Any, n_classes: int = 2, num_trees: int | None = None,
                 feature_columns: Any = None, weight_column_name: str | None = None, model_dir: str | None = None, config: Any = None,
                 label_keys: Any = None, feature_engineering_fn: Any = None, logits_modifier_function: Any = None, center_bias: bool = True,
                 use_core_libs: bool = False, output_leaf_index: bool = False, override_global_step_value: int | None = None,
                 num_quantiles: int = 100) -> None:
        def loss_fn(labels: Any, logits: Any, weights: Any = None) -> Any:
            return tf.reduce_mean(per_example_maxent_loss(labels=labels, logits=logits, weights=weights, num_classes=n_classes)[0])
        head = multi_class_head(n_classes, weight_column_name=weight_column_name, loss_fn=loss_fn if n_classes > 2 else None, label_keys=label_keys)
        if learner_config.num_classes not in (0, n_classes):
            raise ValueError(f"n_classes ({n_classes}) doesn't match learner_config ({learner_config.num_classes}).")
        learner_config.num_classes = n_classes
        super().__init__(learner_config, examples_per_layer, head, num_trees, feature_columns, weight_column_name, model_dir, config,
                         feature_engineering_fn, logits_modifier_function, center_bias, num_quantiles,
                         {"use_core_libs": use_core_libs, "output_leaf_index": output_leaf_index,
                          "override_global_step_value": override_global_step_value})


class GradientBoostedDecisionTreeRegressor(_TreeEstimator):
    """Numbers by trees."""

    def __init__(self, learner_config: LearnerConfig, examples_per_layer: Any, label_dimension: int = 1, num_trees: int | None = None,
                 feature_columns: Any = None, label_name: str | None = None, weight_column_name: str | None = None, model_dir: str | None = None,
                 config: Any = None, feature_engineering_fn: Any = None, logits_modifier_function: Any = None, center_bias: bool = True,
                 use_core_libs: bool = False, output_leaf_index: bool = False, override_global_step_value: int | None = None,
                 num_quantiles: int = 100) -> None:
        head = regression_head(label_name=label_name, label_dimension=label_dimension, weight_column_name=weight_column_name)
        learner_config.num_classes = max(label_dimension, 2)
        super().__init__(learner_config, examples_per_layer, head, num_trees, feature_columns, weight_column_name, model_dir, config,
                         feature_engineering_fn, logits_modifier_function, center_bias, num_quantiles,
                         {"use_core_libs": use_core_libs, "output_leaf_index": output_leaf_index,
                          "override_global_step_value": override_global_step_value})


class GradientBoostedDecisionTreeEstimator(_TreeEstimator):
    """Trees under a head of ``tf.contrib.learn``."""

    def __init__(self, learner_config: LearnerConfig, examples_per_layer: Any, head: Any, num_trees: int | None = None, feature_columns: Any = None,
                 weight_column_name: str | None = None, model_dir: str | None = None, config: Any = None, feature_engineering_fn: Any = None,
                 logits_modifier_function: Any = None, center_bias: bool = True, use_core_libs: bool = False, output_leaf_index: bool = False,
                 override_global_step_value: int | None = None, num_quantiles: int = 100) -> None:
        learner_config.num_classes = learner_config.num_classes or max(head.logits_dimension, 2)
        super().__init__(learner_config, examples_per_layer, head, num_trees, feature_columns, weight_column_name, model_dir, config,
                         feature_engineering_fn, logits_modifier_function, center_bias, num_quantiles,
                         {"use_core_libs": use_core_libs, "output_leaf_index": output_leaf_index,
                          "override_global_step_value": override_global_step_value})
