"""One evaluation: its graph is built, a checkpoint is restored, the metrics are updated over the input, then their values are read and written."""
from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from penstock.estimator.progress import show_evaluation
from penstock.graph import dtypes
from penstock.graph.keys import GraphKeys
from penstock.graph.tensor_proto import make_tensor_proto
from penstock.layers.metrics import streaming
from penstock.ops.flow.misc import group
from penstock.platform import logging
from penstock.summary.file_writer import FileWriterCache
from penstock.train.basic_hooks import FinalOpsHook
from penstock.train.evaluation import count_batches, run_batches
from penstock.train.scaffold import Scaffold
from penstock.train.session_run_hook import SessionRunHook


class Evaluation(NamedTuple):
    """What an evaluation runs for each batch, and the values of its metrics by name."""

    scaffold: Scaffold
    eval_ops: Any
    values: dict[str, Any]
    hooks: list[SessionRunHook]


def metric_ops(metrics: dict[str, Any], loss: Any) -> tuple[dict[str, Any], Any]:
    """({name: value}, one operation that updates all) of a spec's metrics, and of its loss, which is averaged over batches."""
    if "loss" in metrics:
        raise ValueError('Metric with name "loss" is not allowed, because Estimator already defines a default metric with the same name.')
    if GraphKeys.GLOBAL_STEP in metrics:
        raise ValueError("Metric with name `global_step` is not allowed, because Estimator already defines a default metric with the same name.")
    metrics = {**metrics, "loss": streaming.mean(loss)}
    return {name: metrics[name][0] for name in sorted(metrics)}, group(*[metrics[name][1] for name in sorted(metrics)])


def prepare(scaffold: Scaffold, update_op: Any, values: dict[str, Any], hooks: list[SessionRunHook]) -> Evaluation:
    """An evaluation that runs ``update_op`` on each batch. All that the graph needs for it is added here: it may be run several times."""
    eval_ops = count_batches(update_op, hooks)
    if scaffold.local_init_op is not None:  # it was made before the variables of the evaluation
        scaffold = Scaffold(local_init_op=group(scaffold.local_init_op, Scaffold.default_local_init_op()), copy_from_scaffold=scaffold)
    return Evaluation(scaffold, eval_ops, values, hooks)


def run_evaluation(evaluation: Evaluation, checkpoint_path: str | None, folder: str, master: str = "", config: Any = None,
                   names_checkpoint: bool = True) -> dict[str, Any]:
    """Updates the metrics until a hook or the end of the input stops it; returns their values, and writes them to the event file of ``folder``.

    ``names_checkpoint``: the file tells which checkpoint they belong to.
    """
    final = FinalOpsHook(evaluation.values)
    run_batches(checkpoint_path, master, evaluation.scaffold, evaluation.eval_ops, None, [*evaluation.hooks, final], config)
    results = dict(final.final_ops_values)
    show_evaluation(results)
    _write_results(folder, results, checkpoint_path if names_checkpoint else None)
    return results


def _write_results(folder: str, results: dict[str, Any], checkpoint_path: str | None) -> None:
    """Logs the results and adds them to the event file of ``folder``, with the checkpoint that they belong to, if it is given."""
    step = int(results[GraphKeys.GLOBAL_STEP])
    shown = [f"{name} = {value!s}" for name, value in sorted(results.items()) if not isinstance(value, bytes)]
    logging.info("Saving dict for global step %d: %s", step, ", ".join(shown))
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
    elif not isinstance(value, (tuple, list, dict)) and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiub":
        summary.value.add(tag=name, simple_value=float(value))
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        summary.value.add(tag=name).tensor.CopyFrom(make_tensor_proto(value))
    else:
        logging.warning("Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or np.ndarray or a serialized string of "
                        "Summary.", name)
