"""``Experiment``: an estimator with all that it is trained and evaluated with, and the ways to run it, alone or as a task of a cluster."""
from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.contrib.learn.export_strategies import ExportStrategy
from penstock.contrib.learn.interfaces import Evaluable, Trainable
from penstock.contrib.learn.keys import Environment
from penstock.contrib.learn.monitors.hooks import replace_monitors_with_hooks
from penstock.contrib.learn.monitors.validation import ValidationMonitor
from penstock.contrib.learn.run_config import RunConfig
from penstock.distributed.server import Server
from penstock.estimator.estimator import Estimator as CoreEstimator
from penstock.graph.keys import GraphKeys
from penstock.platform import logging
from penstock.platform.inspection import fn_args
from penstock.train.basic_hooks import GlobalStepWaiterHook
from penstock.train.file_hooks import CheckpointSaverHook, CheckpointSaverListener

_BETWEEN_WARNINGS = 600.0  # seconds
_LOOK_AGAIN = 0.2  # seconds between two looks for a new checkpoint, if no more are asked for
Results = dict[str, Any]


class _EvalAndExportListener(CheckpointSaverListener):
    """Evaluates and exports each checkpoint that training has saved."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._latest_path: str | None = None
        self.eval_result: Results | None = None
        self.export_results: list[Any] | None = None

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluates and exports the new checkpoint."""
        path = latest_checkpoint(self._experiment.estimator.model_dir)
        if not path or path == self._latest_path:
            logging.warning("Skipping evaluation and export: there is no new checkpoint.")
            return
        self._latest_path = path
        self.eval_result = self._experiment._call_evaluate(name="intermediate_export", checkpoint_path=path)
        self.export_results = self._experiment._maybe_export(self.eval_result, checkpoint_path=path)


