"""Monitors as hooks: the training loop knows hooks alone."""
from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from penstock.graph.graph import default_graph
from penstock.train.global_step import get_global_step
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues


class RunHookAdapterForMonitors(SessionRunHook):
    """``tf.contrib.learn.monitors.RunHookAdapterForMonitors``: a hook that runs monitors."""

    def __init__(self, monitors: Iterable[Any]) -> None:
        self._monitors = list(monitors)

    def begin(self) -> None:
        """Training begins."""
        self._step: int | None = None
        self._global_step = get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches what the monitors want to see."""
        if self._step is None:
            self._step = int(run_context.session.run(self._global_step)) + 1
        requests: dict[Any, Any] = {}
        for monitor in self._monitors:
            wanted = monitor.step_begin(self._step) or []
            if not isinstance(wanted, list):
                raise ValueError(f"{type(monitor).__name__}.step_begin should return a list.")
            requests.update({each: _element(each) for each in wanted})
        return SessionRunArgs({"step": self._global_step, "monitors": requests})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Shows it to them."""
        for monitor in self._monitors:
            if monitor.step_end(self._step, run_values.results["monitors"]):
                run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(self._step, run_context.session)
        self._step = int(run_values.results["step"]) + 1

    def end(self, session: Any) -> None:
        """Training has ended."""
        self._step = None
        for monitor in self._monitors:
            if "session" in inspect.signature(monitor.end).parameters:
                monitor.end(session=session)
            else:
                monitor.end()


def _element(request: Any) -> Any:
    """A tensor or operation of the graph; a name may be that of an operation, which means its output."""
    if not isinstance(request, str):
        return request
    return default_graph().as_graph_element(request if ":" in request else f"{request}:0")


def replace_monitors_with_hooks(monitors_or_hooks: Iterable[Any] | None, estimator: Any) -> list[SessionRunHook]:
    """``tf.contrib.learn.monitors.replace_monitors_with_hooks``: hooks as they are, and one for all monitors that run in this task."""
    given = list(monitors_or_hooks or ())
    hooks = [each for each in given if isinstance(each, SessionRunHook)]
    monitors = [each for each in given if not isinstance(each, SessionRunHook)]
    for monitor in monitors:
        if not hasattr(monitor, "step_begin"):
            raise TypeError(f"Monitors must be tf.train.SessionRunHook or tf.contrib.learn.monitors objects, given: {monitor}")
    if not estimator.config.is_chief:
        monitors = [monitor for monitor in monitors if monitor.run_on_all_workers]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks
