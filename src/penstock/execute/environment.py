"""What all plans of a session share: its devices, its options and its state.

The lowest module of the executor: kernels are bound to an environment, plans are made of kernels, and a pipeline makes plans. A kernel that calls a
function needs a plan for it, so the pipeline puts ``call_function`` here.
"""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from penstock.execute.step import Step
from penstock.graph.function import FuncGraph
from penstock.native.config import config
from penstock.program.devices import Device, Memory
from penstock.program.passes import PassOptions
from penstock.state.resources import Resources

CallFunction = Callable[[FuncGraph, str, list[Any], Step], list[Any]]  # (function, device, arguments, the step that calls it) -> outputs


class Environment:
    """The devices of a task, the options of a session, the resources of the task and the private state of the session's nodes."""

    call_function: CallFunction
    call_later: CallFunction  # for functions of datasets, which are called beside the steps and beside each other: one thread for each
    lasting_calls: Callable[[FuncGraph, bool], CallFunction]  # ``call_later`` for what outlives a step; True: random numbers begin anew
    call_at: CallFunction  # for functions whose operations all run on that device, of any task
    call_on_task: CallFunction | None = None  # the same on a device of another task, if there are any
    divides = True  # do operations of functions run on the devices that they name?
    known_shapes_only = False  # of what the graph tells no shapes NumPy runs all: with several callers, when code is ready is a matter of chance

    def __init__(self, devices: list[Device], soft_placement: bool = False, log_placement: bool = False,
                 resources: Resources | None = None, threads: int = 0, passes: PassOptions = PassOptions()) -> None:
        self.threads = threads or config.threads  # that share a large kernel
        self.passes = passes  # which graph passes a program goes through
        self.devices, self.soft_placement, self.log_placement = devices, soft_placement, log_placement
        self.resources = Resources() if resources is None else resources  # those of a task are shared by its sessions
        self.private = self.resources if resources is None else Resources()  # what has no name to be shared by goes with the session
        self.states: dict[str, dict[str, Any]] = {}  # per stateful node: random generators, ...
        self.plans: dict[tuple[FuncGraph, str], Any] = {}  # of functions that kernels call, by device: the pipeline's

    def resources_on(self, device: str, memory: Memory | None) -> Resources:
        """The shared resources of a device: each has names of its own."""
        if memory is not None:
            return self.resources.on(device, memory.variable)
        names = [each.name for each in self.devices]
        hosts = [each.name for each in self.devices if each.device_type == "CPU"]  # others may be found later, and come before it
        is_first = not device or device == (hosts or names)[0] or device not in names
        return self.resources if is_first else self.resources.on(device)

    def for_datasets(self, several: bool) -> Environment:
        """The same, for functions of datasets: their kernels share no work with other threads. ``several``: they run in several at once."""
        other = copy.copy(self)
        other.threads, other.known_shapes_only, other.plans = 1, several, {}
        return other

    def undivided(self) -> Environment:
        """The same, for functions that run on one device."""
        other = copy.copy(self)
        other.divides, other.plans = False, {}
        return other

    def with_own_states(self, states: dict[str, dict[str, Any]]) -> Environment:
        """The same, with other states of nodes, and plans of its own."""
        other = copy.copy(self)
        other.states, other.plans = states, {}
        return other

    def clear(self) -> None:
        """Forgets all state, but for resources that it shares with others."""
        self.states.clear()
        self.private.clear()
