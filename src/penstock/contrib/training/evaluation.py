"""Loops that evaluate checkpoints: ``evaluate_once``, ``evaluate_repeatedly``, and their hooks."""
from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from penstock.checkpoint.new_checkpoints import checkpoints_iterator
from penstock.contrib import prelude as tf
from penstock.platform import logging
from penstock.summary import summary
from penstock.summary.file_writer import FileWriterCache
from penstock.train.basic_hooks import FinalOpsHook
from penstock.train.global_step import get_or_create_global_step, global_step
from penstock.train.monitored_session import MonitoredSession
from penstock.train.scaffold import ChiefSessionCreator
from penstock.train.session_run_hook import SessionRunArgs, SessionRunHook


def get_or_create_eval_step() -> Any:
    """``tf.contrib.training.get_or_create_eval_step``: the local variable that counts the batches of an evaluation."""
    steps = tf.get_collection(tf.GraphKeys.EVAL_STEP)
    if len(steps) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    return steps[0] if steps else tf.get_variable("eval_step", shape=[], dtype=tf.int64, initializer=tf.zeros_initializer(), trainable=False,
                                                  collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.EVAL_STEP])


class StopAfterNEvalsHook(SessionRunHook):
    """``tf.contrib.training.StopAfterNEvalsHook``: ends an evaluation after ``num_evals`` batches."""

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals, self._log_progress = num_evals, log_progress
        self._evals_completed: Any = None
        self._log_frequency = 1 if num_evals is None or num_evals < 20 else math.floor(num_evals / 10.0)

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        self._evals_completed = updated_eval_step

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for the number of batches."""
        return SessionRunArgs({"evals_completed": self._evals_completed})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends the evaluation when that is reached."""
        completed = run_values.results["evals_completed"]
        if self._log_progress:
            if self._num_evals is None:
                logging.info("Evaluation [%d]", completed)
            elif completed % self._log_frequency == 0 or completed == self._num_evals:
                logging.info("Evaluation [%d/%d]", completed, self._num_evals)
        if self._num_evals is not None and completed >= self._num_evals:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """``tf.contrib.training.SummaryAtEndHook``: writes summaries when an evaluation ends."""

    def __init__(self, log_dir: str | None = None, summary_writer: Any = None, summary_op: Any = None, feed_dict: Any = None) -> None:
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._summary_op, self._merges_all, self._feed_dict = summary_op, summary_op is None, feed_dict
        self._summary_writer, self._log_dir = summary_writer, log_dir

    def begin(self) -> None:
        """Collects all summaries of the graph, if no op was given."""
        if self._merges_all:
            self._summary_op = summary.merge_all()
        self._global_step = get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Opens the file."""
        if self._summary_writer is None and self._log_dir:
            self._summary_writer = FileWriterCache.get(self._log_dir)

    def end(self, session: Any) -> None:
        """Writes."""
        if self._summary_op is not None:
            step = global_step(session, self._global_step)
            text = session.run(self._summary_op, self._feed_dict)
            if self._summary_writer:
                self._summary_writer.add_summary(text, step)
        if self._summary_writer:
            self._summary_writer.flush()


def _with_counter(eval_ops: Any, update: Any) -> Any:
    """The ops of one batch, and the counter beside them."""
    if isinstance(eval_ops, dict):
        eval_ops["update_eval_step"] = update
        return eval_ops
    return [*(eval_ops if isinstance(eval_ops, (tuple, list)) else [eval_ops]), update]


def _tell_hooks(hooks: list[Any], completed: Any) -> None:
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(completed)


def evaluate_once(checkpoint_path: str | None, master: str = "", scaffold: Any = None, eval_ops: Any = None, feed_dict: Any = None,
                  final_ops: Any = None, final_ops_feed_dict: Any = None, hooks: Any = None, config: Any = None) -> Any:
    """``tf.contrib.training.evaluate_once``: runs ``eval_ops`` on a checkpoint until a hook stops it; the values of ``final_ops``."""
    step = get_or_create_eval_step()
    hooks = list(hooks or [])
    if eval_ops is not None:
        eval_ops = _with_counter(eval_ops, tf.assign_add(step, 1, use_locking=True))
        with tf.control_dependencies(list(eval_ops.values()) if isinstance(eval_ops, dict) else eval_ops):
            completed = tf.identity(get_or_create_eval_step().read_value())
        _tell_hooks(hooks, completed)
    logging.info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.localtime()))
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    _evaluate(checkpoint_path, master, scaffold, eval_ops, feed_dict, [*hooks, final], config)
    logging.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime()))
    return final.final_ops_values


def _evaluate(checkpoint_path: str | None, master: str, scaffold: Any, eval_ops: Any, feed_dict: Any, hooks: list[Any], config: Any) -> None:
    creator = ChiefSessionCreator(scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config)
    with MonitoredSession(session_creator=creator, hooks=hooks) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)


def evaluate_repeatedly(checkpoint_dir: str, master: str = "", scaffold: Any = None, eval_ops: Any = None, feed_dict: Any = None,
                        final_ops: Any = None, final_ops_feed_dict: Any = None, eval_interval_secs: float = 60, hooks: Any = None,
                        config: Any = None, max_number_of_evaluations: int | None = None, timeout: float | None = None,
                        timeout_fn: Callable[[], bool] | None = None) -> Any:
    """``tf.contrib.training.evaluate_repeatedly``: evaluates each new checkpoint of a folder; the values of ``final_ops`` of the last one."""
    step = get_or_create_eval_step()
    hooks = hooks or []
    if eval_ops is not None:
        update = tf.assign_add(step, 1)
        _tell_hooks(hooks, update)
        eval_ops = _with_counter(eval_ops, update)
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    hooks.append(final)
    checkpoints = checkpoints_iterator(checkpoint_dir, min_interval_secs=eval_interval_secs, timeout=timeout, timeout_fn=timeout_fn)
    for number, path in enumerate(checkpoints, start=1):
        logging.info("Starting evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))
        _evaluate(path, master, scaffold, eval_ops, feed_dict, hooks, config)
        logging.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))
        if max_number_of_evaluations is not None and number >= max_number_of_evaluations:
            break
    return final.final_ops_values
