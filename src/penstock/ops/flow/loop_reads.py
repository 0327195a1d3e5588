"""Reads of variables that a loop does not change leave its body: the loop is given their values.

What is read in the body is a new value in every iteration, as far as is known, and a gradient would save them all: the weights of a recurrent
layer once per step of the sequence.
"""
from __future__ import annotations

from collections.abc import Sequence

from penstock.graph import dtypes
from penstock.graph.function import FuncGraph
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import control_dependencies


def hoist_reads(body: FuncGraph, start: Sequence[Tensor], waiting_for: Sequence[Operation]) -> None:
    """Moves reads out of a body, behind everything that the loop waits for: the first values of its variables, its captures, and other ops."""
    reads = {handle: ops for handle, inner in body.captures.items() if (ops := _plain_reads(inner))}
    if not reads:
        return
    before = [*waiting_for, *(tensor.op for tensor in [*start, *(tensor for tensor in body.captures if tensor not in reads)] if _is_computed(tensor))]
    for handle, ops in reads.items():
        with control_dependencies(list(dict.fromkeys(before))):
            value = ops[0].definition(handle, **ops[0].attrs)
        inside = body.capture(value)
        body.read_inside.add(inside)
        for op in ops:
            _use_instead(body, op.outputs[0], inside)
        body.forget([*ops, body.captures.pop(handle).op])


def _plain_reads(handle: Tensor) -> list[Operation]:
    """The reads of a resource of which nothing else is done in the body; empty if there is anything else."""
    users = handle._consumers
    plain = handle.dtype is dtypes.resource and all(op.definition.snapshot and not op._control_inputs for op in users)
    return list(dict.fromkeys(users)) if plain else []


def _is_computed(tensor: Tensor) -> bool:
    """Does the tensor say anything about when something runs?"""
    return bool(tensor.op._inputs or tensor.op._control_inputs)


def _use_instead(body: FuncGraph, old: Tensor, new: Tensor) -> None:
    for op in list(dict.fromkeys(old._consumers)):
        for index, tensor in enumerate(op._inputs):
            if tensor is old:
                op._update_input(index, new)
    for op in body.get_operations():
        if old.op in op._control_inputs:
            op._control_inputs.remove(old.op)
    body.outputs = [new if tensor is old else tensor for tensor in body.outputs]
