"""The evaluations of ``train_and_evaluate``: after the checkpoints of a training in this process, or beside it in a process of their own."""
from __future__ import annotations

import os
import time
from typing import Any

from penstock.estimator.estimator import Estimator
from penstock.estimator.train_eval_specs import EvalSpec
from penstock.graph.keys import GraphKeys
from penstock.platform import logging
from penstock.train.file_hooks import CheckpointSaverListener
from penstock.train.hook_timers import SecondOrStepTimer

_BETWEEN_WARNINGS = 600.0  # seconds
_LOOK_AGAIN = 0.2  # seconds between two looks for a new checkpoint, if throttle_secs asks for no more


class Evaluator:
    """Evaluates a checkpoint once, and exports."""

    def __init__(self, estimator: Estimator, spec: EvalSpec, last_step: int | None) -> None:
        self._estimator, self._spec, self._last_step = estimator, spec, last_step
        self._previous: str | None = None
        self._warned = float("-inf")

    def evaluate_and_export(self) -> tuple[dict[str, Any], list[Any]] | None:
        """(metrics, results of the exporters) of the latest checkpoint; None if there is none that is new."""
        path = self._estimator.latest_checkpoint()
        if not path:
            self._warn("Estimator is not trained yet. Will start an evaluation when a checkpoint is ready.")
            return None
        if path == self._previous:
            self._warn("No new checkpoint ready for evaluation. Skip the current evaluation pass as evaluation results are expected to be same for "
                       "the same checkpoint.")
            return None
        spec = self._spec
        metrics = self._estimator.evaluate(spec.input_fn, steps=spec.steps, name=spec.name, checkpoint_path=path, hooks=spec.hooks)
        final = bool(self._last_step and metrics[GraphKeys.GLOBAL_STEP] >= self._last_step)
        exports = [exporter.export(estimator=self._estimator, export_path=os.path.join(self._estimator.model_dir, "export", exporter.name),
                                   checkpoint_path=path, eval_result=metrics, is_the_final_export=final) for exporter in spec.exporters]
        self._warned, self._previous = float("-inf"), path
        return metrics, exports

    def _warn(self, message: str) -> None:
        if time.monotonic() - self._warned > _BETWEEN_WARNINGS:
            logging.warning(message)
            self._warned = time.monotonic()


class EvaluatingListener(CheckpointSaverListener):
    """Evaluates when training has saved a checkpoint, not more often than ``throttle_secs``, and at the end."""

    def __init__(self, evaluator: Evaluator, throttle_secs: float) -> None:
        self._evaluator, self._throttle_secs = evaluator, throttle_secs
        self.metrics: dict[str, Any] | None = None
        self.exports: list[Any] | None = None

    def begin(self) -> None:
        """Starts the clock."""
        self._timer = SecondOrStepTimer(every_secs=self._throttle_secs)
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluates, but not the first checkpoint, which is saved before the first step."""
        if self._is_first:
            self._is_first = False
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            logging.info("Skip the current checkpoint eval due to throttle secs (%s secs).", self._throttle_secs)

    def end(self, session: Any, global_step_value: int) -> None:
        """Evaluates the last step."""
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        result = self._evaluator.evaluate_and_export()
        if result is None:
            raise RuntimeError("There was no new checkpoint after the training. Eval status: no new checkpoint")
        self.metrics, self.exports = result


def evaluate_until(estimator: Estimator, spec: EvalSpec, last_step: int | None) -> None:
    """Evaluates every new checkpoint until that of ``last_step``; with no last step, forever."""
    logging.info("Waiting %f secs before starting eval.", spec.start_delay_secs)
    time.sleep(spec.start_delay_secs)
    evaluator = Evaluator(estimator, spec, last_step)
    while True:
        started = time.monotonic()
        result = evaluator.evaluate_and_export()
        if result is not None and last_step and result[0][GraphKeys.GLOBAL_STEP] >= last_step:
            logging.info("Exiting evaluation, global_step=%s >= train max_steps=%s", result[0][GraphKeys.GLOBAL_STEP], last_step)
            return
        pause = max(spec.throttle_secs - (time.monotonic() - started), 0 if result else _LOOK_AGAIN)
        if pause > 1:
            logging.info("Waiting %f secs before starting next eval run.", pause)
        time.sleep(pause)
