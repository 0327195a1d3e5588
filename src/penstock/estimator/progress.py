"""What people see on a terminal: a bar while a model trains, and a line for each evaluation. Without a terminal, the log lines suffice."""
from __future__ import annotations

import logging as standard_logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from penstock.graph.keys import GraphKeys
from penstock.platform import logging
from penstock.train.global_step import global_step_read
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues


class _Bar(tqdm):  # type: ignore[misc]  # tqdm has no types
    """A bar that needs no thread to watch it."""

    monitor_interval = 0


class _ProgressHook(SessionRunHook):
    """Draws the steps, the loss, steps per second and the time left."""

    def __init__(self, loss: Any, steps: int | None, last_step: int | None) -> None:
        self._loss, self._steps, self._last_step = loss, steps, last_step
        self.bar: Any = None

    def begin(self) -> None:
        """Finds the global step."""
        self._step = global_step_read("progress")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Starts at the step that was restored, which may be an earlier one than that of a lost session."""
        step = int(session.run(self._step))
        if self.bar is None:
            last = self._last_step if self._steps is None else step + self._steps
            width = _assumed_width()
            self.bar = _Bar(desc="training", initial=step, total=last, unit=" steps", file=sys.stderr, mininterval=0.2, ncols=width,
                            nrows=None if width is None else 24, dynamic_ncols=width is None)
        self.bar.n = step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches step and loss."""
        return SessionRunArgs([self._step, self._loss])

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Moves on. The step that was fetched may be the one before the update."""
        step, loss = run_values.results
        self.bar.postfix = f"loss={float(loss):.4g}"
        self.bar.update(int(step) - self.bar.n)

    def end(self, session: Any) -> None:
        """Draws the last step."""
        self.bar.update(int(session.run(self._step)) - self.bar.n)


@contextmanager
def progress_hooks(loss: Any, steps: int | None, last_step: int | None) -> Iterator[list[SessionRunHook]]:
    """The hook that draws, on a terminal; none elsewhere. Log lines and the bar do not disturb each other."""
    if not _on_terminal():
        yield []
        return
    hook = _ProgressHook(loss, steps, last_step)

    def clear(record: standard_logging.LogRecord) -> bool:
        if hook.bar is not None:
            hook.bar.clear()
        return True
    logger = logging.get_logger()
    logger.addFilter(clear)
    try:
        yield [hook]
    finally:
        logger.removeFilter(clear)
        if hook.bar is not None:
            hook.bar.close()


def _on_terminal() -> bool:
    isatty = getattr(sys.stderr, "isatty", None)  # programs put objects of their own there
    return isatty is not None and bool(isatty())


def _assumed_width() -> int | None:
    """The columns of a terminal that does not know them, as those of scripts and containers; None for others, whose bar follows the window."""
    try:
        return None if os.get_terminal_size(sys.stderr.fileno()).columns else 80
    except (OSError, AttributeError):  # not a file, though it says that it is a terminal
        return None


def show_evaluation(results: dict[str, Any]) -> None:
    """A line with the metrics of an evaluation, on a terminal."""
    if _on_terminal():
        metrics = ", ".join(f"{name} {float(value):.4g}" for name, value in sorted(results.items())
                            if name != GraphKeys.GLOBAL_STEP and _is_number(value))
        tqdm.write(f"evaluation at step {int(results[GraphKeys.GLOBAL_STEP])}: {metrics}", file=sys.stderr)


def _is_number(value: Any) -> bool:
    return getattr(value, "ndim", 0) == 0 and not isinstance(value, (bytes, str))
