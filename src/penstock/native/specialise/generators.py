"""Random ops taken apart: one node keeps the generator, which Python knows; the other draws from it, and can be part of a region.

A conditional or a loop draws from generators that it is given: they stay outside, and come in as its last inputs. They move ahead when a branch that
draws is taken, and only then.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.graph import dtypes
from penstock.graph.function import FuncGraph
from penstock.graph.node import Operation
from penstock.graph.opdef import lookup
from penstock.ops.random.random import Generator
from penstock.program.ir import Node, functions_of


def separate_generators(nodes: Sequence[Node]) -> list[Node]:
    """The nodes, with a node for the generator before each one that draws random numbers. The drawing node stays the same object, under another name.

    The generator gets the old name: the state of a random op is kept under it, whether the op runs as one node or as two.
    """
    result: list[Node] = []
    for node in nodes:
        if node.definition.draws:
            result.append(_separate(node))
        elif node.definition.captures and not node.generators:
            result += _lift(node)
        result.append(node)
    return result


def is_generator(node: Node) -> bool:
    """Is it one of those nodes?"""
    return node.definition is Generator


def _separate(node: Node) -> Node:
    source = _generator(node, node)
    node.definition = lookup(node.definition.draws)
    node.name += "/_draw"
    node.attrs = {name: value for name, value in node.attrs.items() if name in node.definition.attrs}
    node.inputs = [(source, 0), *node.inputs]
    return source


def _generator(drawing: Node | Operation, node: Node) -> Node:
    seeds = {name: drawing.attrs[name] for name in ("seed", "seed2")}
    origin = drawing if isinstance(drawing, Operation) else drawing.origin
    return Node(Generator, drawing.name, seeds, control=list(node.control), device=node.device, origin=origin)


def _lift(node: Node) -> list[Node]:
    """The generators of random ops in a node's functions, which become inputs of the node."""
    sources = [_generator(op, node) for op in {op.name: op for op in _drawing_ops(node)}.values()]
    if sources:
        node.generators = tuple(source.name for source in sources)
        node.inputs = [*node.inputs, *((source, 0) for source in sources)]
        types = node.definition.captures
        node.attrs = {**node.attrs, types: (*node.attrs[types], *[dtypes.resource] * len(sources))}
        node._dtypes = None
    return sources


def _drawing_ops(node: Node | Operation) -> Iterator[Operation]:
    """The random ops in a node's functions, and in those that these call; each function once, as several may share it."""
    waiting, seen = list(functions_of(node)), set[FuncGraph]()
    while waiting:
        function = waiting.pop(0)
        if function in seen:
            continue
        seen.add(function)
        for op in function._ops:
            if op.definition.draws:
                yield op
            elif op.definition.captures:
                waiting += functions_of(op)
