"""``slim.learning``: training operations, and the loop that runs one until it is told to stop.

``train`` prepares the session (initialises or restores it, starts queue runners, summaries and savers through a Supervisor), then calls
``train_step_fn`` again and again. A chief saves the model when it stops. A session that a lost task aborted is made anew, from the last checkpoint.
"""
from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions

from penstock import errors
from penstock.contrib.training import training
from penstock.contrib.training.training import clip_gradient_norms, multiply_gradients
from penstock.debug.timeline import Timeline
from penstock.graph.graph import default_graph
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.constant import constant
from penstock.ops.flow.misc import group
from penstock.ops.math.compare import equal, greater_equal
from penstock.ops.math.division import mod
from penstock.platform import gfile, logging
from penstock.summary import summary
from penstock.train import saver as tf_saver  # a name that programs know
from penstock.train import supervisor  # and another one
from penstock.train.global_step import get_or_create_global_step
from penstock.train.global_step import global_step as value_of_step
from penstock.train.lookup import tables_initializer
from penstock.train.optimizer import Optimizer
from penstock.train.sync_replicas import SyncReplicasOptimizer
from penstock.variables.initialization import global_variables_initializer, local_variables_initializer, report_uninitialized_variables

__all__ = ["add_gradients_summaries", "clip_gradient_norms", "create_train_op", "multiply_gradients", "train", "train_step"]

_USE_DEFAULT = 0  # also the global step of the graph


def add_gradients_summaries(grads_and_vars: list[tuple[Any, Any]]) -> list[Any]:
    """A histogram and the norm of each gradient."""
    return training.add_gradients_summaries(grads_and_vars, separator="/")


