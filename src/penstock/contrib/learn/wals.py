"""``tf.contrib.factorization.WALSMatrixFactorization``: weighted alternating least squares as an estimator."""
from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.factorization.wals import WALSModel
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.keys import ModeKeys
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.summary import summary
from penstock.train.global_step import get_global_step
from penstock.train.session_run_hook import SessionRunArgs, SessionRunHook
from penstock.variables.variable import Variable


class _SweepHook(SessionRunHook):
    """Sweeps over rows and columns in turns: prepares each sweep, and adds the step of its side to every run."""

    def __init__(self, is_row_sweep: Any, is_done: Any, init_op: Any, row_ops: list[Any], col_ops: list[Any], switch_op: Any) -> None:
        self._is_row_sweep, self._is_done, self._init_op, self._switch_op = is_row_sweep, is_done, init_op, switch_op
        self._ops = {True: row_ops, False: col_ops}  # [preparations ..., the step]
        self._begun = False
        step = get_global_step()
        self._count = None if step is None else tf.assign_add(step, tf.constant(1, step.dtype.base_dtype), name="global_step_incr").op

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Begins the next sweep, if the last one is done; names the step."""
        session = run_context.session
        is_done = session.run(self._is_done)
        if not self._begun:
            session.run(self._init_op)
        if is_done:
            session.run(self._switch_op)
        *preparations, step = self._ops[bool(session.run(self._is_row_sweep))]
        if is_done or not self._begun:
            for each in preparations:  # in this order: the copies are of the new Gramian
                session.run(each)
        self._begun = True
        if self._count is not None:
            session.run(self._count)
        return SessionRunArgs(fetches=[step])


class _StopAtSweepHook(SessionRunHook):
    """Stops after a number of sweeps."""

    def __init__(self, completed: Any, last_sweep: int) -> None:
        self._completed, self._last_sweep = completed, last_sweep

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks how many there were."""
        return SessionRunArgs(self._completed)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Stops when they are enough."""
        if run_values.results >= self._last_sweep:
            run_context.request_stop()


class WALSMatrixFactorization(Estimator):
    """``tf.contrib.factorization.WALSMatrixFactorization``: factors of a sparse matrix, whose rows and columns an input function gives.

    In training, features are ``input_rows`` and ``input_cols``: parts of the matrix, and of its transpose, as sparse tensors.
    """

    INPUT_ROWS, INPUT_COLS, PROJECT_ROW, PROJECTION_WEIGHTS = "input_rows", "input_cols", "project_row", "projection_weights"
    PROJECTION_RESULT, COMPLETED_SWEEPS, LOSS, RWSE = "projection", "completed_sweeps", "WALS_loss", "WALS_RWSE"

    def __init__(self, num_rows: int, num_cols: int, embedding_dimension: int, unobserved_weight: Any = 0.1, regularization_coeff: Any = None,
                 row_init: Any = "random", col_init: Any = "random", num_row_shards: int = 1, num_col_shards: int = 1, row_weights: Any = 1,
                 col_weights: Any = 1, use_factors_weights_cache_for_training: bool = True, use_gramian_cache_for_training: bool = True,
                 max_sweeps: int | None = None, model_dir: str | None = None, config: Any = None) -> None:
        def model_fn(features: Any, labels: Any, mode: str) -> ModelFnOps:
            if labels is not None:
                raise AssertionError("WALSMatrixFactorization takes no labels")
            training = mode == ModeKeys.TRAIN
            model = WALSModel(num_rows, num_cols, embedding_dimension, unobserved_weight=unobserved_weight, regularization=regularization_coeff,
                              row_init=row_init, col_init=col_init, num_row_shards=num_row_shards, num_col_shards=num_col_shards,
                              row_weights=row_weights, col_weights=col_weights,
                              use_factors_weights_cache=training and use_factors_weights_cache_for_training,
                              use_gramian_cache=training and use_gramian_cache_for_training)
            if training:
                return _training(model, features, num_rows, num_cols, max_sweeps)
            return _projection(model, features) if mode == ModeKeys.INFER else _evaluation(model, features)

        self._row_factors_names = [f"row_factors_shard_{i}" for i in builtins.range(num_row_shards)]
        self._col_factors_names = [f"col_factors_shard_{i}" for i in builtins.range(num_col_shards)]
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)
        if self.config is not None and self.config.num_worker_replicas > 1:
            raise ValueError("WALSMatrixFactorization must be run on a single worker replica.")

    def get_row_factors(self) -> list[Any]:
        """The shards of the rows' factors."""
        return [self.get_variable_value(name) for name in self._row_factors_names]

    def get_col_factors(self) -> list[Any]:
        """The shards of the columns' factors."""
        return [self.get_variable_value(name) for name in self._col_factors_names]

    def get_projections(self, input_fn: Any) -> Iterator[Any]:
        """The factors of the rows, or columns, that an input function gives."""
        return (result[self.PROJECTION_RESULT] for result in self.predict(input_fn=input_fn))


