"""The graph of gradient boosted trees: predictions, gradients and hessians of the loss, and the step that learns of them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.boosted_trees.features import Columns, columns_of
from penstock.contrib.boosted_trees.learner_config import LearnerConfig, filled
from penstock.contrib.learn.keys import ModeKeys
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.graph.scopes import device
from penstock.ops.linalg.diag import trace
from penstock.ops.random.random_stateless import stateless_random_uniform
from penstock.ops.trees import gradient_trees as ops
from penstock.platform import logging
from penstock.summary import summary
from penstock.train.global_step import get_global_step
from penstock.train.resources import register_resource
from penstock.train.saveable import SaveableObject, SaveSpec
from penstock.train.session_run_hook import SessionRunArgs, SessionRunHook
from penstock.variables.assign import assign_add


class _Saveable(SaveableObject):
    """The ensemble under TensorFlow's names, and what its next layer has learned."""

    def __init__(self, handle: Any, create: Any) -> None:
        self._handle, self._create, name = handle, create, handle.name
        stamp, serialized = ops.TreeEnsembleSerialize(handle)
        parts = {"_stamp": stamp, "_config": serialized, "_layer": ops.SerializeGradientTreeLayer(handle)}
        super().__init__(handle, [SaveSpec(tensor, "", name + suffix) for suffix, tensor in parts.items()], name)

    def restore(self, restored_tensors: list[Any], restored_shapes: Any) -> Any:
        """Replaces the ensemble, then the layer."""
        with tf.control_dependencies([self._create]):
            ensemble = ops.TreeEnsembleDeserialize(self._handle, *restored_tensors[:2])
        with tf.control_dependencies([ensemble]):
            return ops.RestoreGradientTreeLayer(self._handle, restored_tensors[2])


def tree_ensemble_variable(stamp_token: int, tree_ensemble_config: Any, name: str, container: str | None = None) -> Any:
    """The handle of an ensemble that is created, saved and restored with the variables."""
    with tf.name_scope(name, "TreeEnsembleVariable") as scope:
        handle = ops.DecisionTreeEnsembleResourceHandleOp(container=container or "", shared_name=scope, name=scope)
        create = ops.CreateTreeEnsembleVariable(handle, stamp_token, tree_ensemble_config)
        is_initialized = ops.TreeEnsembleIsInitializedOp(handle)
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, _Saveable(handle, create))
        register_resource(handle, create, is_initialized)
        return handle


class _Stats(NamedTuple):
    """How far an ensemble is grown."""

    num_trees: Any
    num_layers: Any
    active_tree: Any
    active_layer: Any
    attempted_trees: Any
    attempted_layers: Any


