"""Lookups and sparse updates without the distinct ids of a batch, whose number changes from step to step.

A graph looks up each distinct id once and adds up the gradients of equal ids before an update. Both are undone here: all ids are looked up, and the
sums are made in arrays that have room for as many as there are ids (``ops/sparse/lookup.py``). Shapes then stay, and native code with them.

- ``update(sums of rows by which, distinct)``, with ``distinct, which`` of some ids, becomes ``padded update(_SumDuplicates(rows, ids))``.
- A lookup of ids that were cleaned up, as the graph has noted it, becomes ``_LookupIds`` and ``_LookupRows``, and its gradient ``_LookupGrad``.

Only the ends are replaced, an update or a combined row. What lies between is dropped if nothing else needs it. Every rule looks backwards from such
an end; nodes that are fed, or on another device, are not what it looks for.
"""
from __future__ import annotations

from typing import NamedTuple

from penstock.graph.node import Tensor
from penstock.graph.notes import Lookup
from penstock.graph.opdef import lookup
from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.walk import Walk, constant_of


def merge_lookups(program: Program) -> Program:
    """With lookups and updates over all ids instead of the distinct ones."""
    if not any(node.definition.distinct for node in program.nodes):
        return program
    walk = Walk(program)
    return walk.rewrite(_Merging(walk).visit)


class _Match(NamedTuple):
    """A combination of rows that is the end of a noted lookup."""

    params: Edge
    filler: Node
    power: float


