"""Forests as estimators: ``tf.contrib.tensor_forest.client.random_forest``.

The loss of the head is reported, and does not train: the graph of the forest does.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.layers.columns.building import transform_features
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.heads import classes, regression
from penstock.contrib.learn.keys import CORE_MODES, ModeKeys, ProblemType
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.contrib.tensor_forest import eval_metrics
from penstock.contrib.tensor_forest.graphs import RandomForestGraphs
from penstock.contrib.tensor_forest.hooks import LOSS_NAME, TensorForestLossHook, TensorForestRunOpAtEndHook
from penstock.estimator.columns.base import FeatureCache
from penstock.estimator.estimator import Estimator as CoreEstimator
from penstock.estimator.export_outputs import PredictOutput
from penstock.estimator.heads import contrib_heads
from penstock.layers.losses import Reduction
from penstock.summary import summary
from penstock.train.global_step import get_global_step
from penstock.variables.scope import variable_scope

KEYS_NAME, TREE_PATHS_PREDICTION_KEY, VARIANCE_PREDICTION_KEY = "keys", "tree_paths", "prediction_variance"
ALL_SERVING_KEY, EPSILON = "tensorforest_all", 0.000001
__all__ = ["ALL_SERVING_KEY", "EPSILON", "KEYS_NAME", "LOSS_NAME", "TREE_PATHS_PREDICTION_KEY", "VARIANCE_PREDICTION_KEY",
           "CoreTensorForestEstimator", "ModelBuilderOutputType", "MultiForestMultiHeadEstimator", "TensorForestEstimator", "get_combined_model_fn",
           "get_model_fn"]


class ModelBuilderOutputType:
    """What a model function gives: the operations of ``tf.contrib.learn``, or a spec of ``tf.estimator``."""

    MODEL_FN_OPS = 0
    ESTIMATOR_SPEC = 1


def _default_head(params: Any, weights: str | None, output_type: int) -> Any:
    if output_type == ModelBuilderOutputType.MODEL_FN_OPS:
        if params.regression:
            return regression.regression_head(weight_column_name=weights, label_dimension=params.num_outputs)
        return classes.multi_class_head(params.num_classes, weight_column_name=weights)
    options: dict[str, Any] = {"weight_column": weights, "loss_reduction": Reduction.SUM_OVER_BATCH_SIZE}
    if params.regression:
        return contrib_heads.regression_head(label_dimension=params.num_outputs, **options)
    if params.num_classes == 2:
        return contrib_heads.binary_classification_head(**options)
    return contrib_heads.multi_class_head(params.num_classes, **options)


def get_model_fn(params: Any, graph_builder_class: Any, device_assigner: Any, feature_columns: Any = None, weights_name: str | None = None,
                 model_head: Any = None, keys_name: str | None = None, early_stopping_rounds: int | None = 100,
                 early_stopping_loss_threshold: float = 0.001, num_trainers: int = 1, trainer_id: int = 0, report_feature_importances: bool = False,
                 local_eval: bool = False, head_scope: Any = None, include_all_in_serving: bool = False,
                 output_type: int = ModelBuilderOutputType.MODEL_FN_OPS) -> Callable[..., Any]:
    """A model function of a forest with filled parameters."""
    head = _default_head(params, weights_name, output_type) if model_head is None else model_head
    of_learn = output_type == ModelBuilderOutputType.MODEL_FN_OPS

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        features = _by_name(features, feature_columns, of_learn)
        weights, keys = (features.pop(name) if name and name in features else None for name in (weights_name, keys_name))
        predicts = mode in (ModeKeys.INFER, CORE_MODES[ModeKeys.INFER])
        assigner = None if predicts or (local_eval and mode == ModeKeys.EVAL) else device_assigner
        forest = graph_builder_class(params, device_assigner=assigner)
        logits, paths, variance = forest.inference_graph(features)
        summary.scalar("average_tree_size", forest.average_size())
        if not params.regression and params.num_classes == 2:
            logits = _log_odds(logits)
        step = None
        if labels is not None and mode == ModeKeys.TRAIN:
            with tf.control_dependencies([logits.op]):
                grow = forest.training_graph(features, labels, input_weights=weights, num_trainers=num_trainers, trainer_id=trainer_id)
                step = tf.group(grow, get_global_step().assign_add(1))
        if weights is not None:
            features[weights_name] = weights
        at_end = {"1: feature_importances": forest.feature_importances()} if report_feature_importances else {}
        hooks: list[Any] = [TensorForestRunOpAtEndHook(at_end)]
        more = {VARIANCE_PREDICTION_KEY: variance}
        more.update({keys_name: keys} if keys is not None else {}, **({TREE_PATHS_PREDICTION_KEY: paths} if params.inference_tree_paths else {}))

        def stopping(loss: Any) -> list[Any]:
            stop = early_stopping_rounds and [TensorForestLossHook(early_stopping_rounds, early_stopping_loss_threshold, loss)]
            return hooks + (stop or [])
        if of_learn:
            ops = head.create_model_fn_ops(features=features, labels=labels, mode=mode, train_op_fn=lambda loss: step, logits=logits,
                                           scope=head_scope)
            return _extended_ops(ops, stopping(ops.loss), more, include_all_in_serving)
        spec = head.create_estimator_spec(features=features, mode=mode, labels=labels, train_op_fn=lambda loss: step, logits=logits)
        spec.predictions.update(more)
        outputs = {ALL_SERVING_KEY: PredictOutput(spec.predictions)} if include_all_in_serving else spec.export_outputs
        return spec._replace(training_hooks=stopping(spec.loss) + list(spec.training_hooks), export_outputs=outputs)
    return model_fn


def _by_name(features: Any, columns: Any, of_learn: bool) -> dict[Any, Any]:
    features = dict(features) if isinstance(features, dict) else {"features": features}
    if not columns:
        return features
    if of_learn:
        features.update(transform_features(features, columns))
    else:
        cache = FeatureCache(features)
        features.update({column.name: cache.get(column) for column in columns})
    return features


def _log_odds(probabilities: Any) -> Any:
    """The logit of the second of two classes; a probability may be 0 or 1."""
    second = tf.slice_(probabilities, [0, 1], [-1, 1])
    return tf.log(tf.maximum(second / tf.maximum(1.0 - second, EPSILON), EPSILON))


def _extended_ops(ops: ModelFnOps, hooks: list[Any], more: dict[Any, Any], all_in_serving: bool) -> ModelFnOps:
    ops.training_hooks.extend(hooks)
    ops.predictions.update(more)
    if all_in_serving:
        alternatives = {**(ops.output_alternatives or {}), ALL_SERVING_KEY: (ProblemType.UNSPECIFIED, ops.predictions)}
        return ops._replace(output_alternatives=alternatives)
    return ops


class TensorForestEstimator(Estimator):
    """A forest as estimator of ``tf.contrib.learn``. It stops when its loss has not fallen for ``early_stopping_rounds`` steps."""

    def __init__(self, params: Any, device_assigner: Any = None, model_dir: str | None = None, feature_columns: Any = None,
                 graph_builder_class: Any = RandomForestGraphs, config: Any = None, weight_column: str | None = None, keys_column: str | None = None,
                 feature_engineering_fn: Any = None, early_stopping_rounds: int | None = 100, early_stopping_loss_threshold: float = 0.001,
                 num_trainers: int = 1, trainer_id: int = 0, report_feature_importances: bool = False, local_eval: bool = False,
                 version: Any = None, head: Any = None, include_all_in_serving: bool = False) -> None:
        super().__init__(get_model_fn(
            params.fill(), graph_builder_class, device_assigner, feature_columns, weight_column, head, keys_column, early_stopping_rounds,
            early_stopping_loss_threshold, num_trainers, trainer_id, report_feature_importances, local_eval,
            include_all_in_serving=include_all_in_serving), model_dir, config, feature_engineering_fn=feature_engineering_fn)


def get_combined_model_fn(model_fns: list[Callable[..., Any]]) -> Callable[..., Any]:
    """A model function of several forests, each for one column of the labels."""
    def model_fn(features: Any, labels: Any, mode: str) -> ModelFnOps:
        each = []
        for index, function in enumerate(model_fns):
            with variable_scope(f"label_{index}"):
                each.append(function(features, tf.slice_(labels, [0, index], [-1, 1]) if labels is not None else None, mode))
        predictions = {}
        if mode in (ModeKeys.EVAL, ModeKeys.INFER):
            predictions = {eval_metrics.INFERENCE_PROB_NAME: tf.concat([ops.predictions[eval_metrics.INFERENCE_PROB_NAME] for ops in each], axis=1),
                           eval_metrics.INFERENCE_PRED_NAME: tf.stack([ops.predictions[eval_metrics.INFERENCE_PRED_NAME] for ops in each], axis=1)}
        loss = None if mode == ModeKeys.INFER else tf.reduce_sum(tf.stack([ops.loss for ops in each])) / len(each)
        train_op = tf.group(*[ops.train_op for ops in each]) if mode == ModeKeys.TRAIN else None
        return ModelFnOps(mode, predictions, loss, train_op, training_hooks=[hook for ops in each for hook in ops.training_hooks])
    return model_fn


class MultiForestMultiHeadEstimator(Estimator):
    """A forest per column of the labels."""

    def __init__(self, params_list: list[Any], device_assigner: Any = None, model_dir: str | None = None, feature_columns: Any = None,
                 graph_builder_class: Any = RandomForestGraphs, config: Any = None, weight_column: str | None = None, keys_column: str | None = None,
                 feature_engineering_fn: Any = None, early_stopping_rounds: int | None = 100, num_trainers: int = 1, trainer_id: int = 0,
                 report_feature_importances: bool = False, local_eval: bool = False) -> None:
        model_fns = [get_model_fn(params.fill(), graph_builder_class, device_assigner, feature_columns, weight_column, keys_name=keys_column,
                                  early_stopping_rounds=early_stopping_rounds, num_trainers=num_trainers, trainer_id=trainer_id,
                                  report_feature_importances=report_feature_importances, local_eval=local_eval, head_scope=f"output{index}")
                     for index, params in enumerate(params_list)]
        super().__init__(get_combined_model_fn(model_fns), model_dir, config, feature_engineering_fn=feature_engineering_fn)


class CoreTensorForestEstimator(CoreEstimator):
    """A forest as estimator of ``tf.estimator``."""

    def __init__(self, params: Any, device_assigner: Any = None, model_dir: str | None = None, feature_columns: Any = None,
                 graph_builder_class: Any = RandomForestGraphs, config: Any = None, weight_column: str | None = None, keys_column: str | None = None,
                 feature_engineering_fn: Any = None, early_stopping_rounds: int | None = 100, early_stopping_loss_threshold: float = 0.001,
                 num_trainers: int = 1, trainer_id: int = 0, report_feature_importances: bool = False, local_eval: bool = False,
                 version: Any = None, head: Any = None, include_all_in_serving: bool = False) -> None:
        if config is not None:
            num_trainers = max(1, config.num_worker_replicas) if num_trainers == 1 else num_trainers
            trainer_id = trainer_id or config.global_id_in_cluster
        super().__init__(get_model_fn(
            params.fill(), graph_builder_class, device_assigner, feature_columns, weight_column, head, keys_column, early_stopping_rounds,
            early_stopping_loss_threshold, num_trainers, trainer_id, report_feature_importances, local_eval,
            include_all_in_serving=include_all_in_serving, output_type=ModelBuilderOutputType.ESTIMATOR_SPEC), model_dir, config)
