"""FuncGraph: the graph of a function body, such as a branch of ``tf.cond`` or the body of ``tf.while_loop``.

What the body uses from outside is *captured*: it becomes a further input, and the op that runs the function gets the outer tensor as an argument.
Names, collections and seeds are those of the outer graph, so that a body looks to the program as if it stood in place.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from penstock.graph import raw_ops
from penstock.graph.device import DeviceSpec
from penstock.graph.dtypes import DType, resource
from penstock.graph.graph import Graph, default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import TensorShape


@dataclass
class FunctionSignature:
    """What a library says of a function that nodes call by its name, besides what it computes."""

    arguments: list[str]  # names of its inputs and
    results: list[str]  # of its outputs
    description: str = ""
    stays_call: bool = False  # its operations are not put in the place of a call
    gradient: FuncGraph | None = None  # a function of its inputs and the gradients of its outputs
    proto: bytes | None = None  # the FunctionDef that it was read from
    python_gradient: Callable[..., Any] | None = None  # (node of the call, *gradients of its outputs) -> gradients of its inputs


class FuncGraph(Graph):
    """A function: ``inputs`` (arguments first, then captures) and ``outputs`` are tensors of this graph.

    ``captures`` maps a tensor of the graph around it to the input that stands for it; ``control_captures`` are outer ops that must run first.
    """

    def __init__(self, name: str, outer: Graph) -> None:
        super().__init__()
        self.name, self.outer = name, outer
        self.scope = name  # the name scope of its operations, if they have one of their own
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.captures: dict[Tensor, Tensor] = {}
        self.control_captures: dict[Operation, None] = {}
        self.effects: list[Operation] = []  # what a call runs besides what its outputs need
        self.signature: FunctionSignature | None = None  # if nodes call it by its name
        self._backward: Any = None  # its gradient, once that is asked for: see ``call_gradients.py``
        self._reduced: dict[Any, FuncGraph] = {}
        self.views: dict[int, FuncGraph] = {}  # imperative style: with outputs for so many orders of gradients, see ``whole_calls.py``
        self.call_attributes: dict[str, Any] | None = None  # those of a ``_CallFunction`` of it, if it is a block of imperative style
        self.inlined = False  # imperative style: a segment that calls it has its operations in place
        self._names, self._collections, self._name_stack = outer._names, outer._collections, outer._name_stack
        self._container, self._functions = outer._container, outer._functions
        self._noted = outer._noted
        self._operations_before = 0  # that TensorFlow's graph has beside those of this function, if they stand in place there
        self._captured_before: Collection[Tensor] = ()  # by a function that shares its captures with this one in TensorFlow
        self.read_inside: set[Tensor] = set()  # captured values of variables, which TensorFlow reads in this function
        self._gradient_overrides, self._kernel_labels = outer._gradient_overrides, outer._kernel_labels
        self._state.devices = [device for device in outer._state.devices]

    @property
    def seed(self) -> int | None:
        """The seed of the outer graph."""
        return self.outer.seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self.outer.seed = seed

    def next_op_seed(self) -> int:
        """The number of operations: of the function, or, if its operations stand in place in TensorFlow, of the graph that they stand in."""
        return self._operations_before + self.counted_operations()

    @property
    def has_branches_in_place(self) -> bool:
        """True for a branch or a loop that stands in place itself."""
        return self._operations_before > 0

    @property
    def building_function(self) -> bool:
        """True: this is the graph of a function."""
        return True

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Ops made inside run where ``op`` runs; variables of graphs around this one have their places there."""
        element = getattr(op, "op", op)
        if element is not op and element.graph.imperative and self.building_function:
            self.imply(2)  # TensorFlow reads the variable for that
        with super().colocate_with(element if isinstance(element, Operation) else op, ignore_existing):
            yield

    def add_input(self, dtype: DType, shape: TensorShape, name: str) -> Tensor:
        """A further argument."""
        attributes = {"T": dtype.base_dtype, "shape": shape, "is_ref": dtype.is_ref}
        tensor = raw_ops._FuncInput.add_node(self, self._name_for(name), (), attributes).outputs[0]
        tensor._dtype = dtype  # a captured variable comes in as a reference
        self.inputs.append(tensor)
        return tensor

    def can_capture(self, graph: Graph) -> bool:
        """True if tensors of ``graph`` may be used in this function: it stands somewhere around it."""
        return graph is self.outer or (isinstance(self.outer, FuncGraph) and self.outer.can_capture(graph))

    def capture(self, tensor: Tensor) -> Tensor:
        """The tensor of this graph that stands for ``tensor``."""
        if tensor.op.graph is self:
            return tensor
        if not self.can_capture(tensor.op.graph):
            raise ValueError(f"{tensor} must be from the same graph as the function '{self.name}' or from a graph around it.")
        if isinstance(self.outer, FuncGraph):
            outside = self.outer.next_op_seed()
            tensor = self.outer.capture(tensor)
            if self._operations_before:
                self._operations_before += self.outer.next_op_seed() - outside
        inner = self.captures.get(tensor)
        if inner is None:
            inner = self._new_capture(tensor)
        return inner

    def forget(self, ops: Iterable[Operation]) -> None:
        """Removes operations whose outputs no other one uses, each before those whose outputs it uses."""
        for op in ops:
            for tensor in op._inputs:
                tensor._consumers.remove(op)
            self._ops.remove(op)
            del self._by_name[op.name]
            self.inputs = [tensor for tensor in self.inputs if tensor.op is not op]
        self._mutations += 1

    def _new_capture(self, tensor: Tensor) -> Tensor:
        outer_stack, self._name_stack = self._name_stack, ""
        controls, self._state.control = self._state.control, []
        try:
            inner = self.add_input(tensor.dtype, tensor.shape, tensor.op.name + "/captured")
        finally:
            self._name_stack, self._state.control = outer_stack, controls
        inner._handle_data = tensor._handle_data
        if tensor.dtype is resource:  # what uses the handle in this function runs where the resource is
            spec = DeviceSpec.from_string(tensor.op.device)
            inner.op._set_device(DeviceSpec(device_type=spec.device_type, device_index=spec.device_index).to_string())
        self.captures[tensor] = inner
        if tensor in self._captured_before:
            self.imply(-1)
        return inner

    def outer_tensor(self, inner: Tensor) -> Tensor | None:
        """The outer tensor that an input stands for; None for an argument."""
        return next((outer for outer, own in self.captures.items() if own is inner), None)

    def reduced(self, inputs: Sequence[int], outputs: Sequence[int]) -> FuncGraph:
        """This function, with some of its inputs and outputs only: other names for the same operations, to be run and not to be added to."""
        key = (tuple(inputs), tuple(outputs))
        smaller = self._reduced.get(key)
        if smaller is None or smaller._mutations != self._mutations:
            smaller = self._reduced[key] = copy.copy(self)
            smaller.inputs, smaller.outputs = [self.inputs[index] for index in inputs], [self.outputs[index] for index in outputs]
            smaller._reduced = {}
        return smaller

    def with_more_outputs(self, user: str) -> FuncGraph:
        """This function under another name, to whose ``outputs`` the node ``user`` may add; its operations are the same."""
        other = copy.copy(self)
        other.name, other.outputs, other.signature, other._reduced = f"{self.name}_of_{user}", list(self.outputs), None, {}
        return other

    def _control_op(self, item: Any) -> Operation:
        item = getattr(item, "op", item) if not isinstance(item, (Operation, Tensor, str)) else item
        if isinstance(item, str):
            return super()._control_op(item)
        op = item.op if isinstance(item, Tensor) else item
        if op.graph is not self and not self.can_capture(op.graph):
            raise ValueError(f"{op!r} is not an element of this graph.")
        return op

    def _control_inputs_for(self, op: Operation) -> list[Operation]:
        """Control inputs outside of the function become control inputs of the op that runs it."""
        others = super()._control_inputs_for(op)
        self.control_captures.update((other, None) for other in others if other.graph is not self)
        return [other for other in others if other.graph is self]

    def _apply_colocation(self, op: Operation, required: list[Operation]) -> None:
        super()._apply_colocation(op, [other for other in required if other.graph is self])

    def __repr__(self) -> str:
        return f"<FuncGraph '{self.name}'>"


