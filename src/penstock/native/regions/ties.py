"""What has to be in the same region: lists and arrays of tensors never leave native code, so all nodes that handle one are tied together."""
from __future__ import annotations

from weakref import WeakKeyDictionary

from penstock.graph import dtypes
from penstock.graph.function import FuncGraph
from penstock.program.ir import Edge, Node, functions_of, prune


def tied_inputs(node: Node) -> list[int]:
    """Which inputs of a node are lists or arrays of tensors."""
    positions = {position for position, (producer, index) in enumerate(node.inputs) if producer.output_dtypes[index] is dtypes.variant}
    if node.definition.array_role not in ("", "create"):
        positions.add(0)
    for function in functions_of(node):
        first = len(node.inputs) - len(node.generators) - len(function.inputs)
        positions.update(first + position for position in _tied_parameters(function))
    return sorted(positions)


_known: WeakKeyDictionary[FuncGraph, tuple[int, set[int]]] = WeakKeyDictionary()  # (ops that it had, the answer): functions may share functions


def _tied_parameters(function: FuncGraph) -> set[int]:
    """Which inputs of a function are lists or arrays of tensors."""
    size, given = _known.get(function, (-1, set[int]()))
    if size != len(function._ops):
        given = _find_given(function)
        _known[function] = len(function._ops), given
    return given


def _find_given(function: FuncGraph) -> set[int]:
    program = prune(function.outputs, (), function.inputs)
    places = {node: position for position, node in enumerate(program.args)}
    sources = (_source(node.inputs[position]) for node in program.nodes for position in tied_inputs(node))
    return {places[producer] for producer, _ in sources if producer in places}


def _source(edge: Edge) -> Edge:
    """Where a handle was made: loops and identities hand it on."""
    producer, index = edge
    while producer.definition.repeats or producer.definition.forwards is True:
        producer, index = producer.inputs[index]
    return producer, index


def made_here(edge: Edge) -> bool:
    """True if the list or array of an edge was made by a node of this program."""
    producer, index = edge
    return producer.output_dtypes[index] is dtypes.variant or _source(edge)[0].definition.array_role in ("create", "gradient")


def ties(tied: dict[Node, list[int]]) -> list[list[Node]]:
    """The nodes that handle lists or arrays, in groups that handle the same ones; ``tied``: nodes, and which of their inputs are such."""
    group: dict[Node, list[Node]] = {}
    for node, positions in tied.items():
        for producer in {node.inputs[position][0] for position in positions}:
            mine, other = group.setdefault(node, [node]), group.setdefault(producer, [producer])
            if mine is not other:
                other += mine
                group.update(dict.fromkeys(mine, other))
    return list({id(members): members for members in group.values()}.values())
