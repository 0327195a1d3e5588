"""Loops that evaluate checkpoints as they come: ``evaluate_repeatedly``, and a hook that writes summaries at the end of each evaluation."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.checkpoint.new_checkpoints import checkpoints_iterator
from penstock.summary import summary
from penstock.summary.file_writer import FileWriterCache
from penstock.train.basic_hooks import FinalOpsHook
from penstock.train.evaluation import count_batches, get_or_create_eval_step, run_batches
from penstock.train.global_step import get_or_create_global_step, global_step
from penstock.train.session_run_hook import SessionRunHook


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


def evaluate_repeatedly(checkpoint_dir: str, master: str = "", scaffold: Any = None, eval_ops: Any = None, feed_dict: Any = None,
                        final_ops: Any = None, final_ops_feed_dict: Any = None, eval_interval_secs: float = 60, hooks: Any = None,
                        config: Any = None, max_number_of_evaluations: int | None = None, timeout: float | None = None,
                        timeout_fn: Callable[[], bool] | None = None) -> Any:
    """``tf.contrib.training.evaluate_repeatedly``: evaluates each new checkpoint of a folder; the values of ``final_ops`` of the last one."""
    get_or_create_eval_step()
    hooks = hooks or []
    if eval_ops is not None:
        eval_ops = count_batches(eval_ops, hooks)
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    hooks.append(final)
    checkpoints = checkpoints_iterator(checkpoint_dir, min_interval_secs=eval_interval_secs, timeout=timeout, timeout_fn=timeout_fn)
    for number, path in enumerate(checkpoints, start=1):
        run_batches(path, master, scaffold, eval_ops, feed_dict, hooks, config, tells_when_ready=True)
        if max_number_of_evaluations is not None and number >= max_number_of_evaluations:
            break
    return final.final_ops_values