def trace(name: str, function: Callable[..., Any], arguments: Sequence[tuple[DType, TensorShape, str]] = (), operations_before: int = 0,
          captured_before: Collection[Tensor] = ()) -> tuple[FuncGraph, Any]:
    """Calls ``function`` with new inputs inside a new FuncGraph; returns the graph and what the function returned.

    If the operations stand in place in TensorFlow, ``operations_before`` is the number of those that its graph has before the arguments.
    ``captured_before`` is what an earlier part of the same loop has captured.
    """
    outer = default_graph()
    graph = FuncGraph(name, outer)
    graph._operations_before, graph._captured_before = operations_before, captured_before
    with graph.as_default():
        inputs = [graph.add_input(dtype, shape, label) for dtype, shape, label in arguments]
        result = function(*inputs)
    return graph, result


def is_effect(op: Operation) -> bool:
    """True for an operation that does something besides giving its outputs, other than drawing random numbers."""
    return op.definition.stateful and not op.definition.draws and bool(op._inputs)


def outermost(graph: Graph) -> Graph:
    """The graph around all functions."""
    while isinstance(graph, FuncGraph):
        graph = graph.outer
    return graph


def lifted(tensor: Tensor, known: dict[Tensor, Tensor] | None = None) -> Tensor:
    """What ``tensor``, of a function's body, is outside of all functions: its operations are added there. ValueError if it depends on an argument."""
    known, graph = {} if known is None else known, tensor.op.graph
    if not isinstance(graph, FuncGraph):
        return tensor
    if tensor not in known:
        if tensor in graph.inputs:
            outer = graph.outer_tensor(tensor)
            if outer is None:
                raise ValueError(f"Unable to lift tensor {tensor} because it depends transitively on a placeholder: an argument of the function.")
            known[tensor] = lifted(outer, known)
        else:
            target = outermost(graph)
            inputs = tuple(lifted(each, known) for each in tensor.op._inputs)
            made = tensor.op.definition.add_node(target, target.unique_name(tensor.op.name), inputs, tensor.op.attrs)
            known.update(zip(tensor.op.outputs, made.outputs))
    return known[tensor]


