"""A running step: its deadline, its cancellation and its rendezvous; and the context that kernels see."""
from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import OpError
from penstock.execute.environment import Environment
from penstock.execute.rendezvous import Rendezvous
from penstock.graph.function import FuncGraph
from penstock.graph.node import Operation
from penstock.program.devices import memory_of
from penstock.program.ir import Node
from penstock.state.resources import Resources

GRACE = 1.0  # seconds that a cancelled step waits for kernels which are still under way
_running = threading.local()  # .step: the step that this thread works for


class Step:
    """One call of ``Session.run``.

    Cancellation happens once: ``cancel`` keeps the first error and calls everybody who registered, who then stop waiting.
    ``alone``: no other thread may be calling the same functions at the same time.
    """

    def __init__(self, timeout_ms: int = 0, parent: Step | None = None, alone: bool = True) -> None:
        self.deadline = time.monotonic() + timeout_ms / 1000 if timeout_ms > 0 else None
        if parent is not None:  # a function that a node of the parent calls: it lives as long as that
            self.deadline, timeout_ms, alone = parent.deadline, parent.timeout_ms, parent.alone
        self.timeout_ms: int = timeout_ms
        self.alone: bool = alone
        self.rendezvous = Rendezvous()
        self.cancelled: OpError | None = None
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    def remaining(self) -> float | None:
        """Seconds until the deadline; None if there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def cancel(self, error: OpError) -> None:
        """Ends the step with this error, unless it is ended already."""
        with self._lock:
            if self.cancelled is not None:
                return
            self.cancelled = error
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        self.rendezvous.abort(error)
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Has ``callback`` called when the step is cancelled (at once if it is); returns what unregisters it."""
        with self._lock:
            if self.cancelled is None:
                self._next += 1
                key = self._next
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)

    def working(self) -> working_for:
        """A ``with`` block in which this thread works for this step."""
        return working_for(self)


class working_for:
    """Marks this thread as working for a step, in which 1 / 0 is infinity and no reason for a warning."""

    __slots__ = ("_outer", "_step", "_token")

    def __init__(self, step: Step) -> None:
        self._step = step

    def __enter__(self) -> None:
        self._outer = getattr(_running, "step", None)
        _running.step = self._step
        self._token = _errors.set(_ignored)

    def __exit__(self, *error: Any) -> None:
        _errors.reset(self._token)
        _running.step = self._outer


def _ignoring() -> tuple[contextvars.ContextVar[Any], Any]:
    """The context variable in which NumPy keeps what to do about 1 / 0, and its value for nothing: ``np.errstate`` takes ten times as long."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    [found] = context.items()
    return found


_errors, _ignored = _ignoring()


def works_alone() -> bool:
    """Is no other thread calling the functions that this one calls?"""
    step = getattr(_running, "step", None)
    return step is None or step.alone


class KernelContext:
    """What a kernel that asks for ``ctx`` gets: its node, the state of the task, and the step that runs it."""

    __slots__ = ("_environment", "device", "memory", "node", "resources", "state")

    def __init__(self, node: Node, environment: Environment) -> None:
        self.node, self.device, self._environment = node, node.device, environment
        self.memory = memory_of(node.device)
        self.resources = environment.resources if self.memory is None else environment.resources.on(node.device, self.memory.variable)
        self.state = environment.states.setdefault(node.name, {})  # of this node in this session; persists between steps

    @property
    def op(self) -> Operation:
        """The user's operation."""
        assert self.node.origin is not None
        return self.node.origin

    @property
    def step(self) -> Step:
        """The step that this thread works for."""
        return _running.step

    def kept(self, shared: Any) -> Resources:
        """Where a resource is kept: with the task if it is shared, by a name that the user gave, otherwise with the session."""
        return self.resources if shared else self._environment.private

    def detached_step(self, alone: bool = True) -> Step:
        """A step of its own, for threads that work ahead of the steps that use their results; it ends when it is cancelled."""
        return Step(alone=alone)

    def call(self, function: FuncGraph, arguments: list[Any]) -> list[Any]:
        """Runs a function, as a part of this step, on this node's device; returns its outputs."""
        from penstock.execute.executor import call  # the executor runs the node that asks for this
        return call(self._environment.function(function, self.device), arguments, self.step)
