"""The kernel of a node: the function of its inputs that the executor calls, and the context that it may ask for.

``kernel_of`` is the only way to a kernel: plans, frames and the diagnosis of native code all take theirs from here. The kind of the device has them.
"""
from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

import numpy as np

from penstock.errors import InvalidArgumentError
from penstock.execute.environment import Environment
from penstock.execute.step import Step, running
from penstock.graph.dtypes import DType, resource
from penstock.graph.function import FuncGraph
from penstock.graph.node import Operation
from penstock.program.devices import Kernel, host_device, host_kind, kind_of, memory_of, runs_on_host
from penstock.program.ir import Node, carries_reference
from penstock.state.resources import DEFAULT_CONTAINER, Resources


class KernelContext:
    """What a kernel that asks for ``ctx`` gets: its node, the state of the task, and the step that runs it."""

    __slots__ = ("_environment", "_function_device", "device", "memory", "node", "resources", "state")

    def __init__(self, node: Node, environment: Environment) -> None:
        self.node, self.device, self._environment = node, node.device, environment
        self._function_device = host_device(node.device) if node.definition.calls_later else node.device  # of functions that it calls
        self.memory = memory_of(node.device)
        self.resources = environment.resources_on(node.device, self.memory)
        self.state = environment.states.setdefault(node.name, {})  # of this node in this session; persists between steps

    @property
    def op(self) -> Operation:
        """The user's operation."""
        assert self.node.origin is not None
        return self.node.origin

    @property
    def step(self) -> Step:
        """The step that this thread works for."""
        return running.step

    def resources_for(self, shared: Any) -> Resources:
        """Where a resource is kept: with the task if it is shared, by a name that the user gave, otherwise with the session."""
        return self.resources if shared else self._environment.private

    def name_of(self, resource: Any) -> tuple[str, str, str]:
        """(container, name, kind) of a resource; what is in no table, as an array that lives as long as its step, cannot be found by it."""
        key = self.resources.find(resource) or self._environment.private.find(resource)
        return key or (DEFAULT_CONTAINER, str(getattr(resource, "name", self.node.name)), type(resource).__name__)

    def resource_named(self, container: str, name: str, kind: str) -> Any:
        """The resource of this device with such a name; NotFoundError if there is none."""
        private = self._environment.private
        return (self.resources if private.get(container, name, kind) is None else private).lookup(container, name, kind)

    def detached_step(self, alone: bool = True) -> Step:
        """A step of its own, for threads that work ahead of the steps that use their results; it ends when it is cancelled."""
        return Step(alone=alone)

    def call(self, function: FuncGraph, arguments: list[Any]) -> list[Any]:
        """Runs a function, as a part of this step, on this node's device; returns its outputs. Both are in its memory."""
        self._check_step()
        environment = self._environment
        call = environment.call_later if self.node.definition.calls_later else environment.call_function
        return call(function, self._function_device, arguments, self.step)

    def call_at(self, device: str, function: FuncGraph, arguments: list[Any]) -> list[Any]:
        """Runs the whole of a function, as a part of this step, on a device of any task, whatever devices its operations name."""
        self._check_step()
        return self._environment.call_at(function, device, arguments, self.step)

    def _check_step(self) -> None:
        if self.step is not None:  # a loop ends with its step
            self.step.check()

    def calls(self, function: FuncGraph, anew: bool) -> Callable[[FuncGraph, list[Any]], list[Any]]:
        """`call` for what outlives the step, of a function and of forms of it. ``anew``: random numbers begin again, unless this node is one of a
        function that is called so itself."""
        call = self._environment.lasting_calls(function, anew)
        return lambda function, arguments: call(function, self._function_device, arguments, self.step)

    def on_host(self, value: Any, dtype: DType) -> Any:
        """A result of ``call`` as a host value."""
        return self.memory.copy_out(value) if self.memory is not None and self.memory.holds(dtype) else value


def kernel_of(node: Node, environment: Environment) -> Kernel:
    """The kernel of a node, bound to its attributes and its context."""
    if node.definition.kernel is None:
        return _no_kernel
    kind = host_kind() if runs_on_host(node) else kind_of(node.device)
    if not kind.supports(node):  # placed by a master that does not know the kind
        raise InvalidArgumentError(None, node.origin, f"no supported kernel for {kind.name} devices is available: '{node.name}' is a "
                                   f"{node.definition.type}, which has none")
    kernel = kind.kernel(node, KernelContext(node, environment))
    return _unpacking(kernel) if node.inputs and not node.definition.captures and node.output_dtypes == [resource] else kernel


def _unpacking(kernel: Kernel) -> Kernel:
    """A kernel on handles that gives the resource itself, where it has taken it out of an array of several."""
    def unpacked(*inputs: Any) -> Any:
        handle = kernel(*inputs)
        return handle.item() if isinstance(handle, (np.ndarray, np.generic)) and handle.shape == () else handle
    return unpacked


def references_of(node: Node, args: Container[Node]) -> tuple[int, ...]:
    """Positions of inputs that carry a Ref where the op wants its value."""
    if node.definition.passes_references or node.definition.forwards_reference or node.definition.borrows:
        return ()
    positions, position = [], 0
    for arg, edges in node.definition.group(node.inputs, node.attrs):
        for producer, index in edges:
            if not arg.is_ref and carries_reference((producer, index), args):
                positions.append(position)
            position += 1
    return tuple(positions)


def _no_kernel(*inputs: Any) -> Any:
    raise LookupError("this op has no kernel")
