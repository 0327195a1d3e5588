"""``slim.evaluation``: a model is evaluated on a checkpoint, or on each new one."""
from __future__ import annotations

from typing import Any

from penstock.checkpoint.new_checkpoints import checkpoints_iterator, wait_for_new_checkpoint
from penstock.contrib.training.evaluation import SummaryAtEndHook, evaluate_repeatedly
from penstock.summary import summary
from penstock.train import evaluation
from penstock.train.saver import Saver
from penstock.train.scaffold import Scaffold

__all__ = ["checkpoints_iterator", "evaluate_once", "evaluation_loop", "wait_for_new_checkpoint"]

_USE_DEFAULT = 0


def _hooks(num_evals: int, logdir: str | None, summary_op: Any, summary_op_feed_dict: Any, hooks: Any) -> list[Any]:
    if isinstance(summary_op, int) and summary_op == _USE_DEFAULT:
        summary_op = summary.merge_all()
    made: list[Any] = [evaluation.StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        made.append(SummaryAtEndHook(log_dir=logdir, summary_op=summary_op, feed_dict=summary_op_feed_dict))
    return [*made, *(hooks or [])]


def _scaffold(variables_to_restore: Any, **options: Any) -> Scaffold:
    return Scaffold(saver=None if variables_to_restore is None else Saver(variables_to_restore), **options)


def evaluate_once(master: str, checkpoint_path: str, logdir: str | None, num_evals: int = 1, initial_op: Any = None,
                  initial_op_feed_dict: Any = None, eval_op: Any = None, eval_op_feed_dict: Any = None, final_op: Any = None,
                  final_op_feed_dict: Any = None, summary_op: Any = _USE_DEFAULT, summary_op_feed_dict: Any = None,
                  variables_to_restore: Any = None, session_config: Any = None, hooks: Any = None) -> Any:
    """Runs ``eval_op`` some times on one checkpoint; the values of ``final_op``."""
    return evaluation.evaluate_once(
        checkpoint_path, master=master, scaffold=_scaffold(variables_to_restore, init_op=initial_op, init_feed_dict=initial_op_feed_dict),
        eval_ops=eval_op, feed_dict=eval_op_feed_dict, final_ops=final_op, final_ops_feed_dict=final_op_feed_dict,
        hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks), config=session_config)


def evaluation_loop(master: str, checkpoint_dir: str, logdir: str | None, num_evals: int = 1, initial_op: Any = None,
                    initial_op_feed_dict: Any = None, init_fn: Any = None, eval_op: Any = None, eval_op_feed_dict: Any = None,
                    final_op: Any = None, final_op_feed_dict: Any = None, summary_op: Any = _USE_DEFAULT, summary_op_feed_dict: Any = None,
                    variables_to_restore: Any = None, eval_interval_secs: float = 60, max_number_of_evaluations: int | None = None,
                    session_config: Any = None, timeout: float | None = None, timeout_fn: Any = None, hooks: Any = None) -> Any:
    """The same for each new checkpoint in a folder, until enough are done or none comes in time."""
    return evaluate_repeatedly(
        checkpoint_dir, master=master,
        scaffold=_scaffold(variables_to_restore, init_op=initial_op, init_feed_dict=initial_op_feed_dict, init_fn=init_fn),
        eval_ops=eval_op, feed_dict=eval_op_feed_dict, final_ops=final_op, final_ops_feed_dict=final_op_feed_dict,
        eval_interval_secs=eval_interval_secs, hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks), config=session_config,
        max_number_of_evaluations=max_number_of_evaluations, timeout=timeout, timeout_fn=timeout_fn)
