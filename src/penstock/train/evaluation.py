"""Evaluation of a checkpoint: operations run over the input while a local variable counts the batches, then the results are read."""
from __future__ import annotations

import math
import time
from typing import Any

from penstock.graph import dtypes
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import control_dependencies
from penstock.ops.constant import identity
from penstock.platform import logging
from penstock.train.basic_hooks import FinalOpsHook
from penstock.train.monitored_session import MonitoredSession
from penstock.train.scaffold import ChiefSessionCreator
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from penstock.variables.assign import assign_add
from penstock.variables.initializers import Zeros
from penstock.variables.scope import get_variable, variable_scope


def get_or_create_eval_step() -> Any:
    """``tf.contrib.training.get_or_create_eval_step``: the local variable that counts the batches of an evaluation."""
    steps = default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(steps) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if steps:
        return steps[0]
    with variable_scope("", reuse=False):
        return get_variable("eval_step", [], dtypes.int64, Zeros(), trainable=False, collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP])


class StopAfterNEvalsHook(SessionRunHook):
    """``tf.contrib.training.StopAfterNEvalsHook``: ends an evaluation after ``num_evals`` batches (None: at the end of the input)."""

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals, self._log_progress = num_evals, log_progress
        self._every = 1 if num_evals is None or num_evals < 20 else math.floor(num_evals / 10)
        self._evals_completed: Any = None  # a tensor, which the evaluation sets

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self._evals_completed = updated_eval_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the number of batches."""
        return SessionRunArgs(self._evals_completed)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs it, and stops after the last one."""
        done = int(run_values.results)
        if self._log_progress:
            if self._num_evals is None:
                logging.info("Evaluation [%d]", done)
            elif done % self._every == 0 or done == self._num_evals:
                logging.info("Evaluation [%d/%d]", done, self._num_evals)
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()


def count_batches(eval_ops: Any, hooks: list[Any]) -> Any:
    """The operations of one batch with a counter beside them, whose value is given to the hooks that stop an evaluation."""
    update = assign_add(get_or_create_eval_step(), 1, use_locking=True)
    if isinstance(eval_ops, dict):
        eval_ops = {**eval_ops, "update_eval_step": update}
    else:
        eval_ops = [*(eval_ops if isinstance(eval_ops, (tuple, list)) else [eval_ops]), update]
    with control_dependencies(list(eval_ops.values()) if isinstance(eval_ops, dict) else eval_ops):
        completed = identity(get_or_create_eval_step().read_value())
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(completed)
    return eval_ops


def _log_start() -> None:
    logging.info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.localtime()))


def run_batches(checkpoint_path: str | None, master: str, scaffold: Any, eval_ops: Any, feed_dict: Any, hooks: list[Any], config: Any,
                tells_when_ready: bool = False) -> None:
    """Restores the checkpoint and runs ``eval_ops`` until a hook or the end of the input stops it. The log tells when it starts, or is restored."""
    creator = ChiefSessionCreator(scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config)
    if not tells_when_ready:
        _log_start()
    with MonitoredSession(session_creator=creator, hooks=hooks) as session:
        if tells_when_ready:
            _log_start()
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)
    logging.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime()))


def evaluate_once(checkpoint_path: str | None, master: str = "", scaffold: Any = None, eval_ops: Any = None, feed_dict: Any = None,
                  final_ops: Any = None, final_ops_feed_dict: Any = None, hooks: Any = None, config: Any = None) -> Any:
    """``tf.contrib.training.evaluate_once``: runs ``eval_ops`` on a checkpoint until a hook stops it; the values of ``final_ops``."""
    get_or_create_eval_step()
    hooks = list(hooks or [])
    if eval_ops is not None:
        eval_ops = count_batches(eval_ops, hooks)
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    run_batches(checkpoint_path, master, scaffold, eval_ops, feed_dict, [*hooks, final], config)
    return final.final_ops_values