def create_train_op(total_loss: Any, optimizer: Optimizer, global_step: Any = _USE_DEFAULT, update_ops: Any = None,
                    variables_to_train: Any = None, clip_gradient_norm: float = 0, summarize_gradients: bool = False,
                    gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None, colocate_gradients_with_ops: bool = False,
                    gradient_multipliers: Any = None, check_numerics: bool = True) -> Any:
    """A tensor that, when it is run, runs the updates of the layers, applies gradients, and is the loss."""
    def transform(gradients: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        if gradient_multipliers:
            with name_scope("multiply_grads"):
                gradients = multiply_gradients(gradients, gradient_multipliers)
        if clip_gradient_norm > 0:
            with name_scope("clip_grads"):
                gradients = clip_gradient_norms(gradients, clip_gradient_norm)
        return gradients

    return training.create_train_op(
        total_loss=total_loss, optimizer=optimizer, global_step=global_step, update_ops=update_ops, variables_to_train=variables_to_train,
        transform_grads_fn=transform, summarize_gradients=summarize_gradients, gate_gradients=gate_gradients,
        aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops, check_numerics=check_numerics)


# --- one step --------------------------------------------------------------------------------------------------------

def train_step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Runs one step; (loss, whether to stop). ``train_step_kwargs`` holds tensors: should_stop, should_log, should_trace."""
    started, traced, options = time.time(), None, None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError("logdir must be present in train_step_kwargs when should_trace is present")
        if sess.run(train_step_kwargs["should_trace"]):
            options, traced = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=traced)
    elapsed = time.time() - started
    if traced is not None:
        _write_trace(traced, step, train_step_kwargs)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, elapsed)
    return loss, sess.run(train_step_kwargs["should_stop"]) if "should_stop" in train_step_kwargs else False


def _write_trace(metadata: Any, step: int, train_step_kwargs: dict[str, Any]) -> None:
    path = os.path.join(train_step_kwargs["logdir"], f"tf_trace-{step}.json")
    logging.info("Writing trace to %s", path)
    with gfile.GFile(path, "w") as file:
        file.write(Timeline(metadata.step_stats).generate_chrome_trace_format())
    if "summary_writer" in train_step_kwargs:
        train_step_kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")


# --- the loop --------------------------------------------------------------------------------------------------------

def train(train_op: Any, logdir: str | None, train_step_fn: Callable[..., tuple[Any, Any]] = train_step, train_step_kwargs: Any = _USE_DEFAULT,
          log_every_n_steps: int = 1, graph: Any = None, master: str = "", is_chief: bool = True, global_step: Any = None,
          number_of_steps: int | None = None, init_op: Any = _USE_DEFAULT, init_feed_dict: Any = None, local_init_op: Any = _USE_DEFAULT,
          init_fn: Any = None, ready_op: Any = _USE_DEFAULT, summary_op: Any = _USE_DEFAULT, save_summaries_secs: float = 600,
          summary_writer: Any = _USE_DEFAULT, startup_delay_steps: int = 0, saver: Any = None, save_interval_secs: float = 600,
          sync_optimizer: Any = None, session_config: Any = None, session_wrapper: Any = None, trace_every_n_steps: int | None = None,
          ignore_live_threads: bool = False) -> Any:
    """Trains until ``train_step_fn`` says stop, ``number_of_steps`` are done, or the input ends. Returns the last loss."""
    _check(train_op, logdir, summary_op, saver, trace_every_n_steps, number_of_steps)
    optimizers = _sync_optimizers(sync_optimizer, startup_delay_steps)
    graph = graph or default_graph()
    with graph.as_default():
        global_step = get_or_create_global_step() if global_step is None else global_step
        saver = saver or tf_saver.Saver()
        init_op, local_init_op, ready_op, ready_for_local = _init_ops(init_op, local_init_op, ready_op, optimizers, is_chief)
        summary_op = summary.merge_all() if _is_default(summary_op) else summary_op
        writer = supervisor.Supervisor.USE_DEFAULT if _is_default(summary_writer) else summary_writer
        tokens = [optimizer.get_init_tokens_op() for optimizer in optimizers] if is_chief else []
        runners = [optimizer.get_chief_queue_runner() for optimizer in optimizers] if is_chief else []
        if _is_default(train_step_kwargs):
            train_step_kwargs = _step_arguments(global_step, number_of_steps, log_every_n_steps, trace_every_n_steps if is_chief else None, logdir)
    running = supervisor.Supervisor(
        graph=graph, is_chief=is_chief, logdir=logdir, init_op=init_op, init_feed_dict=init_feed_dict, local_init_op=local_init_op,
        ready_for_local_init_op=ready_for_local, ready_op=ready_op, summary_op=summary_op, summary_writer=writer, global_step=global_step,
        saver=saver, save_summaries_secs=save_summaries_secs, save_model_secs=save_interval_secs, init_fn=init_fn)
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = running.summary_writer

    def run() -> Any:
        with running.managed_session(master, start_standard_services=False, config=session_config) as sess:
            logging.info("Starting Session.")
            if session_wrapper is not None:
                logging.info("Wrapping session with wrapper function: %s", session_wrapper)
                sess = session_wrapper(sess)
            if is_chief and logdir:
                running.start_standard_services(sess)
            elif not is_chief and startup_delay_steps > 0:
                _wait_for_step(sess, global_step, min(startup_delay_steps, number_of_steps or sys.maxsize))
            threads = running.start_queue_runners(sess)
            logging.info("Starting Queues.")
            if runners:
                running.start_queue_runners(sess, runners)
                sess.run(tokens)
            loss = _loop(running, sess, train_step_fn, train_op, global_step, train_step_kwargs)
            if logdir and running.is_chief:
                running.stop(threads, close_summary_writer=True, ignore_live_threads=ignore_live_threads)  # no thread saves after this
                logging.info("Finished training! Saving model to disk.")
                running.saver.save(sess, running.save_path, global_step=running.global_step)
            return loss

    while True:
        try:
            return run()
        except errors.AbortedError:
            logging.info("Retrying training!")


def _loop(running: supervisor.Supervisor, sess: Any, step: Callable[..., tuple[Any, Any]], train_op: Any, global_step: Any,
          arguments: dict[str, Any]) -> Any:
    loss = None
    try:
        while not running.should_stop():
            loss, stop = step(sess, train_op, global_step, arguments)
            if stop:
                logging.info("Stopping Training.")
                running.request_stop()
    except errors.OutOfRangeError as error:
        logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
    return loss


def _is_default(value: Any) -> bool:
    return isinstance(value, int) and value == _USE_DEFAULT


def _check(train_op: Any, logdir: str | None, summary_op: Any, saver: Any, trace_every_n_steps: Any, number_of_steps: Any) -> None:
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    given = {"summary_op": not _is_default(summary_op), "saver": saver is not None, "trace_every_n_steps": trace_every_n_steps is not None}
    for name, is_given in given.items():
        if logdir is None and is_given:
            raise ValueError(f"Cannot provide {name} because logdir=None")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")


def _sync_optimizers(given: Any, startup_delay_steps: int) -> list[SyncReplicasOptimizer]:
    optimizers = [] if given is None else [given] if isinstance(given, SyncReplicasOptimizer) else list(given)
    if given is not None and startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if not all(isinstance(optimizer, SyncReplicasOptimizer) for optimizer in optimizers):
        raise ValueError("`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.")
    return optimizers


def _init_ops(init_op: Any, local_init_op: Any, ready_op: Any, optimizers: list[SyncReplicasOptimizer], is_chief: bool) -> tuple[Any, ...]:
    """(init_op, local_init_op, ready_op, ready_for_local_init_op), with their defaults."""
    with name_scope("init_ops"):
        if _is_default(init_op):
            init_op = global_variables_initializer()
        if _is_default(ready_op):
            ready_op = report_uninitialized_variables()
        if _is_default(local_init_op):
            local_init_op = group(local_variables_initializer(), tables_initializer())
        if not optimizers:
            return init_op, local_init_op, ready_op, None
        with control_dependencies([] if local_init_op is None else [local_init_op]):
            local_init_op = group(*[each.chief_init_op if is_chief else each.local_step_init_op for each in optimizers])
        return init_op, local_init_op, ready_op, group(*[each.ready_for_local_init_op for each in optimizers])


def _step_arguments(global_step: Any, number_of_steps: int | None, log_every: int, trace_every: int | None, logdir: str | None) -> dict[str, Any]:
    with name_scope("train_step"):
        arguments = {"should_stop": greater_equal(global_step, number_of_steps) if number_of_steps else constant(False)}
        if log_every > 0:
            arguments["should_log"] = equal(mod(global_step, log_every), 0)
        if trace_every is not None:
            arguments.update(should_trace=equal(mod(global_step, trace_every), 0), logdir=logdir)
        return arguments


def _wait_for_step(sess: Any, global_step: Any, step: int) -> None:
    while value_of_step(sess, global_step) < step:
        time.sleep(1.0)
