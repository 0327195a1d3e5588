"""What a monitor is: it is asked before each step which tensors it wants to see, and told after the step what they were.

Steps are numbered from 1. A monitor that returns True from ``step_end`` stops the training.
"""
from __future__ import annotations

from typing import Any


class BaseMonitor:
    """``tf.contrib.learn.monitors.BaseMonitor``: does nothing. ``begin`` and ``end`` enclose the steps of a training."""

    def __init__(self) -> None:
        self._begun = False
        self._current_epoch: int | None = None
        self._current_step: int | None = None
        self._max_steps: int | None = None
        self._estimator: Any = None

    @property
    def run_on_all_workers(self) -> bool:
        """Whether workers that are not the chief run it, too."""
        return False

    def set_estimator(self, estimator: Any) -> None:
        """Tells which estimator is trained."""
        if estimator is None:
            raise ValueError("Missing estimator.")
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Training begins."""
        if self._begun:
            raise ValueError("begin called twice without end.")
        self._max_steps, self._begun = max_steps, True

    def end(self, session: Any = None) -> None:
        """Training has ended."""
        if not self._begun:
            raise ValueError("end called without begin.")
        self._max_steps, self._begun = None, False

    def epoch_begin(self, epoch: int) -> None:
        """An epoch begins."""
        if self._current_epoch is not None:
            raise ValueError("epoch_begin called twice without epoch_end.")
        if epoch < 0:
            raise ValueError(f"Invalid epoch {epoch}.")
        self._current_epoch = epoch

    def epoch_end(self, epoch: int) -> None:
        """An epoch has ended."""
        if self._current_epoch != epoch:
            raise ValueError(f"epoch_end expected {self._current_epoch} but got {epoch}.")
        self._current_epoch = None

    def step_begin(self, step: int) -> list[Any]:
        """The tensors, or their names, that it wants to see after this step."""
        if step < 0 or (self._max_steps is not None and step > self._max_steps):
            raise ValueError(f"Invalid step {step}.")
        self._current_step = step
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool | None:
        """What it asked for, by tensor or name; returns whether to stop."""
        if self._current_step != step:
            raise ValueError(f"step_end expected {self._current_step} but got {step}.")
        self._current_step = None
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Called when all monitors have seen the step."""


class EveryN(BaseMonitor):
    """``tf.contrib.learn.monitors.EveryN``: looks at the first steps, then at every nth, and at the last one."""

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps, self._first_n_steps = every_n_steps, first_n_steps
        self._last_successful_step: int | None = None
        self._last_active_step = 0
        self._is_active = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """``step_begin`` of a step that it looks at."""
        return []

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool | None:
        """``step_end`` of a step that it looks at."""
        return False

    def every_n_post_step(self, step: int, session: Any) -> None:
        """``post_step`` of a step that it looks at; also of the last step of the training."""

    def step_begin(self, step: int) -> list[Any]:
        """Decides whether it looks at this step."""
        super().step_begin(step)
        self._is_active = step <= self._first_n_steps or step >= self._every_n_steps + self._last_active_step or step == self._max_steps
        return self.every_n_step_begin(step) if self._is_active else []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool | None:
        """Looks at the step."""
        super().step_end(step, output)
        return self.every_n_step_end(step, output) if self._is_active else False

    def post_step(self, step: int, session: Any) -> None:
        """Counts from this step on, if it has looked at it."""
        super().post_step(step, session)
        if self._is_active:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session: Any = None) -> None:
        """Looks at the last step."""
        super().end(session=session)
        if self._last_successful_step is not None and self._last_successful_step != self._last_active_step:
            self.every_n_post_step(self._last_successful_step, session)


def output_of(outputs: dict[Any, Any], request: Any) -> Any:
    """What a monitor asked for: a tensor, or its name."""
    return outputs[request] if request in outputs else outputs[request.name]
