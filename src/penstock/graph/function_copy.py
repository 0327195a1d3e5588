"""Copies of functions: their operations once more, in another graph."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import UnimplementedError
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.traverse import in_order, operations_behind


def add_copy(function: FuncGraph, target: Graph, inputs: Sequence[Tensor]) -> dict[Tensor, Tensor]:
    """Adds the operations of a function to ``target``, given its inputs there; what each tensor of the function is then.

    Functions of conditionals and loops, to which gradients add what they need, are copied too.
    """
    return _add(function, target, dict(zip(function.inputs, inputs)), in_order(set(function._ops)))


def add_part(function: FuncGraph, target: Graph, known: dict[Tensor, Tensor], fetches: Sequence[Tensor], targets: Sequence[Operation]
             ) -> dict[Tensor, Tensor]:
    """Like ``add_copy``, with the operations behind ``fetches`` and ``targets`` only, up to the tensors that are ``known`` in ``target``."""
    return _add(function, target, dict(known), operations_behind(fetches, targets, known))


def _add(function: FuncGraph, target: Graph, known: dict[Tensor, Tensor], added: Sequence[Operation]) -> dict[Tensor, Tensor]:
    operations = dict[Operation, Operation]()
    arguments = {tensor.op for tensor in function.inputs}
    for op in added:
        if op in arguments:
            continue
        if op.definition.control_flow:
            raise UnimplementedError(None, None, f"the function '{function.name}' has control flow as nodes ({op.type} '{op.name}'): such a function "
                                     "can be run, but not differentiated")
        attributes = {key: _copy_of(value, target, known) if op.definition.captures and isinstance(value, FuncGraph) else value
                      for key, value in op.attrs.items()}
        made = op.definition.add_node(target, target.unique_name(op.name.removeprefix(function.scope + "/")),
                                      tuple(known[tensor] for tensor in op._inputs), attributes)
        made._control_inputs += [operations[other] for other in op._control_inputs if other in operations]
        made._extra.update(op._extra)
        made._device, made._source = op._device, op._source
        operations[op] = made
        for old, new in zip(op.outputs, made.outputs):
            new._shape, new._handle_data = old._shape, old._handle_data
            known[old] = new
    return known


def _copy_of(function: FuncGraph, outer: Graph, known: dict[Tensor, Tensor]) -> FuncGraph:
    """The function of a conditional or loop, for a copy of that."""
    twin = FuncGraph(function.name, outer)
    inputs: list[Any] = []
    with twin.as_default():
        for tensor in function.inputs:
            inputs.append(twin.add_input(tensor.dtype, tensor.shape, tensor.op.name))
            inputs[-1]._handle_data = tensor._handle_data
        inside = add_copy(function, twin, inputs)
    twin.outputs = [inside[tensor] for tensor in function.outputs]
    twin.captures = {known[outside]: inside[inner] for outside, inner in function.captures.items()}
    return twin
