"""Timers of hooks: when is it time again, by steps or by seconds?"""
from __future__ import annotations

import time


class SecondOrStepTimer:
    """``tf.train.SecondOrStepTimer``: triggers at the first step, and then every so many seconds or steps.

    >>> timer = SecondOrStepTimer(every_steps=3)
    >>> for step in range(8):
    ...     if timer.should_trigger_for_step(step):
    ...         print(step, timer.update_last_triggered_step(step)[1])
    0 None
    3 3
    6 3
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets when it triggered."""
        self._last_step: int | None = None
        self._last_time = 0.0

    def should_trigger_for_step(self, step: int) -> bool:
        """True if it is time at this step; never twice for one step."""
        if self._last_step is None:
            return True
        if step == self._last_step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        return step >= self._last_step + (self._every_steps or 0)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that it triggered now; returns the seconds and the steps since the last time, None at the first."""
        now, before = time.time(), self._last_step
        since = (None, None) if before is None else (now - self._last_time, step - before)
        self._last_step, self._last_time = step, now
        return since

    def last_triggered_step(self) -> int | None:
        """The step at which it triggered last, or None."""
        return self._last_step


class NeverTriggerTimer(SecondOrStepTimer):
    """A timer that never triggers."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        """False."""
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Nothing is noted."""
        return None, None
