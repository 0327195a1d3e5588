"""Graphs that are run without an estimator: ``train``, ``evaluate``, ``run_n``, ``run_feeds``, ``infer``.

A graph is initialized, or restored from a checkpoint, and run with its queues.
"""
from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock import errors
from penstock.contrib.framework.checkpoint_utils import load_variable
from penstock.contrib.framework.variables import assert_or_get_global_step
from penstock.contrib.learn.monitors.saving import get_default_monitors
from penstock.graph.convert import graph_for
from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.platform import logging
from penstock.session.session import Session
from penstock.summary.file_writer import FileWriterCache
from penstock.summary.summary import merge_all
from penstock.train.basic_hooks import NanLossDuringTrainingError
from penstock.train.coordinator import Coordinator
from penstock.train.queue_runner import start_queue_runners
from penstock.train.saver import Saver
from penstock.train.scaffold import Scaffold
from penstock.train.session_manager import SessionManager
from penstock.train.supervisor import Supervisor
from penstock.train.training_ops import collected_or_new, initialize_local_state
from penstock.variables.initialization import global_variables, global_variables_initializer, report_uninitialized_variables

_PATIENCE = 120  # seconds that threads get to stop


def run_feeds_iter(output_dict: dict[str, Any], feed_dicts: Iterable[Any], restore_checkpoint_path: str | None = None) -> Iterator[dict[str, Any]]:
    """Yields the outputs for each of the feeds. Variables come from the checkpoint, if there is one."""
    if not output_dict:
        raise ValueError(f"output_dict is invalid: {output_dict}.")
    if not feed_dicts:
        raise ValueError(f"feed_dicts is invalid: {feed_dicts}.")
    with graph_for(list(output_dict.values())).as_default(), Session() as session:
        if restore_checkpoint_path:
            Saver(sharded=True).restore(session, restore_checkpoint_path)
        else:
            session.run(global_variables_initializer())
        session.run(Scaffold.default_local_init_op())
        coordinator = Coordinator()
        threads = start_queue_runners(session, coord=coordinator)
        try:
            for feeds in feed_dicts:
                yield session.run(output_dict, feeds)
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=_PATIENCE)


def run_feeds(output_dict: dict[str, Any], feed_dicts: Iterable[Any], restore_checkpoint_path: str | None = None) -> list[dict[str, Any]]:
    """``tf.contrib.learn.run_feeds``: the outputs for each of the feeds."""
    return list(run_feeds_iter(output_dict, feed_dicts, restore_checkpoint_path))


def run_n(output_dict: dict[str, Any], feed_dict: Any = None, restore_checkpoint_path: str | None = None, n: int = 1) -> list[dict[str, Any]]:
    """``tf.contrib.learn.run_n``: the outputs of ``n`` runs."""
    return run_feeds(output_dict, itertools.repeat(feed_dict, n), restore_checkpoint_path)


def infer(restore_checkpoint_path: str, output_dict: dict[str, Any], feed_dict: Any = None) -> dict[str, Any]:
    """``tf.contrib.learn.infer``: the outputs of one run with the variables of a checkpoint."""
    return run_feeds(output_dict, [feed_dict], restore_checkpoint_path)[0]


# --- training --------------------------------------------------------------------------------------------------------

