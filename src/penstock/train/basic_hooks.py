"""Hooks that stop, log, watch, wait and feed: all but those that write files."""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.platform import logging
from penstock.train.global_step import global_step_read
from penstock.train.hook_timers import NeverTriggerTimer, SecondOrStepTimer
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues

_LOOK_AGAIN = 0.5  # seconds between two looks at the global step
_NEWS = 1000  # steps after which the wait is logged again


class StopAtStepHook(SessionRunHook):
    """``tf.train.StopAtStepHook``: ends the loop at the global step ``last_step``, or ``num_steps`` steps after the start."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    @property
    def bound(self) -> tuple[int | None, int | None]:
        """How many steps there will be, and the last one: what is known before the start."""
        return self._num_steps, self._last_step

    def begin(self) -> None:
        """Finds the global step."""
        self._step = global_step_read("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Counts ``num_steps`` from the step of the first session: one that replaces it after a failure ends at the same step."""
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + (self._num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stops if the step is reached. The fetched step may be from before the update, so it is read again when it is near."""
        last = self._last_step or 0
        if run_values.results + 1 >= last and run_context.session.run(self._step) >= last:
            run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """``tf.train.LoggingTensorHook``: logs tensors (a dict by tag, or a list) every so many runs or seconds, and perhaps at the end.

    ``formatter`` makes a line of the dict of values. Programs extend this class, so its fields have TensorFlow's names.
    """

    def __init__(self, tensors: Any, every_n_iter: int | None = None, every_n_secs: float | None = None, at_end: bool = False,
                 formatter: Callable[[dict[Any, Any]], str] | None = None) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._tag_order = sorted(tensors) if isinstance(tensors, dict) else list(tensors)
        self._tensors = tensors if isinstance(tensors, dict) else {item: item for item in tensors}
        self._formatter, self._log_at_end = formatter, at_end
        self._timer = NeverTriggerTimer() if only_at_end else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)

    def begin(self) -> None:
        """Finds the tensors, which may be given by name."""
        self._timer.reset()
        self._iter_count = 0
        self._current_tensors = {tag: _element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the tensors if it is time."""
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs them."""
        if self._should_trigger:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def end(self, session: Any) -> None:
        """Logs them once more, if asked to."""
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))

    def _log_tensors(self, values: dict[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._iter_count)
        with np.printoptions(suppress=True):
            if self._formatter is not None:
                logging.info("%s", self._formatter(values))
                return
            line = ", ".join(f"{tag if isinstance(tag, str) else getattr(tag, 'name', tag)} = {values[tag]!s}" for tag in self._tag_order)
            logging.info("%s", line if seconds is None else f"{line} ({seconds:.3f} sec)")


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number any more: the learning rate may be too high, or a logarithm got a zero."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """``tf.train.NanTensorHook``: ends training when a loss becomes NaN, with an error or, if not ``fail_on_nan_loss``, without."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks at it."""
        if not np.isnan(run_values.results):
            return
        if self._fail:
            logging.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        logging.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """``tf.train.GlobalStepWaiterHook``: the first run waits until others have brought the global step to ``wait_until_step``."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        """Finds the global step."""
        self._started = self._wait_until_step <= 0
        self._step = global_step_read("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """Waits, the first time."""
        if self._started:
            return
        logging.info("Waiting for global step %d before starting training.", self._wait_until_step)
        said = 0
        while (step := run_context.session.run(self._step)) < self._wait_until_step:
            if step - said > _NEWS:
                logging.info("Waiting for global step %d before starting training. Current step is %d.", self._wait_until_step, step)
                said = step
            time.sleep(_LOOK_AGAIN)
        self._started = True


class FinalOpsHook(SessionRunHook):
    """``tf.train.FinalOpsHook``: evaluates ``final_ops`` at the end; the values are in ``final_ops_values``."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops, self._feeds, self._values = final_ops, final_ops_feed_dict, None

    @property
    def final_ops_values(self) -> Any:
        """What came out; None before the end."""
        return self._values

    def end(self, session: Any) -> None:
        """Evaluates them."""
        if self._final_ops is None:
            return
        try:
            self._values = session.run(self._final_ops, feed_dict=self._feeds)
        except (errors.OutOfRangeError, StopIteration):
            logging.warning("FinalOpsHook: its operations need input, and the input has ended: they should depend on variables only.")
            raise


class FeedFnHook(SessionRunHook):
    """``tf.train.FeedFnHook``: feeds each run what ``feed_fn()`` returns."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Feeds."""
        return SessionRunArgs(None, self.feed_fn())


def _element(tensor: Any) -> Tensor | Operation:
    """The tensor or operation that a tensor, a variable or a name means."""
    graph = default_graph()
    if isinstance(tensor, str) and ":" not in tensor:
        outputs = graph.get_operation_by_name(tensor).outputs
        if len(outputs) != 1:
            raise ValueError(f"Please specify the output index of {tensor!r}: it has {len(outputs)} outputs.")
        return outputs[0]
    return graph.as_graph_element(tensor)
