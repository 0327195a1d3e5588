"""What a tape did before: the backward walk over a structure that was seen is a block, and its gradient functions are not called again.

The structure of a walk: the recorded operations, who uses whose output, types and shapes of what comes in from outside, the targets and the sources.
Values that the gradient functions asked for (axes, mostly) must be the same, too. If nothing that the tape has noted has run yet, the state of the
recording tells all that (``recording.py``), and the structure need not be found out.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from penstock.graph import nest
from penstock.graph.composite import IndexedSlices
from penstock.graph.dtypes import resource
from penstock.graph.function import FuncGraph
from penstock.graph.node import Tensor
from penstock.graph.static import known_values
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.operation import Call, EagerOperation, Edge, value_key
from penstock.imperative.recorded_blocks import Capture, Copy, as_block, call_block, count_block
from penstock.imperative.recording import Recording

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
                    parts.append((id(dtype), shape.extents) if dtype is not resource else (resource, edge[0].output(edge[1])._handle_data))
                codes.append(edges.setdefault(edge, len(edges)))
            inside[op] = number
            parts.append((op.key, op._device, number, tuple(codes)))
            for index in range(len(op.expected)):
                edges.setdefault((op, index), len(edges))
        self.key = (tuple(parts), tuple([edges.get((tensor.op, tensor.value_index), -1) for tensor in ends]))  # type: ignore[arg-type]


class _Shortcut(NamedTuple):
    """A walk that is known by a state: inputs are numbers of operations with the index of an output, or numbers of values from outside."""

    call: Call
    arguments: list[tuple[int, int]]
    asked: list[tuple[tuple[int, int], Any]]
    results: list[Any]


class SeenWalks:
    """The walks that were seen, the last used last."""

    def __init__(self) -> None:
        self._walks: OrderedDict[Any, _Walk | None] = OrderedDict()  # None: it cannot be a block

    def gradients(self, graph: EagerGraph, tape: Any, targets: list[Tensor], sources: list[Tensor], walk: Callable[[], list[Any]]) -> list[Any]:
        """The gradients of the targets; ``walk`` computes them if the structure is new. What the tape has noted is only asked for if its place in
        the recording does not tell."""
        recording = graph.thread.recording
        state, place = recording.state, tape.place(recording)
        if place is None or state is None:
            return tape.watched_only(sources, self._by_structure(graph, tape.noted_operations(), targets, sources, walk)[0])
        ends = tuple([tensor._edge for tensor in (*targets, *sources)])  # type: ignore[attr-defined]
        key = (place, len(targets), recording.tag(ends))
        known = state.walks.get(key)
        if known is not None:
            if all(value_key(_edge(recording, where)) == value for where, value in known.asked):
                count_block(graph, known.call.attrs["f"])
                operations, fed = recording.operations, recording.fed
                edges = tuple([fed[number] if index < 0 else (operations[number], index) for number, index in known.arguments])
                return _pick_all(known.results, recording.follow(known.call, edges).outputs)
        results, new_walk, all_edges, op = self._by_structure(graph, tape.noted_operations(), targets, sources, walk)
        if new_walk is not None and op is not None and op.call.origin is state:
            state.walks[key] = _Shortcut(op.call, [_where(recording, all_edges[number]) for number in new_walk.arguments],
                                         [(_where(recording, all_edges[number]), value) for number, value in new_walk.asked],
                                         tape.watched_only(sources, new_walk.results))
        return tape.watched_only(sources, results)

    def _by_structure(self, graph: EagerGraph, operations: Iterable[EagerOperation], targets: list[Tensor], sources: list[Tensor],
                      walk: Callable[[], list[Any]]) -> tuple[list[Any], _Walk | None, list[Edge], EagerOperation | None]:
        """The gradients; if they are those of a known walk, that, the edges of its structure, and the block that was recorded."""
        structure = Structure(operations, [*targets, *sources])
        known = self._walks.get(structure.key, _MOST) if structure.is_pure else None
        edges = list(structure.edges)
        if isinstance(known, _Walk):
            if all(value_key(edges[number]) == value for number, value in known.asked):
                self._walks.move_to_end(structure.key)
                op = call_block(graph, known.block, [edges[number] for number in known.arguments])
                return _pick_all(known.results, op.outputs), known, edges, op
        elif known is None:
            return walk(), None, edges, None
        results, self._walks[structure.key] = _record_walk(graph, structure, walk)
        while len(self._walks) > _MOST:
            self._walks.popitem(last=False)
        return results, None, edges, None


def _where(recording: Recording, edge: Edge) -> tuple[int, int]:
    return (edge[0].place, edge[1]) if edge[0].recording is recording else (recording.feeds[edge], -1)


def _edge(recording: Recording, where: tuple[int, int]) -> Edge:
    number, index = where
    return recording.fed[number] if index < 0 else (recording.operations[number], index)


def _pick_all(results: list[Any], outputs: list[Tensor]) -> list[Any]:
    return [_pick(places, outputs) for places in results]


def _pick(places: Any, outputs: list[Tensor]) -> Any:
    """The output with a number, or IndexedSlices of some. No function inside of another: one that calls itself would keep the gradients until the
    garbage is collected, and a segment would compute them as values that the program still holds."""
    return outputs[places] if isinstance(places, int) else None if places is None else IndexedSlices(*[_pick(place, outputs) for place in places])


def _record_walk(graph: EagerGraph, structure: Structure, walk: Callable[[], list[Any]]) -> tuple[list[Any], _Walk | None]:
    """What the walk gives, and the walk as a block, if it can be one."""
    capture = Capture()
    with graph.thread.recording.watched_by(capture), known_values() as asked:
        results = walk()
    asked = set(asked).union(*[{*op.call.deep, *[op.edges[position] for position, _ in op.call.asked]} for op in capture.operations if op.edges])
    inside = set(capture.operations)
    fixed = {edge for edge in asked if edge in structure.edges and edge[0].results is not None}
    outside = {edge: None for op in capture.operations for edge in op.edges if edge in structure.edges and edge not in fixed}
    outside.update((edge, None) for result in nest.flatten(results, expand_composites=True) if result is not None
                   for edge in [(result.op, result.value_index)] if edge in structure.edges and edge not in fixed)
    if not all(edge[0].definition.__module__.startswith("penstock.") for edge in structure.edges):  # a user's gradient function may do anything
        return results, None
    copy = Copy("gradients", graph, outside, fixed)
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
    values = [(structure.edges[edge], value_key(edge)) for edge in asked if edge in structure.edges]
    return results, _Walk(copy.graph, [structure.edges[edge] for edge in outside], values, places)


def _parts(result: Any) -> list[Any]:
    return [] if result is None else [result.values, result.indices, result.dense_shape] if isinstance(result, IndexedSlices) else [result]