def train(graph: Graph, output_dir: str, train_op: Any, loss_op: Any, global_step_tensor: Any = None, init_op: Any = None, init_feed_dict: Any = None,
          init_fn: Callable[[Any], None] | None = None, log_every_steps: int = 10, supervisor_is_chief: bool = True, supervisor_master: str = "",
          supervisor_save_model_secs: float = 600, keep_checkpoint_max: int | None = 5, supervisor_save_summaries_steps: int = 100,
          feed_fn: Callable[[], Any] | None = None, steps: int | None = None, fail_on_nan_loss: bool = True, monitors: Any = None,
          max_steps: int | None = None) -> Any:
    """``tf.contrib.learn.train``: runs ``train_op`` until the global step has moved on by ``steps``, or is ``max_steps``; returns the last loss.

    A Supervisor restores or initializes the variables, and saves them in ``output_dir``, at the end too, also if a step fails.
    """
    _check_training(output_dir, train_op, loss_op, steps, max_steps)
    with graph.as_default():
        global_step = assert_or_get_global_step(graph, global_step_tensor)
        if global_step is None:
            raise ValueError('No "global_step" was provided or found in the graph.')
        writer = FileWriterCache.get(output_dir) if supervisor_is_chief else None
        if not monitors:
            summary = collected_or_new(graph, GraphKeys.SUMMARY_OP, merge_all)
            monitors = get_default_monitors(loss_op, summary, supervisor_save_summaries_steps, summary_writer=writer) if supervisor_is_chief else []
        monitors = [monitor for monitor in monitors if supervisor_is_chief or monitor.run_on_all_workers]
        limit = _saved_step(output_dir, global_step) + steps if steps else max_steps
        for monitor in monitors:
            monitor.begin(max_steps=limit)
        saved = [*graph.get_collection(GraphKeys.GLOBAL_VARIABLES), *graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)]
        saver = Saver(saved, sharded=True, max_to_keep=keep_checkpoint_max) if saved else None
    supervisor = Supervisor(graph, init_op=Supervisor.USE_DEFAULT if init_op is None else init_op, init_feed_dict=init_feed_dict,
                            is_chief=supervisor_is_chief, logdir=output_dir, saver=saver, global_step=global_step, summary_op=None,
                            summary_writer=writer, save_model_secs=supervisor_save_model_secs, init_fn=init_fn)
    training = _Training(supervisor, train_op, loss_op, global_step, monitors, feed_fn, limit, log_every_steps, fail_on_nan_loss)
    while True:
        try:
            return training.run(supervisor_master)
        except errors.AbortedError:
            logging.warning("Training got Aborted error. Keep training.")


def _check_training(output_dir: str, train_op: Any, loss_op: Any, steps: int | None, max_steps: int | None) -> None:
    if steps is not None and max_steps is not None:
        raise ValueError("Can not provide both steps and max_steps.")
    if not output_dir:
        raise ValueError(f"Output directory should be non-empty {output_dir}.")
    if train_op is None:
        raise ValueError("Missing train_op.")
    if loss_op is None:
        raise ValueError("Missing loss_op.")


def _saved_step(folder: str, global_step: Any) -> int:
    """The global step of the newest checkpoint; 0 without one."""
    try:
        return int(load_variable(folder, global_step.name))
    except (errors.NotFoundError, ValueError):
        return 0


@dataclass
class _Training:
    """A training whose graph is complete; it may need several sessions."""

    supervisor: Supervisor
    train_op: Any
    loss_op: Any
    global_step: Any
    monitors: list[Any]
    feed_fn: Callable[[], Any] | None
    limit: int | None
    log_every_steps: int
    fail_on_nan_loss: bool
    loss: Any = None

    def run(self, master: str) -> Any:
        """Steps until the last one, or the end of the input; the last loss. Errors come after the last checkpoint."""
        with self.supervisor.prepare_or_wait_for_session(master=master) as session:
            try:
                self._run_steps(session)
            except errors.OutOfRangeError as error:
                logging.warning("Got exception during tf.learn training loop possibly due to exhausted input queue %s.", error)
            except StopIteration:
                logging.info("Exhausted input iterator.")
            except BaseException:
                try:
                    self._finish(session)
                except Exception as error:  # the first error is the one to tell of
                    logging.error("Got exception during tf.learn final checkpoint %s.", error)
                raise
            self._finish(session)
        return self.loss

    def _run_steps(self, session: Any) -> None:
        step = logged = int(session.run(self.global_step))
        logging.info("Training steps [%d,%s)", step, "inf" if self.limit is None else str(self.limit))
        while not self.supervisor.should_stop() and (self.limit is None or step < self.limit):
            begin = time.time()
            if self._run_step(session, step + 1):
                return
            before, step = step, int(session.run(self.global_step))
            if step <= before:
                logging.error("Global step was not incremented by train op at step %s: new step %d", before, step)
            if step - logged >= self.log_every_steps or (self.limit is not None and step >= self.limit):
                logging.info("training step %d, loss = %.5f (%.3f sec/batch).", step, self.loss, time.time() - begin)
                logged = step

    def _run_step(self, session: Any, step: int) -> bool:
        """One step; whether a monitor asks for the end."""
        wanted = [self.train_op, self.loss_op]
        for monitor in self.monitors:
            wanted += monitor.step_begin(step)
        wanted = list(dict.fromkeys(wanted))
        values = session.run(wanted, None if self.feed_fn is None else self.feed_fn())
        outputs = {each.name if isinstance(each, Tensor) else each: value for each, value in zip(wanted, values)}
        stops = [monitor.step_end(step, outputs) for monitor in self.monitors]
        self.loss = outputs[self.loss_op.name]
        if np.isnan(self.loss):
            if self.fail_on_nan_loss:
                logging.error("Model diverged with loss = NaN.")
                raise NanLossDuringTrainingError
            logging.warning("Model diverged with loss = NaN.")
        return any(stops)

    def _finish(self, session: Any) -> None:
        """Stops the threads, saves a last checkpoint, and ends the monitors."""
        self.supervisor.stop(close_summary_writer=False)
        step = int(session.run(self.global_step))
        if self.supervisor.is_chief:
            logging.info("Saving checkpoint for step %d to checkpoint: %s.", step, self.supervisor.save_path)
            self.supervisor.saver.save(session, self.supervisor.save_path, global_step=step)
            for monitor in self.monitors:
                monitor.end()


