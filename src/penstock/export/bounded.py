"""Tensors whose number of rows is counted in the step: boxes that are left over, positions where a condition holds.

A model has no memory of unknown size. So an op whose result may be longer or shorter becomes one that pads it to a length which is known ahead, and
counts the rows that matter (``OpDef.bounded``). What is computed of it row by row is padded, too, and has the same count; its shape is the count and
the other extents (``OpDef.counted``). All else, such as a sum over rows, would take the padding for values: it cannot be exported.
"""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from penstock.export.failures import CannotExport
from penstock.graph import dtypes
from penstock.graph.opdef import lookup
from penstock.graph.shape import TensorShape
from penstock.ops.constant import Const
from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.walk import Walk, constant_of

_HOW = "rows of which only some count, as the step finds out: only what is computed row by row, gathers by them, and their shape can be exported"


def with_bounds(program: Program) -> tuple[Program, dict[int, int]]:
    """The program whose arrays have sizes that are known ahead. Counts are fetched behind everything else: by the position of a fetch, that of its
    count. Raises CannotExport."""
    if not any(node.definition.bounded is not None for node in program.nodes):
        return program, {}
    pass_ = _Bounds()
    program = Walk(program).rewrite(pass_.visit)
    if pass_.refused:
        raise CannotExport(pass_.refused)
    counted = {position: pass_.counts[edge] for position, edge in enumerate(program.fetches) if edge in pass_.counts}
    distinct = list(dict.fromkeys(counted.values()))
    first = len(program.fetches)
    places = {position: first + distinct.index(count) for position, count in counted.items()}
    return Program(program.nodes, program.args, [*program.fetches, *distinct]), places


def _inner_axis(node: Node) -> int:
    """The axis of the first factor of a product that goes away."""
    definition = node.definition
    assert definition.inner is not None
    return definition.inner(*[node.attrs[str(name)] for name in definition.parameters_of(definition.inner)])[0]