class _Merging:
    """One walk. What ends a lookup is found first; nodes are replaced in their order."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._edges = {tensor: (node, index) for node in walk.program.nodes if node.origin is not None and node.definition is node.origin.definition
                       for index, tensor in enumerate(node.origin.outputs)}
        self._edges |= {node.origin.outputs[0]: (node, 0) for node in walk.program.args if node.origin is not None and len(node.origin.outputs) == 1}
        self._notes = {node: node.origin._note for node in walk.program.nodes if node.origin is not None and isinstance(node.origin._note, Lookup)
                       and self._is_whole(node, node.origin._note)}
        self._matches = {node: match for node in walk.program.nodes if (match := self._match(node)) is not None}
        self._merged = {match.filler for match in self._matches.values()}
        self._results = {edge[0]: filler for filler in self._merged if (edge := self._edge(self._notes[filler].result)) is not None}
        self._ids: dict[Node, Node] = {}  # per filler

    def _edge(self, tensor: Tensor | None) -> Edge | None:
        """Where a tensor of the graph is in the program; past identities, which may be gone."""
        while tensor is not None and tensor not in self._edges and tensor.op.definition.forwards is True:
            tensor = tensor.op.inputs[0]
        return None if tensor is None else self._edges.get(tensor)

    def _is_whole(self, filler: Node, note: Lookup) -> bool:
        """Do the ids that a node fills up come from the source that is noted, and from nothing that is fed in between?"""
        source = {edge for tensor in note.source if (edge := self._edge(tensor)) is not None}
        stack, seen = list(filler.inputs[:3]), set[Edge]()
        while stack:
            edge = stack.pop()
            if edge in source or edge in seen:
                continue
            seen.add(edge)
            if not edge[0].inputs and constant_of(edge) is None:
                return False
            stack += edge[0].inputs
        return len(source) == 3 and self._edge(note.segments) is not None

    # --- lookups -------------------------------------------------------------------------------------------------------------------------

    def _match(self, node: Node) -> _Match | None:
        """What a node combines, if it is the end of a lookup: combined(gathered(params, distinct), which, segments)."""
        power = node.definition.combines
        if power is None:
            return None
        gathered, which, segments = node.inputs
        ids = _gathered_by(gathered[0])
        source = None if ids is None else _distinct(ids, which)
        filler = None if source is None else self._filler(source, segments)
        same = filler is not None and len({node.device, gathered[0].device, filler.device}) == 1 and not gathered[0].control
        return _Match(gathered[0].inputs[0], filler, power) if same and filler is not None else None

    def _filler(self, values: Edge, segments: Edge) -> Node | None:
        """The noted node that these ids and segments come from."""
        note = self._notes.get(values[0])
        return values[0] if note is not None and values[1] == 1 and segments == self._edge(note.segments) else None

    def _padded_ids(self, filler: Node, nodes: list[Node]) -> Node:
        made = self._ids.get(filler)
        if made is None:
            sources = [self._edge(tensor) for tensor in self._notes[filler].source]
            inputs = [*(edge for edge in sources if edge is not None), filler.inputs[3]]
            made = Node(lookup("_LookupIds"), f"{filler.name}/_ids", {"T": filler.output_dtypes[1]}, inputs, [], filler.device, filler.origin)
            self._ids[filler] = made
            nodes.append(made)
        return made

    # --- the walk ------------------------------------------------------------------------------------------------------------------------

    def visit(self, node: Node, nodes: list[Node]) -> list[Edge] | None:
        """What stands for the outputs of a node; None if it stays. Updates are changed where they are."""
        if node in self._merged:
            nodes.append(node)
            return [(node, 0), (node, 1), (self._padded_ids(node, nodes), 3), (node, 3)]
        match = self._matches.get(node)
        if match is not None:
            ids = self._padded_ids(match.filler, nodes)
            attrs = {"T": node.output_dtypes[0], "Tids": ids.output_dtypes[0], "power": float(match.power)}
            nodes.append(Node(lookup("_LookupRows"), f"{node.name}/_lookup", attrs, [match.params, (ids, 0), (ids, 1), (ids, 2)], list(node.control),
                              node.device, node.origin))
            return [(nodes[-1], 0)]
        if node in self._results and not self._walk.stays(node) and self._walk.is_plain(node, node.inputs[0]):
            return [node.inputs[0]]
        if node.definition.padded:
            self._pad(node, nodes)
        return None

    def _pad(self, node: Node, nodes: list[Node]) -> None:
        """Has an update take all rows of the gradient, if it would get the sums of those with equal indices."""
        names = [arg.name for arg in node.definition.inputs]
        grad, indices = names.index("grad"), names.index("indices")
        rows, ids, steps = self._rows_before_merging(node.inputs[grad], node.inputs[indices])
        filler, power, rows = self._looked_up(rows, ids)
        if filler is not None:
            padded = self._padded_ids(filler, nodes)
            attrs = {"T": node.attrs["T"], "power": float(power)}
            nodes.append(Node(lookup("_LookupGrad"), f"{node.name}/_grad", attrs, [rows, (padded, 1), (padded, 2)], [], node.device, node.origin))
            rows, ids = (nodes[-1], 0), (padded, 0)
        elif not steps:
            return
        attrs = {"T": node.attrs["T"], "Tindices": node.attrs["Tindices"], "padded": filler is not None}
        nodes.append(Node(lookup("_SumDuplicates"), f"{node.name}/_sums", attrs, [rows, ids], [], node.device, node.origin))
        node.inputs = list(node.inputs)
        node.inputs[grad], node.inputs[indices] = (nodes[-1], 0), (nodes[-1], 1)
        node.definition = lookup(node.definition.padded)

    def _rows_before_merging(self, rows: Edge, ids: Edge) -> tuple[Edge, Edge, int]:
        """Rows and ids before the rows of equal ids were added up, and how often they were."""
        steps = 0
        while True:
            rows, ids = _plain_rows(rows), _plain_rows(ids)
            node = rows[0]
            source = _distinct(ids, node.inputs[1]) if node.definition.merges_rows and not node.control else None
            if source is None or ids[0].device != node.device:
                return rows, ids, steps
            rows, ids, steps = node.inputs[0], source, steps + 1

    def _looked_up(self, rows: Edge, ids: Edge) -> tuple[Node | None, float, Edge]:
        """If rows are the gradient of a noted lookup that was merged: its filler, its power, and the gradient of the combined rows."""
        node, filler = rows[0], None
        if node.definition.spreads is not None:
            source = _distinct(ids, node.inputs[1])
            filler = None if source is None else self._filler(source, node.inputs[2])
            power = node.definition.spreads
        else:
            segments = _gathered_by(node)
            filler = None if segments is None else self._filler(ids, segments)
            power = 0.0
        return (filler, power, node.inputs[0]) if filler in self._merged and not node.control else (None, 0.0, rows)


def _distinct(values: Edge, which: Edge) -> Edge | None:
    """What these are the distinct values of, and ``which`` of them each is."""
    node = values[0]
    return node.inputs[0] if node.definition.distinct and values[1] == 0 and which == (node, 1) and not node.control else None


def _gathered_by(node: Node) -> Edge | None:
    """The indices of rows along the first axis."""
    if not node.definition.gathers or node.attrs.get("batch_dims"):
        return None
    axis = constant_of(node.inputs[2]) if len(node.inputs) > 2 else 0
    return node.inputs[1] if axis is not None and axis == 0 else None


def _plain_rows(edge: Edge) -> Edge:
    """Past reshapes that leave rows as they are."""
    while edge[0].definition.keeps_order and not edge[0].control:
        shape = _row_shape(edge)
        if shape is None or shape != _row_shape(edge[0].inputs[0]):
            break
        edge = edge[0].inputs[0]
    return edge


def _row_shape(edge: Edge) -> list[int | None] | None:
    node, index = edge
    shape = None if node.origin is None or index >= len(node.origin.outputs) else node.origin.outputs[index].shape
    return shape[1:].as_list() if shape is not None and shape.ndims and shape[1:].is_fully_defined() else None
