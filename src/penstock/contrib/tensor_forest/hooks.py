"""Hooks of forests: what is reported at the end, and when to stop."""
from __future__ import annotations

from typing import Any

from penstock.platform import logging
from penstock.train.global_step import get_global_step
from penstock.train.session_run_hook import SessionRunArgs, SessionRunHook

LOSS_NAME = "rf_training_loss"


class TensorForestRunOpAtEndHook(SessionRunHook):
    """Runs operations, ``{name: op}``, before the session is closed, and logs what they give."""

    def __init__(self, op_dict: dict[str, Any]) -> None:
        self._ops = op_dict

    def end(self, session: Any) -> None:
        """Runs them in the order of their names."""
        for name in sorted(self._ops):
            logging.info(f"{name}: {session.run(self._ops[name])}")


class TensorForestLossHook(SessionRunHook):
    """Stops when the loss has not fallen by more than a share for so many steps."""

    def __init__(self, early_stopping_rounds: int, early_stopping_loss_threshold: float | None = None, loss_op: Any = None) -> None:
        self.early_stopping_rounds, self.early_stopping_loss_threshold, self.loss_op = early_stopping_rounds, early_stopping_loss_threshold, loss_op
        self.min_loss: Any = None
        self.last_step, self.steps = -1, 0  # the second: steps since the loss fell

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for step and loss."""
        loss = self.loss_op if self.loss_op is not None else run_context.session.graph.get_operation_by_name(LOSS_NAME).outputs[0]
        return SessionRunArgs({"global_step": get_global_step(), "current_loss": loss})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Counts steps without a smaller loss. A step that goes back, after a restart, begins anew."""
        loss, step = run_values.results["current_loss"], run_values.results["global_step"]
        self.steps += 1
        if self.last_step == -1 or self.last_step > step:
            logging.info("TensorForestLossHook resetting last_step.")
            self.last_step, self.steps, self.min_loss = step, 0, None
            return
        self.last_step = step
        if self.min_loss is None or loss < self.min_loss - self.min_loss * (self.early_stopping_loss_threshold or 0.0):
            self.min_loss, self.steps = loss, 0
        if self.steps > self.early_stopping_rounds:
            logging.info("TensorForestLossHook requesting stop.")
            run_context.request_stop()