# --- evaluation ------------------------------------------------------------------------------------------------------

def evaluate(graph: Graph, output_dir: str, checkpoint_path: str | None, eval_dict: dict[str, Any], update_op: Any = None,
             global_step_tensor: Any = None, supervisor_master: str = "", log_every_steps: int = 10, feed_fn: Callable[[], Any] | None = None,
             max_steps: int | None = None) -> tuple[Any, Any]:
    """``tf.contrib.learn.evaluate``: (the values of ``eval_dict`` after the last step, the global step), which are also written to ``output_dir``.

    ``update_op`` is run at each step; without it, ``eval_dict`` is. It ends with ``max_steps`` or with the input. ``checkpoint_path`` is a folder or
    a checkpoint in it.
    """
    if not output_dir:
        raise ValueError(f"Output directory should be non-empty {output_dir}.")
    with graph.as_default():
        global_step = assert_or_get_global_step(graph, global_step_tensor)
        saver = collected_or_new(graph, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None)
        manager = SessionManager(local_init_op=collected_or_new(graph, GraphKeys.LOCAL_INIT_OP, initialize_local_state),
                                 ready_op=collected_or_new(graph, GraphKeys.READY_OP, report_uninitialized_variables),
                                 ready_for_local_init_op=collected_or_new(graph, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None), graph=graph)
        initialize = global_variables_initializer()
    session, is_restored = manager.recover_session(supervisor_master, saver=saver, checkpoint_dir=checkpoint_path)
    with graph.as_default(), session:
        if not is_restored:
            logging.warning("Failed to initialize from %s.", checkpoint_path)
            session.run(initialize)
            if checkpoint_path and saver is not None:
                saver.restore(session, checkpoint_path)
        step = session.run(global_step)
        logging.info("Eval steps [0,%s) for training step %d.", "inf" if max_steps is None else str(max_steps), step)
        coordinator = Coordinator()
        threads = start_queue_runners(session, coord=coordinator)
        try:
            results = _evaluate_batches(session, eval_dict, update_op, feed_fn, log_every_steps, max_steps)
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=_PATIENCE)
    _write_results(output_dir, results or {}, step)
    return results, step


def _evaluate_batches(session: Any, eval_dict: dict[str, Any], update_op: Any, feed_fn: Callable[[], Any] | None, log_every_steps: int,
                      max_steps: int | None) -> Any:
    results, feeds, is_newest = None, None, False
    try:
        for number in itertools.count(1) if max_steps is None else range(1, max_steps + 1):
            begin, is_newest = time.time(), False
            feeds = None if feed_fn is None else feed_fn()
            if update_op is not None:
                session.run(update_op, feeds)
            if update_op is None or number % log_every_steps == 0:
                results, is_newest = session.run(eval_dict, feeds), True
            if number % log_every_steps == 0:
                logging.info("Results after %d steps (%.3f sec/batch): %s.", number, time.time() - begin, _text(results))
    except (errors.OutOfRangeError, StopIteration) as error:
        if max_steps is None:
            logging.info("Input is exhausted.")
        else:
            logging.warning("Input is exhausted: %s.", error)
    if not is_newest:
        with contextlib.suppress(errors.OutOfRangeError):  # values that need input, of which there is none left, stay those of the last step
            results = session.run(eval_dict, feeds)
    return results


def _text(results: Any) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(results.items()))


def _write_results(folder: str, results: dict[str, Any], step: Any) -> None:
    """Logs the results, and adds those that are floats to the event file of a folder."""
    logging.info("Saving evaluation summary for step %d: %s", step, _text(results))
    summary = Summary()
    for name, value in results.items():
        if isinstance(value, (np.float32, float)):
            summary.value.add(tag=name, simple_value=float(value))
        else:
            logging.warning("Skipping summary for %s, must be a float or np.float32.", name)
    writer = FileWriterCache.get(folder)
    writer.add_summary(summary, step)
    writer.flush()
