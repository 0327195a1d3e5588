"""Random ops taken apart: one node keeps the generator, which Python knows; the other draws from it, and can be part of a region."""
from __future__ import annotations

from collections.abc import Sequence

from penstock.graph.opdef import lookup
from penstock.ops.random.random import Generator
from penstock.program.ir import Node


def separate_generators(nodes: Sequence[Node]) -> list[Node]:
    """The nodes, with a node for the generator before each one that draws random numbers. The drawing node stays the same object, under another name.

    The generator gets the old name: the state of a random op is kept under it, whether the op runs as one node or as two.
    """
    result: list[Node] = []
    for node in nodes:
        if node.definition.draws:
            result.append(_separate(node))
        result.append(node)
    return result


def _separate(node: Node) -> Node:
    seeds = {name: node.attrs[name] for name in ("seed", "seed2")}
    source = Node(Generator, node.name, seeds, control=list(node.control), device=node.device, origin=node.origin)
    node.definition = lookup(node.definition.draws)
    node.name += "/_draw"
    node.attrs = {name: value for name, value in node.attrs.items() if name in node.definition.attrs}
    node.inputs = [(source, 0), *node.inputs]
    return source
