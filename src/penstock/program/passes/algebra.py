"""Algebraic simplification: x * 1, x - 0, -(-x), floor(floor(x)). Only what is the same bit for bit, with NaN, infinity and -0.0 among the values.

So x + 0.0 stays (it turns -0.0 into 0.0), and products of constants are not merged (they would round differently).
"""
from __future__ import annotations

import math

import numpy as np

from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.walk import Walk, constant_of


def simplify(program: Program) -> Program:
    """Without nodes that give back one of their inputs, or undo or repeat the one before them."""
    walk = Walk(program)

    def visit(node: Node, nodes: list[Node]) -> list[Edge] | None:
        definition = node.definition
        if not (definition.neutral or definition.involution or definition.idempotent) or node.control or walk.stays(node):
            return None
        edge: Edge | None = None
        if definition.neutral:
            edge = _other_input(node)
        elif node.inputs[0][0].definition is definition:
            inner = node.inputs[0][0]
            if not inner.control:
                edge = inner.inputs[0] if definition.involution else (inner, 0)
        return [edge] if edge is not None and walk.is_plain(node, edge) else None
    return walk.rewrite(visit)


def _other_input(node: Node) -> Edge | None:
    """The input that the other one, a neutral element, leaves as it is."""
    if not node.output_dtypes[0].is_floating:
        return None
    for position, neutral in node.definition.neutral.items():
        value = constant_of(node.inputs[position])
        if value is not None and not node.inputs[position][0].control and _is(value, neutral) and _keeps_shape(node, position, value):
            return node.inputs[1 - position]
    return None


def _is(value: np.ndarray, neutral: float) -> bool:
    if value.size == 1:
        return float(value.item()) == neutral and math.copysign(1.0, value.item()) == math.copysign(1.0, neutral)
    return bool(np.all(value == neutral) and np.all(np.signbit(value) == np.signbit(neutral)))


def _keeps_shape(node: Node, position: int, value: np.ndarray) -> bool:
    """Does the result have the other input's shape? A scalar never changes it."""
    if value.ndim == 0:
        return True
    if node.origin is None or node.origin.definition is not node.definition:
        return False
    shape = node.origin._inputs[1 - position].shape
    return shape.is_fully_defined() and shape == node.origin.outputs[0].shape
