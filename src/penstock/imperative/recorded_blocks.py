"""Blocks: many operations that are recorded as one.

A block is a FuncGraph that is called by one ``_CallFunction``. A segment that has one builds its operations in place (``segments.py``), so native
code sees no call; what recording an operation costs is paid once for all of them. Traced functions are blocks, and so is what a tape has done before
(``backward.py``), if nothing in them must run at its call.
"""
from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from penstock.graph import dtypes
from penstock.graph.effects import wait_for_effects
from penstock.graph.function import FuncGraph
from penstock.graph.node import Operation, Tensor
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.operation import EagerOperation, Edge
from penstock.imperative.recording import PENDING_LIMIT
from penstock.ops.constant import Const, constant
from penstock.ops.flow.call_function import CallFunction
from penstock.program.ir import functions_of


def _may_wait(op: Operation, inputs: Iterable[Tensor], outputs: Iterable[tuple[dtypes.DType, Any]]) -> bool:
    """True for an operation that native code may take: its shapes are known, it calls nothing and has no effects but those on variables."""
    if any(not shape.is_fully_defined() or dtype in (dtypes.resource, dtypes.variant) for dtype, shape in outputs):
        return False
    on_variables = any(tensor.dtype is dtypes.resource for tensor in inputs)
    return (not op.definition.stateful or on_variables) and not op.definition.blocking and not functions_of(op)


def as_block(graph: FuncGraph) -> bool:
    """Makes a function a block, if it can be one: its outputs wait for its effects."""
    arguments = {tensor.op for tensor in graph.inputs}
    for op in graph._ops:
        if op in arguments or not (op._inputs or op.definition.stateful):
            continue
        if not _may_wait(op, op._inputs, [(tensor.dtype, tensor.shape) for tensor in op.outputs]):
            return False
    if not graph.inputs or any(tensor.dtype is dtypes.variant for tensor in graph.inputs):
        return False
    if not graph.outputs:
        with graph.as_default():
            graph.outputs = [constant(True)]  # something has to wait for the effects
    wait_for_effects(graph)
    graph.inlined = True
    return True


def count_block(graph: EagerGraph, block: FuncGraph) -> None:
    """A loop whose values are not looked at is cut by how many operations it has: see ``tape.py``."""
    graph.thread.recording.inside += len(block._ops)


def call_block(graph: EagerGraph, block: FuncGraph, given: Iterable[Edge], captured: Sequence[Edge] = ()) -> EagerOperation:
    """Records a block; ``captured`` are arguments that are the same in each call."""
    count_block(graph, block)
    recording, given = graph.thread.recording, tuple(given)
    edges = (*given, *captured)
    state = recording.state
    if state is None or recording.scopes or len(recording.operations) >= PENDING_LIMIT:
        return _record(graph, block, edges)
    tag = (block, *recording.tag(given))
    call = state.blocks.get(tag)
    if call is not None:
        return recording.follow(call, edges)
    op = _record(graph, block, edges)
    if op.call.origin is state and not op.call.asked and all(producer.call.expected[index][0] is dtypes.resource for producer, index in captured):
        state.blocks[tag] = op.call
    return op


def _record(graph: EagerGraph, block: FuncGraph, edges: tuple[Edge, ...]) -> EagerOperation:
    attributes = block.call_attributes
    if attributes is None:
        attributes = block.call_attributes = {"f": block, "Tin": tuple([tensor._dtype for tensor in block.inputs]),
                                              "Tout": tuple([tensor._dtype for tensor in block.outputs])}
    return graph.record_edges(CallFunction, block.name, edges, attributes)


class Capture:
    """Stands among the tapes and keeps what is recorded."""

    def __init__(self) -> None:
        self.operations: list[EagerOperation] = []

    def note(self, op: EagerOperation) -> None:
        """Another operation."""
        self.operations.append(op)


class Copy:
    """A function that does what some recorded operations did. ``arguments`` are the outputs of other operations that it takes, ``constants`` those
    whose values it may take for granted."""

    def __init__(self, name: str, outer: EagerGraph, arguments: Iterable[Edge], constants: Container[Edge]) -> None:
        self.graph, self._constants = FuncGraph(name, outer), constants
        self._tensors: dict[Any, Tensor] = {}
        for producer, index in arguments:
            dtype, shape = producer.expected[index]
            tensor = self.graph.add_input(dtype, shape, "argument")
            tensor._handle_data = producer.output(index)._handle_data
            self._tensors[producer, index] = tensor

    def add(self, op: EagerOperation) -> bool:
        """Adds an operation; False if it cannot be part of a block."""
        inputs = []
        for edge in op.edges:
            tensor = self.tensor(edge)
            if tensor is None:
                return False
            inputs.append(tensor)
        if op.own_gradient is not None or not _may_wait(op, inputs, op.expected):
            return False
        node = op.definition.add_node(self.graph, self.graph.unique_name(op.name), tuple(inputs), op.attrs)
        node._source, node._device = op._source, op._device
        self._tensors.update(((op, index), tensor) for index, tensor in enumerate(node.outputs))
        return True

    def tensor(self, edge: Any) -> Tensor | None:
        """What stands for an output of a recorded operation; a constant for one that is one."""
        known = self._tensors.get(edge)
        producer, index = edge
        if known is None and producer.results is not None and (
                edge in self._constants or producer.definition is Const or producer.definition.shape_only):
            attributes = {"value": producer.results[index], "dtype": producer.expected[index][0]}
            known = self._tensors[edge] = Const.add_node(self.graph, self.graph.unique_name(producer.name), (), attributes).outputs[0]
        return known


def operations_of(block: FuncGraph) -> list[Operation]:
    """The operations of a block, without its arguments."""
    arguments = {tensor.op for tensor in block.inputs}
    return [op for op in block._ops if op not in arguments]