@contextmanager
def _counting_on(graph: Graph, target: Graph) -> Iterator[None]:
    """For the seeds of random ops: if the operations of ``graph`` stand in place in TensorFlow (the body of a loop), those made so far count."""
    if not isinstance(graph, FuncGraph) or not graph._operations_before or target.imperative:
        yield
        return
    before, inside = target.next_op_seed(), graph.next_op_seed()
    target.imply(inside - before)
    try:
        yield
    finally:
        made = target.next_op_seed() - inside
        target.imply(before - inside)
        while isinstance(graph, FuncGraph):
            graph._operations_before += made if graph._operations_before else 0
            graph = graph.outer


@contextmanager
def init_scope() -> Iterator[None]:
    """``tf.init_scope``: ops made inside go to the graph around all functions, and wait for nothing. Variables are made so.

    A block of colocation hides the devices around it, but not from variables: they go to their ps, unless they are colocated with what has a device.
    """
    graph = default_graph()
    target = outermost(graph)
    state = target._state
    with target.as_default(), target.control_dependencies(None), _counting_on(graph, target):
        outer, target._name_stack = target._name_stack, graph._name_stack
        devices = state.devices
        if state.colocation and not devices:
            state.devices = state.outside
        try:
            yield
        finally:
            state.devices = devices
            target._name_stack = outer