class _Bounds:
    """Visits the nodes of a program; ``counts`` has, by a padded value, its count."""

    def __init__(self) -> None:
        self.counts: dict[Edge, Edge] = {}
        self.refused: list[tuple[Node, str]] = []
        self._shapes: dict[Edge, TensorShape] = {}  # of values of nodes that were put in the place of others

    def visit(self, node: Node, nodes: list[Node]) -> list[Edge] | None:
        """What stands for a node's outputs; None if it stays."""
        counts = {self.counts[edge] for edge in node.inputs if edge in self.counts}
        form = None if node.definition.bounded is None else node.definition.bounded(node.attrs)
        if form is not None and not counts:
            return self._bound(node, nodes, *form)
        if not counts:
            return None
        if node.definition.counted and len(counts) == 1:
            made = self._add(nodes, node, lookup(node.definition.counted), node.attrs, [*node.inputs, *counts])
            return [(made, index) for index in range(len(node.output_dtypes))]
        count = self._count_of(node)
        if count is None:
            self.refused.append((node, _HOW))
        else:
            self.counts.update({(node, index): count for index in range(len(node.output_dtypes))})
        return None

    def _bound(self, node: Node, nodes: list[Node], kind: str, attrs: dict[str, Any], values: tuple[Any, ...]) -> list[Edge]:
        further = [self._add(nodes, node, Const, {"value": np.asarray(value), "dtype": dtypes.as_dtype(value.dtype)}, []) for value in values]
        made = self._add(nodes, node, lookup(kind), attrs, [*node.inputs, *((each, 0) for each in further)])
        self.counts[made, 0] = (made, 1)
        if node.origin is not None:
            self._shapes[made, 0] = node.origin.outputs[0].shape
        return [(made, index) for index in range(len(node.output_dtypes))]

    def _add(self, nodes: list[Node], node: Node, definition: Any, attrs: dict[str, Any], inputs: list[Edge]) -> Node:
        made = Node(definition, f"{node.name}/_bound{len(nodes)}", attrs, inputs, [], node.device, node.origin)
        nodes.append(made)
        return made

    # --- what is computed row by row -------------------------------------------------------------------------------------------------------

    def _count_of(self, node: Node) -> Edge | None:
        """The count of a node's outputs; None if it is not one that rows of its inputs tell."""
        definition, groups = node.definition, node.definition.group(node.inputs, node.attrs)
        if definition.gathers:
            return self._count_of_gather([edges for _, edges in groups], node)
        counts = {self.counts[edge] for edge in node.inputs if edge in self.counts}
        if len(counts) > 1:
            return None
        if definition.elementwise or definition.forwards is True:
            by_rows = self._is_aligned(node)
        elif definition.rows:
            by_rows = all(edge in self.counts for arg, edges in groups for edge in edges if arg.name in definition.rows)
        elif definition.joins:
            by_rows = self._is_joined(node, groups)
        elif definition.inner is not None:
            by_rows = self._rank(node.inputs[0]) == 2 and node.inputs[1] not in self.counts and _inner_axis(node) == 1
        elif definition.keeps_order:
            by_rows = self._has_same_rows(node)
        else:
            by_rows = bool(definition.reduces) and self._axes_are_inner(node)
        return counts.pop() if by_rows else None

    def _count_of_gather(self, inputs: list[list[Edge]], node: Node) -> Edge | None:
        _, (indices,), *axes = inputs
        axis = constant_of(axes[0][0]) if axes else np.array(0)
        plain = axis is not None and not axis.any() and not node.attrs.get("batch_dims", 0)
        return self.counts.get(indices) if plain and self._rank(indices) else None

    def _is_aligned(self, node: Node) -> bool:
        """Is the first axis of the output that of each counted input, along which no other one has more than one row?"""
        rank = self._rank((node, 0))
        return bool(rank) and all(self._rank(edge) == rank if edge in self.counts else self._has_one_row(edge, rank) for edge in node.inputs)

    def _has_one_row(self, edge: Edge, rank: int | None) -> bool:
        shape = self._shape(edge)
        return shape.ndims is not None and rank is not None and (shape.ndims < rank or shape.extents[0] == 1)  # type: ignore[index]

    def _is_joined(self, node: Node, groups: list[Any]) -> bool:
        tensors = next(edges for arg, edges in groups if arg.name == node.definition.joins)
        axes = [constant_of(edges[0]) for arg, edges in groups if arg.name != node.definition.joins]
        axis = node.attrs.get("axis") if not axes else None if axes[0] is None else int(axes[0])
        rank = self._rank((node, 0))
        return all(edge in self.counts for edge in tensors) and axis is not None and bool(rank) and axis not in (0, -(rank or 0))

    def _has_same_rows(self, node: Node) -> bool:
        """A reshape that leaves the rows as they are, whatever becomes of each."""
        before, after = self._shape(node.inputs[0]).extents, self._shape((node, 0)).extents
        if not before or not after or before[0] is not None or after[0] is not None or None in (*before[1:], *after[1:]):
            return False
        return prod(before[1:]) == prod(after[1:]) and node.inputs[0] in self.counts  # type: ignore[arg-type]

    def _axes_are_inner(self, node: Node) -> bool:
        axes, rank = constant_of(node.inputs[1]), self._rank(node.inputs[0])
        return axes is not None and bool(rank) and node.inputs[0] in self.counts and all(axis % rank for axis in np.atleast_1d(axes).tolist())

    def _shape(self, edge: Edge) -> TensorShape:
        node, index = edge
        known = self._shapes.get(edge)
        if known is None:
            known = node.origin.outputs[index].shape if node.origin is not None and node.origin.definition is node.definition else TensorShape(None)
            if node.definition is Const:
                known = TensorShape(np.shape(node.attrs["value"]))
        return known

    def _rank(self, edge: Edge) -> int | None:
        return self._shape(edge).ndims