def _training(model: WALSModel, features: Any, num_rows: int, num_cols: int, max_sweeps: int | None) -> ModelFnOps:
    names = WALSMatrixFactorization
    is_row_sweep, is_done, completed, loss, error = (
        Variable(value, trainable=False, name=name, collections=[tf.GraphKeys.GLOBAL_VARIABLES]) for value, name in (
            (True, "is_row_sweep"), (False, "is_sweep_done"), (0, names.COMPLETED_SWEEPS), (0.0, names.LOSS), (0.0, names.RWSE)))
    for name, variable in (("loss", loss), ("root_weighted_squared_error", error), ("completed_sweeps", completed)):
        summary.scalar(name, variable)

    def side(entries: tf.SparseTensor, count: int, update: Callable[[Any], Any], axis: str) -> tuple[Any, Any]:
        processed = Variable(tf.fill([count], False), collections=[tf.GraphKeys.GLOBAL_VARIABLES], trainable=False, name=f"processed_{axis}")
        _, updated, value, regularization, weights = update(entries)
        ids = entries.indices[:, 0]
        with tf.control_dependencies([updated, tf.assign(loss, value + regularization), tf.assign(error, tf.sqrt(value / weights))]):
            noted = tf.scatter_update(processed, ids, tf.ones_like(ids, dtype=tf.bool_), name=f"update_processed_{axis}_indices")
        with tf.control_dependencies([noted]):
            done = tf.reduce_all(processed.read_value())
            step = tf.group(tf.assign(is_done, done), tf.assign_add(completed, tf.cast(done, tf.int32)), name=f"{axis}_sweep_train_op")
        return processed.initializer, step

    reset_rows, row_step = side(features[names.INPUT_ROWS], num_rows, lambda each: model.update_row_factors(each), "rows")
    reset_cols, col_step = side(features[names.INPUT_COLS], num_cols, lambda each: model.update_col_factors(each, transpose_input=True), "cols")
    switch = tf.group(tf.assign(is_row_sweep, tf.logical_not(is_row_sweep)), reset_rows, reset_cols, name="sweep_switch_op")
    hooks: list[SessionRunHook] = [_SweepHook(
        is_row_sweep, is_done, model.worker_init, [model.row_update_prep_gramian_op, model.initialize_row_update_op, row_step],
        [model.col_update_prep_gramian_op, model.initialize_col_update_op, col_step], switch)]
    if max_sweeps is not None:
        hooks.append(_StopAtSweepHook(completed, max_sweeps))
    return ModelFnOps(mode=ModeKeys.TRAIN, predictions={}, loss=tf.identity(loss), eval_metric_ops={}, train_op=tf.no_op(), training_hooks=hooks)


def _projection(model: WALSModel, features: Any) -> ModelFnOps:
    names = WALSMatrixFactorization
    weights = features.get(names.PROJECTION_WEIGHTS)
    result = tf.cond(features[names.PROJECT_ROW], lambda: model.project_row_factors(features[names.INPUT_ROWS], projection_weights=weights),
                     lambda: model.project_col_factors(features[names.INPUT_COLS], True, weights))
    return ModelFnOps(mode=ModeKeys.INFER, predictions={names.PROJECTION_RESULT: result}, loss=None, eval_metric_ops={}, train_op=tf.no_op())


def _evaluation(model: WALSModel, features: Any) -> ModelFnOps:
    names = WALSMatrixFactorization

    def loss_of(solved: Any) -> tf.Tensor:
        return solved[2] + solved[3]

    loss = tf.cond(features[names.PROJECT_ROW], lambda: loss_of(model.update_row_factors(features[names.INPUT_ROWS])),
                   lambda: loss_of(model.update_col_factors(features[names.INPUT_COLS], transpose_input=True)))
    return ModelFnOps(mode=ModeKeys.EVAL, predictions={}, loss=loss, eval_metric_ops={}, train_op=tf.no_op())
