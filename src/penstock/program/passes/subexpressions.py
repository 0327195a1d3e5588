"""Common subexpressions: of pure nodes with the same op, attributes, device, inputs and waits, one is enough.

Nodes that read a variable by reference are left alone: between two of them it may have been written.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.shape import TensorShape
from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.walk import Walk, constant_of, is_pure

_LARGEST = 4096  # bytes of constants that are compared


def merge_equal(program: Program) -> Program:
    """Without nodes that compute what an earlier one has computed."""
    walk = Walk(program)
    first: dict[Any, Node] = {}

    def visit(node: Node, nodes: list[Node]) -> list[Edge] | None:
        if not node.inputs and constant_of((node, 0)) is None:
            return None
        other = first.setdefault(_key(node), node)
        if other is node or walk.stays(node) or not _equal(node, other) or not is_pure(node) or any(map(walk.carries_reference, node.inputs)):
            return None
        return [(other, index) for index in range(len(node.output_dtypes))]
    return walk.rewrite(visit)


def _key(node: Node) -> Any:
    """Equal for nodes that may be equal; of those that turn out not to be, only the first is compared with others."""
    value = constant_of((node, 0))
    if value is not None:
        small = value.nbytes <= _LARGEST and not value.dtype.hasobject
        return (value.dtype.str, value.shape, value.tobytes()) if small else id(node)
    if node.definition.commutative:
        return (node.definition, frozenset(node.inputs))
    return (node.definition, *node.inputs)


def _equal(node: Node, other: Node) -> bool:
    if node.device != other.device or set(node.control) != set(other.control):
        return False
    if node.attrs is not other.attrs and not all(_same(value, other.attrs.get(name)) for name, value in node.attrs.items()):
        return False
    mine, theirs = node.inputs, other.inputs
    return mine == theirs or (node.definition.commutative and mine == theirs[::-1])


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, TensorShape):
        return isinstance(b, TensorShape) and a.is_same_as(b)
    return type(a) is type(b) and bool(a == b)
