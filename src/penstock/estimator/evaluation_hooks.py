"""Hooks of trainings that evaluate in memory, and that wait for the last checkpoint."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from penstock.estimator.estimator import Estimator, evaluation_hooks
from penstock.estimator.evaluating import run_evaluation
from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import get_collection
from penstock.ops.constant import placeholder
from penstock.ops.flow.misc import group
from penstock.train.basic_hooks import StopAtStepHook
from penstock.train.global_step import global_step_read
from penstock.train.hook_timers import SecondOrStepTimer
from penstock.train.scaffold import Scaffold
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from penstock.variables.assign import assign


class InMemoryEvaluatorHook(SessionRunHook):
    """``tf.estimator.experimental.InMemoryEvaluatorHook``: evaluates the variables of the training as they are, without a checkpoint.

    Its graph is built once, and its variables get the values of the trained ones at each evaluation: at the start, every ``every_n_iter`` steps, and
    at the end.
    """

    def __init__(self, estimator: Estimator, input_fn: Callable[..., Any], steps: int | None = None, hooks: Iterable[SessionRunHook] | None = None,
                 name: str | None = None, every_n_iter: int = 100) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if estimator.config.num_ps_replicas > 0 or estimator.config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only single machine (aka Local) setting.")
        self._estimator, self._input_fn, self._folder = estimator, input_fn, estimator.eval_dir(name)
        self._hooks = evaluation_hooks(hooks, steps)
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)

    def begin(self) -> None:
        """Builds the graph of the evaluation."""
        self._timer.reset()
        self._runs = 0
        trained = {variable.name: variable for variable in get_collection(GraphKeys.GLOBAL_VARIABLES)}
        self._graph = Graph()
        with self._graph.as_default():
            self._evaluation = self._estimator.build_evaluation(self._input_fn, self._hooks, None)
            scaffold = self._evaluation.scaffold
            if scaffold.saver is not None or scaffold.init_fn is not None:
                raise ValueError(f"InMemoryEvaluator does not support custom {'init_fn' if scaffold.saver is None else 'saver'}")
            evaluated = [variable for variable in get_collection(GraphKeys.GLOBAL_VARIABLES) if variable.name in trained]
            self._pairs = [(trained[variable.name], placeholder(variable.dtype.base_dtype)) for variable in evaluated]
            self._feed_op = group(*[assign(variable, given) for variable, (_, given) in zip(evaluated, self._pairs)])

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Evaluates the first values."""
        if get_collection(GraphKeys.SAVEABLE_OBJECTS):
            raise ValueError("InMemoryEvaluator does not support saveables other than global variables.")
        self._evaluate(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Evaluates if it is time."""
        self._runs += 1
        if self._timer.should_trigger_for_step(self._runs):
            self._evaluate(run_context.session)

    def end(self, session: Any) -> None:
        """Evaluates the last values."""
        self._evaluate(session)

    def _evaluate(self, training: Any) -> None:
        feeds = dict(zip([given for _, given in self._pairs], training.run([variable for variable, _ in self._pairs])))
        with self._graph.as_default():
            scaffold = Scaffold(init_fn=lambda _, session: session.run(self._feed_op, feeds), copy_from_scaffold=self._evaluation.scaffold)
            run_evaluation(self._evaluation._replace(scaffold=scaffold), None, self._folder)
        self._timer.update_last_triggered_step(self._runs)


class _StopAtCheckpointStepHook(SessionRunHook):
    """Stops a worker when the chief has saved the last step: until then it trains on, slowly."""

    def __init__(self, estimator: Estimator, last_step: int, wait_secs: float) -> None:
        if last_step is None:
            raise ValueError("last_step must be specified.")
        self._estimator, self._last_step, self._wait_secs = estimator, last_step, wait_secs

    def begin(self) -> None:
        """Finds the global step."""
        self._step = global_step_read("StopAtCheckpointStepHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks for the checkpoint."""
        if run_values.results + 1 < self._last_step:
            return
        if self._estimator.step_in_checkpoint() >= self._last_step:
            run_context.request_stop()
        else:
            time.sleep(self._wait_secs)


def make_stop_at_checkpoint_step_hook(estimator: Estimator, last_step: int, wait_after_file_check_secs: float = 30) -> SessionRunHook:
    """``tf.estimator.experimental.make_stop_at_checkpoint_step_hook``: the chief stops at the last step, the others when it is saved."""
    if estimator.config.is_chief:
        return StopAtStepHook(last_step=last_step)
    return _StopAtCheckpointStepHook(estimator, last_step, wait_after_file_check_secs)
