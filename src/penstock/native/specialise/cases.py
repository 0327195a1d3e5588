"""Values whose shape depends on a condition: the results of a conditional whose branches give different shapes.

What uses such a value is written out twice, once for each case, as a conditional of its own; where the shapes of both cases agree again (a sum, say),
the result is a value like others. The gradient of a conditional asks the same condition, so that each of its branches meets the shapes of its case.

A branch that saves a value for its gradient makes the other branch give something in its place, which is never read: that has no case of its own.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penstock.graph.function import FuncGraph
from penstock.native.items import Either, Item, Value
from penstock.native.specialise.fallback import Fallback
from penstock.program.ir import Node

MOST = 16  # nodes of a scope that are written out twice; of more, NumPy runs the conditional, and the rest is native for one shape at a time


def copy_of(value: Value) -> Value:
    """A value as a function sees it that is given it."""
    return replace(value, item=None, users=[], wanted=False, array=None)


def in_case(value: Value, case: int) -> Value:
    """What a value is in one of two cases."""
    return value if value.either is None else value.either.cases[case]


def condition_of(inputs: Sequence[Value]) -> Either | None:
    """The first input that depends on a condition."""
    return next((value.either for value in inputs if value.either is not None), None)


def check(node: Node, either: Either, so_far: int) -> None:
    """Raises Fallback if what uses such a value cannot be written out twice: NumPy then runs the conditional that it comes from."""
    definition = node.definition
    if definition.updates or definition.list_role or definition.array_role:
        raise Fallback(either.source, f"its branches give different shapes, and {node.name} ({definition.type}) needs one")
    if so_far >= MOST:
        raise Fallback(either.source, f"its branches give different shapes, on which more than {MOST} nodes depend")


def join(item: Item, results: tuple[Sequence[Value], Sequence[Value]], source: Node, unread: Sequence[int | None] = ()) -> list[Value]:
    """The outputs of an item, given those of both cases. ``unread``: per output, in which case nothing reads it, if there is one."""
    outputs = []
    for index, (one, other) in enumerate(zip(*results)):
        ignored = unread[index] if index < len(unread) else None
        if one.shape == other.shape and ((one.known is None and other.known is None) or unread):
            outputs.append(Value(one.shape, one.dtype))
        elif ignored is not None:
            kept = (other, one)[ignored]
            outputs.append(Value(kept.shape, kept.dtype))
        elif one.shape == other.shape and one.known is not None and other.known is not None and np.array_equal(one.known, other.known):
            outputs.append(Value(one.shape, one.dtype, one.known))
        else:
            either = Either(item.inputs[0], (Value(one.shape, one.dtype, one.known), Value(other.shape, other.dtype, other.known)), source)
            outputs.append(Value(one.shape, one.dtype, either=either))
    return outputs


def unread_outputs(branches: Sequence[FuncGraph]) -> list[int | None]:
    """Per output of a conditional, the branch that only gives something in its place: see ``function_gradients.py``."""
    return [next((case for case, tensor in enumerate(tensors) if "_unread" in tensor.op._extra), None)
            for tensors in zip(*[branch.outputs for branch in branches])]
