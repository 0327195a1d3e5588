"""Early stopping: hooks that end training because of what evaluations have found.

The chief looks at the event files of the evaluations from time to time. When it stops, it sets a variable that the other workers watch.
"""
from __future__ import annotations

import operator
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from penstock.estimator.estimator import Estimator
from penstock.graph import dtypes
from penstock.graph.keys import GraphKeys
from penstock.platform import gfile, logging
from penstock.summary.reading import scalar_results
from penstock.train.global_step import get_global_step
from penstock.train.hook_timers import SecondOrStepTimer
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from penstock.variables.assign import assign
from penstock.variables.initializers import Constant
from penstock.variables.scope import get_variable, variable_scope
from penstock.variables.store import AUTO_REUSE


def make_early_stopping_hook(estimator: Estimator, should_stop_fn: Callable[[], bool], run_every_secs: float | None = 60,
                             run_every_steps: int | None = None) -> SessionRunHook:
    """``tf.estimator.experimental.make_early_stopping_hook``: asks ``should_stop_fn()`` every so many seconds or steps."""
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    return _StopOnPredicateHook(should_stop_fn, run_every_secs, run_every_steps) if estimator.config.is_chief else _CheckForStoppingHook()


def stop_if_higher_hook(estimator: Estimator, metric_name: str, threshold: float, eval_dir: str | None = None, min_steps: int = 0,
                        run_every_secs: float | None = 60, run_every_steps: int | None = None) -> SessionRunHook:
    """``tf.estimator.experimental.stop_if_higher_hook``: stops when a metric has exceeded a threshold."""
    should_stop = _stop_at(estimator, metric_name, threshold, operator.gt, "greater than", eval_dir, min_steps)
    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def stop_if_lower_hook(estimator: Estimator, metric_name: str, threshold: float, eval_dir: str | None = None, min_steps: int = 0,
                       run_every_secs: float | None = 60, run_every_steps: int | None = None) -> SessionRunHook:
    """``tf.estimator.experimental.stop_if_lower_hook``: stops when a metric has fallen below a threshold."""
    should_stop = _stop_at(estimator, metric_name, threshold, operator.lt, "less than", eval_dir, min_steps)
    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def _stop_at(estimator: Estimator, metric_name: str, threshold: float, is_better: Callable[[Any, Any], bool], words: str, eval_dir: str | None,
             min_steps: int) -> Callable[[], bool]:
    folder = estimator.eval_dir() if eval_dir is None else eval_dir

    def should_stop() -> bool:
        for step, value in _values(folder, metric_name, min_steps):
            if is_better(value, threshold):
                logging.info('At step %s, metric "%s" has value %s which is %s the configured threshold (%s) for early stopping.', step,
                             metric_name, value, words, threshold)
                return True
        return False
    return should_stop


def stop_if_no_increase_hook(estimator: Estimator, metric_name: str, max_steps_without_increase: int, eval_dir: str | None = None,
                             min_steps: int = 0, run_every_secs: float | None = 60, run_every_steps: int | None = None) -> SessionRunHook:
    """``tf.estimator.experimental.stop_if_no_increase_hook``: stops when a metric has not grown for so many steps."""
    should_stop = _no_improvement(estimator, metric_name, max_steps_without_increase, operator.gt, "increase", eval_dir, min_steps)
    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def stop_if_no_decrease_hook(estimator: Estimator, metric_name: str, max_steps_without_decrease: int, eval_dir: str | None = None,
                             min_steps: int = 0, run_every_secs: float | None = 60, run_every_steps: int | None = None) -> SessionRunHook:
    """``tf.estimator.experimental.stop_if_no_decrease_hook``: stops when a metric has not fallen for so many steps."""
    should_stop = _no_improvement(estimator, metric_name, max_steps_without_decrease, operator.lt, "decrease", eval_dir, min_steps)
    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def _no_improvement(estimator: Estimator, metric_name: str, patience: int, is_better: Callable[[Any, Any], bool], word: str, eval_dir: str | None,
                    min_steps: int) -> Callable[[], bool]:
    folder = estimator.eval_dir() if eval_dir is None else eval_dir

    def should_stop() -> bool:
        best: tuple[int, float] | None = None
        for step, value in _values(folder, metric_name, min_steps):
            if best is None or is_better(value, best[1]):
                best = step, value
            if step - best[0] >= patience:
                logging.info('No %s in metric "%s" for %s steps, which is greater than or equal to max steps (%s) configured for early stopping.',
                             word, metric_name, step - best[0], patience)
                return True
        return False
    return should_stop


def read_eval_metrics(eval_dir: str) -> OrderedDict[int, dict[str, float]]:
    """``tf.contrib.estimator.read_eval_metrics``: {step: {metric: value}} of the event files in a folder, in the order of steps."""
    by_step: dict[int, dict[str, float]] = {}
    for path in gfile.Glob(os.path.join(eval_dir, "events.out.tfevents.*")) if gfile.Exists(eval_dir) else ():
        for step, metrics in scalar_results(path):
            by_step.setdefault(step, {}).update(metrics)
    return OrderedDict(sorted(by_step.items()))


def _values(folder: str, metric_name: str, min_steps: int) -> list[tuple[int, float]]:
    """(step, value) of the evaluations from ``min_steps`` on."""
    results = read_eval_metrics(folder)
    for metrics in results.values():
        if metric_name not in metrics:
            raise KeyError(f"early stopping: the evaluations in {folder} have no metric {metric_name!r}, but {sorted(metrics)}")
    return [(step, metrics[metric_name]) for step, metrics in results.items() if step >= min_steps]


def _stop_variable() -> Any:
    with variable_scope("signal_early_stopping", reuse=AUTO_REUSE):
        return get_variable("STOP", [], dtypes.bool_, Constant(False), trainable=False, collections=[GraphKeys.GLOBAL_VARIABLES])


class _StopOnPredicateHook(SessionRunHook):
    """The chief's: asks, stops, and lets the others know."""

    def __init__(self, should_stop_fn: Callable[[], bool], run_every_secs: float | None, run_every_steps: int | None) -> None:
        if not callable(should_stop_fn):
            raise TypeError("`should_stop_fn` must be callable.")
        self._should_stop_fn = should_stop_fn
        self._timer = SecondOrStepTimer(every_secs=run_every_secs, every_steps=run_every_steps)

    def begin(self) -> None:
        """Makes the variable."""
        self._step, self._stop_op = get_global_step(), assign(_stop_variable(), True)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Asks if it is time."""
        step = int(run_values.results)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop_fn():
                logging.info("Requesting early stopping at global step %d", step)
                run_context.session.run(self._stop_op)
                run_context.request_stop()


class _CheckForStoppingHook(SessionRunHook):
    """That of the other workers: stops when the chief has."""

    def begin(self) -> None:
        """Finds the variable."""
        self._stop = _stop_variable()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches it."""
        return SessionRunArgs(self._stop)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks at it."""
        if run_values.results:
            logging.info("Early stopping requested, suspending run.")
            run_context.request_stop()