class Experiment:
    """``tf.contrib.learn.Experiment``: how an estimator is trained and evaluated. Its methods are the schedules of ``learn_runner.run``."""

    def __init__(self, estimator: Any, train_input_fn: Any, eval_input_fn: Any, eval_metrics: Any = None, train_steps: int | None = None,
                 eval_steps: int | None = 100, train_monitors: Any = None, eval_hooks: Any = None, local_eval_frequency: int | None = None,
                 eval_delay_secs: float = 120, continuous_eval_throttle_secs: float = 60, min_eval_frequency: int | None = None,
                 delay_workers_by_global_step: bool = False, export_strategies: Any = None, train_steps_per_iteration: int | None = None,
                 checkpoint_and_export: bool = False, saving_listeners: Any = None, check_interval_secs: float = 5) -> None:
        self._is_core = isinstance(estimator, CoreEstimator)
        _check_estimator(estimator, self._is_core, eval_metrics, saving_listeners)
        if train_steps_per_iteration is not None and not isinstance(train_steps_per_iteration, int):
            raise ValueError("`train_steps_per_iteration` must be an integer.")
        self._estimator, self._train_input_fn, self._eval_input_fn = estimator, train_input_fn, eval_input_fn
        self._eval_metrics, self._train_steps, self._eval_steps = eval_metrics, train_steps, eval_steps
        self._train_monitors, self._eval_hooks = list(train_monitors or ()), list(eval_hooks or ())
        self._local_eval_frequency, self._eval_delay_secs = local_eval_frequency, eval_delay_secs
        self._continuous_eval_throttle_secs = continuous_eval_throttle_secs
        self._min_eval_frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._delay_workers_by_global_step, self._train_steps_per_iteration = delay_workers_by_global_step, train_steps_per_iteration
        self._checkpoint_and_export, self._saving_listeners = checkpoint_and_export, saving_listeners
        self._check_interval_secs = check_interval_secs
        self._export_strategies = _checked_strategies(export_strategies)

    estimator = property(lambda self: self._estimator, doc="The estimator.")
    eval_metrics = property(lambda self: self._eval_metrics, doc="The metrics that are added to evaluations.")
    train_steps = property(lambda self: self._train_steps, doc="The last step of training; None if there is none.")
    eval_steps = property(lambda self: self._eval_steps, doc="The number of batches of an evaluation; None for all.")

    def extend_train_hooks(self, additional_hooks: Iterable[Any]) -> None:
        """Adds hooks, or monitors, to training."""
        self._train_monitors.extend(additional_hooks)

    def reset_export_strategies(self, new_export_strategies: Any = None) -> tuple[ExportStrategy, ...]:
        """Replaces the export strategies; returns those from before."""
        before, self._export_strategies = self._export_strategies, _checked_strategies(new_export_strategies)
        return before

    # --- schedules ---------------------------------------------------------------------------------------------------

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains up to ``train_steps``. Workers of a cluster begin one after the other, by default 5 seconds apart."""
        config = self._estimator.config
        server = self._server_to_train(config)
        hooks: list[Any] = []
        task = config.task_id or 0
        if delay_secs is None and self._delay_workers_by_global_step:
            hooks.append(GlobalStepWaiterHook(int(8000.0 * math.log(task + 1))))
            delay_secs = 0
        _wait(min(60, task * 5) if delay_secs is None else delay_secs, "training")
        result = self._call_train(max_steps=self._train_steps, hooks=self._train_monitors + hooks)
        del server  # it has to live until training ends
        return result

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Results:
        """Evaluates the latest checkpoint once, after a while: ``eval_delay_secs``, by default."""
        _wait(self._eval_delay_secs if delay_secs is None else delay_secs, "eval")
        return self._call_evaluate(name=name or "one_pass")

    def local_run(self) -> Any:
        """``train_and_evaluate`` with ``local_eval_frequency``."""
        other = copy.copy(self)
        other._min_eval_frequency = self._local_eval_frequency or 0
        return other.train_and_evaluate()

    def continuous_eval(self, delay_secs: float | None = None, throttle_delay_secs: float | None = None, evaluate_checkpoint_only_once: bool = True,
                        continuous_eval_predicate_fn: Callable[..., bool] | None = None, name: str = "continuous") -> None:
        """Evaluates and exports each new checkpoint, until that of ``train_steps``, or while the predicate says so."""
        self._continuous_eval(self._eval_input_fn, name, delay_secs, throttle_delay_secs, evaluate_checkpoint_only_once,
                              continuous_eval_predicate_fn, export=True)

    def continuous_eval_on_train_data(self, delay_secs: float | None = None, throttle_delay_secs: float | None = None,
                                      continuous_eval_predicate_fn: Callable[..., bool] | None = None,
                                      name: str = "continuous_on_train_data") -> None:
        """The same on the data that the model is trained with, without exports."""
        self._continuous_eval(self._train_input_fn, name, delay_secs, throttle_delay_secs, True, continuous_eval_predicate_fn, export=False)

    def train_and_evaluate(self) -> tuple[Results | None, list[Any] | None]:
        """(metrics, results of the export strategies) after training; new checkpoints are evaluated meanwhile.

        With ``checkpoint_and_export`` every checkpoint is evaluated and exported when it is saved.
        """
        config = self._estimator.config
        training = copy.copy(self)
        training._train_monitors = list(self._train_monitors)
        if self._checkpoint_and_export and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            listener = _EvalAndExportListener(self)
            training._train_monitors.append(CheckpointSaverHook(
                self._estimator.model_dir, save_secs=config.save_checkpoints_secs, save_steps=config.save_checkpoints_steps, listeners=[listener]))
            training.train(delay_secs=0)
            return listener.eval_result, listener.export_results
        if self._min_eval_frequency:
            training._train_monitors.append(ValidationMonitor(
                input_fn=self._eval_input_fn, eval_steps=self._eval_steps, metrics=self._eval_metrics, every_n_steps=self._min_eval_frequency,
                check_interval_secs=self._check_interval_secs, hooks=self._eval_hooks))
        training.train(delay_secs=0)
        result = self._call_evaluate()
        return result, self._maybe_export(result)

    def continuous_train_and_eval(self, continuous_eval_predicate_fn: Callable[..., bool] | None = None) -> tuple[Results | None, list[Any] | None]:
        """Trains and evaluates in turns, by default a tenth of ``train_steps`` at a time."""
        goes_on = _predicate(continuous_eval_predicate_fn)
        steps = self._train_steps_per_iteration or (1000 if self._train_steps is None else max(int(self._train_steps / 10), 1))
        result: Results | None = None
        exports: list[Any] | None = None
        path: str | None = None
        while goes_on(result, path) and not self._has_stopped(result):
            logging.info("Training model for %s steps", steps)
            self._call_train(steps=steps, hooks=self._train_monitors)
            path = latest_checkpoint(self._estimator.model_dir)
            result = self._call_evaluate(name="one_pass", checkpoint_path=path)
            exports = self._maybe_export(result)
        return result, exports

    def run_std_server(self) -> None:
        """Runs a server, and nothing else: what a parameter server does."""
        self._start_server().join()

    def test(self) -> Results:
        """One step of training, one batch of evaluation, and the exports: to see that all parts fit."""
        self._call_train(steps=1, hooks=self._train_monitors)
        result = self._call_evaluate(steps=1, name="one_pass", hooks=None)
        self._maybe_export(result)
        return result

    # --- their parts -------------------------------------------------------------------------------------------------

    def _continuous_eval(self, input_fn: Any, name: str, delay_secs: float | None, throttle_delay_secs: float | None, once: bool,
                         predicate_fn: Callable[..., bool] | None, export: bool) -> None:
        goes_on = _predicate(predicate_fn)
        throttle = self._continuous_eval_throttle_secs if throttle_delay_secs is None else throttle_delay_secs
        _wait(self._eval_delay_secs if delay_secs is None else delay_secs, "eval")
        previous: str | None = None
        result: Results | None = None
        warned = float("-inf")
        while goes_on(result, previous):
            if self._has_stopped(result):
                return
            started = time.monotonic()
            path = latest_checkpoint(self._estimator.model_dir)
            is_new = bool(path) and not (once and path == previous)
            if is_new:
                result = self._call_evaluate(input_fn=input_fn, name=name, checkpoint_path=path) or {}
                if export:
                    self._maybe_export(result, checkpoint_path=path)
                previous, warned = path, float("-inf")
            else:
                result = {}
                if started - warned > _BETWEEN_WARNINGS:
                    logging.warning("No new checkpoint ready for evaluation." if path else
                                    "Estimator is not fitted yet. Will start an evaluation when a checkpoint is ready.")
                    warned = started
            time.sleep(max(throttle - (time.monotonic() - started), 0 if is_new else _LOOK_AGAIN))

    def _has_stopped(self, result: Results | None) -> bool:
        step = (result or {}).get(GraphKeys.GLOBAL_STEP)
        if not step or not self._train_steps or step < self._train_steps:
            return False
        logging.info("Exiting continuous eval, global_step=%s >= train_step=%s", step, self._train_steps)
        return True

    def _maybe_export(self, eval_result: Results | None, checkpoint_path: str | None = None) -> list[Any]:
        """What the export strategies return."""
        base = os.path.join(self._estimator.model_dir, "export")
        return [strategy.export(self._estimator, os.path.join(base, strategy.name).encode(), checkpoint_path=checkpoint_path,
                                eval_result=eval_result) for strategy in self._export_strategies]

    def _call_train(self, steps: int | None = None, max_steps: int | None = None, hooks: Any = None) -> Any:
        if not self._is_core:
            return self._estimator.fit(input_fn=self._train_input_fn, steps=steps, max_steps=max_steps, monitors=hooks)
        return self._estimator.train(input_fn=self._train_input_fn, steps=steps, max_steps=max_steps,
                                     hooks=replace_monitors_with_hooks(hooks, self._estimator), saving_listeners=self._saving_listeners)

    def _call_evaluate(self, **options: Any) -> Results:
        defaults = {"input_fn": self._eval_input_fn, "steps": self._eval_steps, "hooks": self._eval_hooks}
        if not self._is_core:
            defaults["metrics"] = self._eval_metrics
        return self._estimator.evaluate(**{**defaults, **options})

    # --- servers -----------------------------------------------------------------------------------------------------

    def _server_to_train(self, config: Any) -> Server | None:
        """The server of a task that trains in a cluster; in the local environment the program starts it itself."""
        if not (config.cluster_spec and config.master):
            return None
        if not isinstance(config, RunConfig):
            raise ValueError("For distributed runtime, Experiment class only works with tf.contrib.learn.RunConfig for now, but provided "
                             f"{type(config)}")
        if config.environment == Environment.LOCAL:
            logging.warning("ClusterSpec and master are provided, but environment is set to 'local'. Set environment to 'cloud' if you intend to use "
                            "the distributed runtime.")
        return None if config.environment in (Environment.LOCAL, Environment.GOOGLE) else self._start_server()

    def _start_server(self) -> Server:
        config = self._estimator.config
        if not (config.cluster_spec and config.task_type and config.master) or config.task_id is None:
            raise ValueError("Could not start server; be sure to specify cluster_spec, task_type, master, and task in RunConfig or set the TF_CONFIG "
                             "environment variable.")
        return Server(config.cluster_spec, job_name=config.task_type, task_index=config.task_id, config=config.tf_config)


def _check_estimator(estimator: Any, is_core: bool, eval_metrics: Any, saving_listeners: Any) -> None:
    if is_core:
        if eval_metrics is not None:
            raise ValueError("`eval_metrics` must be `None` with `tf.estimator.Estimator`. Use `eval_metric_ops` in `tf.estimator.EstimatorSpec` "
                             "instead.")
        return
    for interface in (Evaluable, Trainable):
        if not isinstance(estimator, interface):
            raise ValueError(f"`estimator` must implement `tf.contrib.learn.{interface.__name__}` or `tf.estimator.Estimator`.")
    if saving_listeners is not None:
        raise ValueError("`saving_listeners` must be `None` with `tf.contrib.learn.Estimator`.")


def _checked_strategies(strategies: Any) -> tuple[ExportStrategy, ...]:
    given = (strategies,) if isinstance(strategies, ExportStrategy) else tuple(strategies or ())
    for strategy in given:
        if not isinstance(strategy, ExportStrategy):
            raise ValueError(f"`export_strategies` must be an ExportStrategy, an iterable of ExportStrategy, or `None`, found {strategy}.")
    return given


def _predicate(function: Callable[..., bool] | None) -> Callable[[Results | None, str | None], bool]:
    """The predicate as a function of the last evaluation and its checkpoint; without one, always True."""
    if function is None:
        return lambda result, path: True
    if not callable(function):
        raise ValueError("`continuous_eval_predicate_fn` must be a callable, or None.")
    if "checkpoint_path" in fn_args(function):
        return lambda result, path: function(result, checkpoint_path=path)
    return lambda result, path: function(result)


def _wait(seconds: float, what: str) -> None:
    if seconds > 0:
        logging.info("Waiting %d secs before starting %s.", seconds, what)
        time.sleep(seconds)
