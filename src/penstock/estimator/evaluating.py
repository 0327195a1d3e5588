"""One evaluation: a checkpoint is restored, the updates of the metrics run over the input, then their values are read."""
from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock.graph import dtypes
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import control_dependencies
from penstock.graph.tensor_proto import make_tensor_proto
from penstock.layers.metrics import streaming
from penstock.ops.flow.misc import group
from penstock.platform import logging
from penstock.summary.file_writer import FileWriterCache
from penstock.train.basic_hooks import FinalOpsHook
from penstock.train.monitored_session import MonitoredSession
from penstock.train.scaffold import ChiefSessionCreator, Scaffold
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from penstock.variables.initializers import Zeros
from penstock.variables.scope import get_variable, variable_scope


def eval_step_variable() -> Any:
    """The local variable that counts the batches of an evaluation."""
    graph = default_graph()
    steps = graph.get_collection(GraphKeys.EVAL_STEP)
    if len(steps) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if steps:
        return steps[0]
    with variable_scope("", reuse=False):
        return get_variable("eval_step", [], dtypes.int64, Zeros(), trainable=False, collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP])


class StopAfterNEvalsHook(SessionRunHook):
    """Counts batches, logs how many there were, and stops after ``num_evals`` of them (None: at the end of the input)."""

    def __init__(self, num_evals: int | None) -> None:
        self._num_evals = num_evals
        self._every = 1 if num_evals is None or num_evals < 20 else math.floor(num_evals / 10)
        self.completed: Any = None  # a tensor, which the evaluation sets

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the number of batches."""
        return SessionRunArgs(self.completed)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stops after the last one."""
        done = int(run_values.results)
        if self._num_evals is None:
            logging.info("Evaluation [%d]", done)
        elif done % self._every == 0 or done == self._num_evals:
            logging.info("Evaluation [%d/%d]", done, self._num_evals)
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()


def metric_ops(metrics: dict[str, Any], loss: Any) -> tuple[dict[str, Any], Any]:
    """({name: value}, one operation that updates all) of a spec's metrics, and of its loss, which is averaged over batches."""
    if "loss" in metrics:
        raise ValueError('Metric with name "loss" is not allowed, because Estimator already defines a default metric with the same name.')
    if GraphKeys.GLOBAL_STEP in metrics:
        raise ValueError("Metric with name `global_step` is not allowed, because Estimator already defines a default metric with the same name.")
    metrics = {**metrics, "loss": streaming.mean(loss)}
    return {name: value for name, (value, _) in metrics.items()}, group(*[metrics[name][1] for name in sorted(metrics)])


def evaluate_once(checkpoint_path: str | None, update_op: Any, values: dict[str, Any], hooks: Iterable[SessionRunHook], scaffold: Scaffold,
                  master: str = "", config: Any = None) -> dict[str, Any]:
    """Runs ``update_op`` until a hook or the end of the input stops it; returns the ``values``."""
    step = eval_step_variable()
    if scaffold.local_init_op is not None:  # it was made before the variables of the evaluation
        scaffold = Scaffold(local_init_op=group(scaffold.local_init_op, Scaffold.default_local_init_op()), copy_from_scaffold=scaffold)
    with control_dependencies([update_op]):
        completed = step.assign_add(1, use_locking=True)
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook.completed = completed
    final = FinalOpsHook(values)
    logging.info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.localtime()))
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_filename_with_path=checkpoint_path)
    with MonitoredSession(creator, [*hooks, final]) as session:
        while not session.should_stop():
            session.run([update_op, completed])
    logging.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime()))
    return dict(final.final_ops_values)


def write_results(folder: str, results: dict[str, Any], checkpoint_path: str | None) -> None:
    """Logs the results and adds them to the event file of ``folder``, with the checkpoint that they belong to."""
    step = int(results[GraphKeys.GLOBAL_STEP])
    logging.info("Saving dict for global step %d: %s", step, ", ".join(f"{name} = {results[name]}" for name in sorted(results)))
    summary = Summary()
    for name in sorted(results):
        if name != GraphKeys.GLOBAL_STEP:
            _add_value(summary, name, results[name])
    os.makedirs(folder, exist_ok=True)
    writer = FileWriterCache.get(folder)
    writer.add_summary(summary, step)
    if checkpoint_path:
        logging.info("Saving 'checkpoint_path' summary for global step %d: %s", step, checkpoint_path)
        path = Summary()
        value = path.value.add(tag="checkpoint_path")
        value.tensor.CopyFrom(make_tensor_proto(checkpoint_path, dtype=dtypes.string))
        writer.add_summary(path, step)
    writer.flush()


def _add_value(summary: Summary, name: str, value: Any) -> None:
    """A number as such, a serialized summary with a tag of the metric's name, an array as a tensor."""
    if isinstance(value, bytes):
        for part in Summary.FromString(value).value:
            copied = summary.value.add()
            copied.CopyFrom(part)
            copied.tag = name
    elif np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiub":
        summary.value.add(tag=name, simple_value=float(value))
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        summary.value.add(tag=name).tensor.CopyFrom(make_tensor_proto(value))
    else:
        logging.warning("Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or np.ndarray or a serialized string of "
                        "Summary.", name)