class TreeModel:
    """An ensemble in a graph with the columns that it sees. ``is_chief`` tasks grow it."""

    def __init__(self, features: Any, feature_columns: Any, config: LearnerConfig, logits_dimension: int, examples_per_layer: Any, center_bias: bool,
                 is_chief: bool, num_quantiles: int) -> None:
        self._config, self._size = filled(config, logits_dimension), logits_dimension
        self._examples_per_layer, self._center_bias, self._is_chief = examples_per_layer, center_bias, is_chief
        self._num_quantiles = num_quantiles
        with device(get_global_step().device):
            self._handle = tree_ensemble_variable(0, "", "ensemble_model")
        self._columns: Columns = columns_of(features, feature_columns)
        logging.info("Active Feature Columns: %s", self._columns.names)
        self._stamp = ops.TreeEnsembleStampToken(self._handle)
        with tf.control_dependencies([self._stamp]):
            self._stats = _Stats(*ops.TreeEnsembleStats(self._handle, self._stamp))

    def predictions(self, mode: str) -> Any:
        """The logits."""
        is_training = mode == ModeKeys.TRAIN
        with tf.control_dependencies(list(self._stats)):
            logits, _ = ops.GradientTreesPrediction(
                self._handle, self._stats.attempted_trees if is_training else tf.constant(-1, tf.int64), **self._columns.arguments(),
                learner_config=self._config.SerializeToString(), apply_dropout=is_training, apply_averaging=not is_training, use_locking=True,
                center_bias=self._center_bias, reduce_dim=self._size < self._config.num_classes)
        logits.set_shape([None, self._size])
        return logits

    def learn(self, loss: Any, logits: Any) -> Any:
        """The step: (finished trees, trees that were tried), after it."""
        with tf.control_dependencies(list(self._stats)):
            partitions = ops.GradientTreesPartitionExamples(self._handle, **self._columns.arguments(), use_locking=True)
        first = tf.gradients(loss, logits, name="Gradients")[0]
        gradients, hessians, weights, class_id = self._derivatives(first, logits)
        needed = self._examples_per_layer
        needed = needed(self._stats.active_layer) if callable(needed) else needed
        for tag in ("active_tree", "active_layer"):
            summary.scalar(f"ensemble_stats/{tag}", getattr(self._stats, tag))
        return ops.LearnGradientTrees(
            self._handle, self._stamp, **self._columns.arguments(), partition_ids=partitions, gradients=gradients, hessians=hessians,
            quantile_weights=weights, bias_sums=self._bias_sums(first, logits), class_id=class_id, active=self._active_columns(),
            examples_per_layer=tf.cast(needed, tf.int64), learner_config=self._config.SerializeToString(), center_bias=self._center_bias,
            is_chief=self._is_chief, num_quantiles=self._num_quantiles)

    def _derivatives(self, first: Any, logits: Any) -> tuple[Any, Any, Any, Any]:
        """(gradients, hessians, the weights of quantiles, the class that a tree is for or -1)."""
        strategy, no_class = self._config.multi_class_strategy, tf.constant(-1, tf.int32)
        if strategy == LearnerConfig.FULL_HESSIAN:
            hessians = tf.stack([self._row(first, logits, row) for row in range(self._size)], axis=1)
            return first, hessians, trace(hessians), no_class
        diagonal = tf.stack([self._row(first, logits, row)[:, row] for row in range(self._size)], axis=1)
        if strategy == LearnerConfig.DIAGONAL_HESSIAN:
            return first, diagonal, tf.reduce_sum(diagonal, axis=1), no_class
        if self._size == 1:
            return first[:, 0], diagonal[:, 0], diagonal[:, 0], no_class
        class_id = tf.cast(self._stats.attempted_trees % self._size, tf.int32)
        hessians = tf.gather(diagonal, class_id, axis=1)
        return tf.gather(first, class_id, axis=1), hessians, hessians, class_id

    def _row(self, first: Any, logits: Any, row: int) -> Any:
        second = tf.gradients(first[:, row], logits, name=f"Hessian_{row}")[0]
        if second is None:
            raise ValueError("The loss cannot be differentiated twice, and trees need its second derivatives. "
                             "tf.contrib.boosted_trees.python.utils.losses has losses that can.")
        return second

    def _bias_sums(self, first: Any, logits: Any) -> Any:
        if not self._center_bias:
            return tf.zeros([2, self._size])
        total = tf.reduce_sum(first, 0)
        return tf.stack([total, tf.reduce_sum(tf.gradients(total, logits, name="Hessians")[0], 0)])

    def _active_columns(self) -> Any:
        """Which columns count in this layer, and in the next one: [columns, 2]."""
        number, kind = len(self._columns.names), self._config.WhichOneof("feature_fraction")
        if kind is None:
            return tf.ones([number, 2], tf.bool_)
        if kind == "feature_fraction_per_level":
            seeds = [[self._stats.attempted_layers, 1], [self._stats.attempted_layers + 1, 1]]
        else:
            seeds = [[self._stats.attempted_trees, 2], [self._stats.attempted_trees + 1, 2]]
        drawn = [stateless_random_uniform([number], tf.stack([tf.cast(each, tf.int64) for each in seed])) for seed in seeds]
        return tf.stack(drawn, axis=1) < getattr(self._config, kind)


class StopAfterNTrees(SessionRunHook):
    """Stops when there are ``n`` trees, or when twice as many were tried."""

    def __init__(self, n: int, num_attempted_trees_tensor: Any, num_finalized_trees_tensor: Any) -> None:
        self._number, self._tensors = n, (num_attempted_trees_tensor, num_finalized_trees_tensor)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for both numbers."""
        return SessionRunArgs(self._tensors)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Compares them."""
        attempted, finished = run_values.results
        if finished >= self._number or attempted > 2 * self._number:
            logging.info("Requesting stop since we have reached %d trees.", finished)
            run_context.request_stop()


def model_builder(features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any) -> ModelFnOps:
    """The model function of all estimators of trees."""
    if features is None:
        raise ValueError("At least one feature must be specified.")
    if config is None:
        raise ValueError("Missing estimator RunConfig.")
    features = {features.name: features} if isinstance(features, tf.Tensor) else features
    head, center_bias = params["head"], params["center_bias"]
    seen = {name: value for name, value in features.items() if name != params["weight_column_name"]}
    model = TreeModel(seen, params["feature_columns"], params["learner_config"], head.logits_dimension, params["examples_per_layer"], center_bias,
                      config.is_chief, params.get("num_quantiles", 100))
    stats: list[Any] = []
    with tf.name_scope("gbdt", "gbdt_optimizer"):
        logits = model.predictions(mode)
        modify: Callable[..., Any] | None = params["logits_modifier_function"]
        used = modify(logits, features, mode) if modify else logits

        def train_op_fn(loss: Any) -> Any:
            stats.append(model.learn(loss, logits))
            with tf.control_dependencies(stats):
                return assign_add(get_global_step(), 1).op
    result = head.create_model_fn_ops(features=features, mode=mode, labels=labels, train_op_fn=train_op_fn, logits=used)
    if params["num_trees"] and stats:
        finished, attempted = tf.unstack(stats[0])
        result.training_hooks.append(StopAfterNTrees(params["num_trees"] + bool(center_bias), attempted, finished))
    return result
