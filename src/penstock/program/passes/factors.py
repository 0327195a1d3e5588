"""Constants that meet: (x * 2) * 3 is x * 6, (x + 1) + 2 is x + 3. The results may be rounded differently, as TensorFlow's are for the same reason.

Not more than that: constants of floats meet only if their product is a normal number (so that nothing overflows or is lost that did not before), or,
in a sum, if they have the same sign (so that a program that rounds with (x + c) - c keeps doing so).
"""
from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from penstock.ops.constant import Const
from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.walk import Walk, constant_of


def merge_factors(program: Program) -> Program:
    """With one constant where two were added or multiplied, one after the other."""
    walk = Walk(program)
    uses = Counter(producer for node in program.nodes for producer, _ in node.inputs)

    def visit(node: Node, nodes: list[Node]) -> list[Edge] | None:
        if not node.definition.associative or node.control or walk.stays(node):
            return None
        outer = _split_constant(node)
        inner = None if outer is None else outer[0][0]
        if outer is None or inner is None or inner.definition is not node.definition or inner.control or uses[inner] != 1 or walk.stays(inner):
            return None
        parts = _split_constant(inner)
        value = None if parts is None else _merged_constant(node, parts[1], outer[1])
        if parts is None or value is None or not walk.is_plain(node, parts[0]):
            return None
        nodes.append(Node(Const, f"{node.name}/_both", {"value": value, "dtype": node.output_dtypes[0]}, device=node.device))
        nodes.append(replace(node, inputs=[parts[0], (nodes[-1], 0)]))
        uses[nodes[-1]] = uses[node]
        return [(nodes[-1], 0)]
    return walk.rewrite(visit)


def _split_constant(node: Node) -> tuple[Edge, np.ndarray] | None:
    """The input that is computed, and the other one, if that is a scalar constant."""
    for edge, other in (node.inputs, node.inputs[::-1]):
        value = constant_of(edge)
        if value is not None and value.ndim == 0 and not edge[0].control and constant_of(other) is None:
            return other, value
    return None


def _merged_constant(node: Node, first: np.ndarray, second: np.ndarray) -> np.ndarray | None:
    """What the op makes of both constants, if that can stand for them."""
    dtype = node.output_dtypes[0]
    if not (dtype.is_floating or dtype.is_integer) or node.definition.kernel is None:
        return None
    with np.errstate(all="ignore"):
        value = np.asarray(node.definition.bind(node, None)(first, second)).astype(dtype.np)
        if dtype.is_integer:
            return value
        if node.definition.associative == "product":
            wide, limits = value.astype(np.float64), np.finfo(np.float32 if dtype.size < 4 else dtype.np)
            safe = bool(np.isfinite(wide) and abs(wide) >= float(limits.tiny) and np.isfinite(first) and np.isfinite(second))
        else:
            safe = bool(np.isfinite(value) and first * second > 0)
    return value if safe else None
