"""What a tape did before: the backward walk over a structure that was seen is a block, and its gradient functions are not called again.

The structure of a walk: the recorded operations, who uses whose output, types and shapes of what comes in from outside, the targets and the sources.
Values that the gradient functions asked for (axes, mostly) must be the same, too.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.graph import nest
from penstock.graph.composite import IndexedSlices
from penstock.graph.function import FuncGraph
from penstock.graph.node import Tensor
from penstock.graph.static import known_values
from penstock.imperative.blocks import Capture, Copy, as_block, call_block
from penstock.imperative.recording import EagerGraph, EagerOperation, Edge, hashable

_MOST = 256  # structures that are remembered


class _Walk(NamedTuple):
    """A walk as a block."""

    block: FuncGraph
    arguments: list[int]  # which of the edges of the structure the block takes
    asked: list[tuple[int, Any]]  # values that must be the same: (edge, value)
    results: list[Any]  # per source: None, the number of an output, or those of IndexedSlices


class Structure:
    """The structure of what a tape has recorded, as far as it lies behind targets and sources."""

    def __init__(self, operations: Iterable[EagerOperation], ends: Sequence[Tensor]) -> None:
        self.edges: dict[Edge, int] = {}  # every output that is used, numbered
        edges, parts = self.edges, list[Any]()
        inside: dict[EagerOperation, int] = {}
        self.is_pure = True  # no operation has a gradient of its own, which may depend on anything
        for number, op in enumerate(operations):
            if op.own_gradient is not None or op._extra:
                self.is_pure = False
                break
            codes = []
            for edge in op.edges:
                place = inside.get(edge[0])
                if place is None and edge not in edges:
                    dtype, shape = edge[0].expected[edge[1]]
                    parts.append((id(dtype), shape.extents))
                codes.append(edges.setdefault(edge, len(edges)))
            inside[op] = number
            parts.append((op.key, number, tuple(codes)))
            for index in range(len(op.expected)):
                edges.setdefault((op, index), len(edges))
        self.key = (tuple(parts), tuple([edges.get((tensor.op, tensor.value_index), -1) for tensor in ends]))  # type: ignore[arg-type]


class Memory:
    """The walks that were seen, the last used last."""

    def __init__(self) -> None:
        self._walks: OrderedDict[Any, _Walk | None] = OrderedDict()  # None: it cannot be a block

    def gradients(self, graph: EagerGraph, operations: Iterable[EagerOperation], targets: list[Tensor], sources: list[Tensor],
                  walk: Callable[[], list[Any]]) -> list[Any]:
        """The gradients of the targets; ``walk`` computes them if the structure is new."""
        structure = Structure(operations, [*targets, *sources])
        known = self._walks.get(structure.key, _MOST) if structure.is_pure else None
        if isinstance(known, _Walk):
            edges = list(structure.edges)
            if all(_value(edges[number]) == value for number, value in known.asked):
                self._walks.move_to_end(structure.key)
                return _taken(known, call_block(graph, known.block, [edges[number][0].output(edges[number][1]) for number in known.arguments]))
        elif known is None:
            return walk()
        results, self._walks[structure.key] = _seen(graph, structure, walk)
        while len(self._walks) > _MOST:
            self._walks.popitem(last=False)
        return results


def _value(edge: Edge) -> Any:
    return hashable(np.asarray(edge[0].value(edge[1])))


def _taken(walk: _Walk, outputs: list[Tensor]) -> list[Any]:
    def parts(places: Any) -> Any:
        return outputs[places] if isinstance(places, int) else None if places is None else IndexedSlices(*map(parts, places))

    return [parts(places) for places in walk.results]


def _seen(graph: EagerGraph, structure: Structure, walk: Callable[[], list[Any]]) -> tuple[list[Any], _Walk | None]:
    """What the walk gives, and the walk as a block, if it can be one."""
    capture, tapes = Capture(), graph.thread.tapes
    graph.thread.tapes = [capture]
    try:
        with known_values() as asked:
            results = walk()
    finally:
        graph.thread.tapes = tapes
    asked = set(asked).union(*[op.asked for op in capture.operations])
    inside = set(capture.operations)
    outside = {edge: None for op in capture.operations for edge in op.edges if edge in structure.edges}
    outside.update((edge, None) for result in nest.flatten(results, expand_composites=True) if result is not None
                   for edge in [(result.op, result.value_index)] if edge in structure.edges)
    if not all(edge[0].definition.__module__.startswith("penstock.") for edge in structure.edges):  # a user's gradient function may do anything
        return results, None
    copy = Copy("gradients", graph, outside)
    for op in capture.operations:
        told = op.results is not None and (op.definition.shape_only or not op.edges)
        if not told and not copy.add(op):
            return results, None
    leaves: list[Any] = [_parts(result) for result in results]
    tensors = [copy.tensor((part.op, part.value_index)) for leaf in leaves for part in leaf if part is not None]
    if not outside or any(tensor is None for tensor in tensors) or any(edge not in structure.edges and edge[0] not in inside for edge in asked):
        return results, None
    copy.graph.outputs = tensors  # type: ignore[assignment]
    if not as_block(copy.graph):
        return results, None
    numbers = iter(range(len(tensors)))
    places = [None if result is None else next(numbers) if isinstance(result, Tensor) else
              tuple(None if part is None else next(numbers) for part in leaf) for result, leaf in zip(results, leaves)]
    values = [(structure.edges[edge], _value(edge)) for edge in asked if edge in structure.edges]
    return results, _Walk(copy.graph, [structure.edges[edge] for edge in outside], values, places)


def _parts(result: Any) -> list[Any]:
    return [] if result is None else [result.values, result.indices, result.dense_shape] if isinstance(result, IndexedSlices) else [result]
