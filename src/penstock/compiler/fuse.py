"""Fusion: a tree of elementwise nodes becomes one node, whose kernel is one native loop.

A node is drawn into the group of its consumer if nobody else needs it: it is used inside the group only, it is not fetched, and no node waits for it.
The group has one result, that of its root. A node inside may be computed at the (larger) shape of the root: it is elementwise, so each element is
the same. Until the native kernel is ready, and for types and ops that it does not cover, the nodes' NumPy kernels run one after the other.
"""
from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compiler.background import kernel_for
from penstock.compiler.failure import InnerFailure
from penstock.compiler.fusion_body import Body, Instruction
from penstock.compiler.ir import Node, Program
from penstock.compiler.native import why_not
from penstock.ops.transfer import Fused

_LARGEST = 48  # nodes of a group: a longer body would spill registers


class Group:
    """What a fused node stands for: the nodes, in order, and the body that computes them in one loop."""

    def __init__(self, members: list[Node], operands: list[tuple[int, ...]], body: Body) -> None:
        self.members, self.body = members, body
        self._steps: list[tuple[Node, Callable[..., Any], tuple[int, ...]]] = [
            (node, node.definition.bind(node, None), ids) for node, ids in zip(members, operands)]  # type: ignore[arg-type]
        self._native: Any = None

    def run(self, arrays: list[Any]) -> Any:
        """The root's value."""
        if self._native is None:
            self._native = kernel_for(self.body)
        if self._native is not None:
            # Inputs that do not fit together are left to the NumPy kernels, which say which op they do not fit.
            with contextlib.suppress(TypeError, ValueError):
                return self._native(arrays, np.broadcast_shapes(*[array.shape for array in arrays]))[0]
        return self._interpret(arrays)

    def _interpret(self, arrays: list[Any]) -> Any:
        values = list(arrays)
        for node, kernel, ids in self._steps:
            inputs = [values[index] for index in ids]
            try:
                values.append(kernel(*inputs))
            except Exception as error:
                raise InnerFailure(node, inputs, error) from error
        return values[-1]


def fuse(program: Program) -> None:
    """Replaces groups of elementwise nodes in a placed program."""
    position = {node: index for index, node in enumerate(program.nodes)}
    users: dict[Node, list[Node]] = {node: [] for node in program.nodes}
    pinned = {node for node, _ in program.fetches}
    for node in program.nodes:
        for producer, _ in node.inputs:
            users[producer].append(node)
        pinned.update(node.control)
    taken: set[Node] = set()
    replaced: dict[Node, Node] = {}
    for root in reversed(program.nodes):
        if root in taken or not _fusible(root):
            continue
        members = _grow(root, users, pinned, taken, position)
        if len(members) > 1:
            taken |= members
            replaced[root] = _fused(root, sorted(members, key=position.__getitem__))
    if replaced:
        _rewire(program, replaced, taken)


def _fusible(node: Node) -> bool:
    definition = node.definition
    if not definition.elementwise or definition.lower is None or definition.stateful or len(node.output_dtypes) != 1:
        return False
    if len(node.inputs) > 1 and not getattr(definition.shape, "broadcasts", False) and not _same_shapes(node):
        return False  # it demands equal shapes, which a fused loop does not check
    return why_not(definition, node.attrs, [producer.output_dtypes[index].base_dtype for producer, index in node.inputs]) is None


def _same_shapes(node: Node) -> bool:
    shapes = [tensor.shape for tensor in node.origin._inputs] if node.origin is not None else []
    return bool(shapes) and all(shape.is_fully_defined() and shape == shapes[0] for shape in shapes)


def _shape(node: Node) -> Any:
    return node.origin.outputs[0].shape.extents if node.origin is not None and node.origin.outputs else None


def _grow(root: Node, users: dict[Node, list[Node]], pinned: set[Node], taken: set[Node], position: dict[Node, int]) -> set[Node]:
    """The root and all producers behind it that only the group uses; from late to early, so that a node's users are decided before it."""
    members = {root}
    waiting = [(-position[producer], producer) for producer, _ in root.inputs]
    heapq.heapify(waiting)
    seen = {producer for _, producer in waiting}
    while waiting and len(members) < _LARGEST:
        _, node = heapq.heappop(waiting)
        if node in pinned or node in taken or node.device != root.device or _shape(node) != _shape(root):
            continue  # of another shape: it would be computed once per element of the root
        if not _fusible(node) or any(user not in members for user in users[node]):
            continue
        members.add(node)
        for producer, _ in node.inputs:
            if producer not in seen:
                seen.add(producer)
                heapq.heappush(waiting, (-position[producer], producer))
    return members


def _fused(root: Node, members: list[Node]) -> Node:
    inside = set(members)
    edges = list(dict.fromkeys(edge for node in members for edge in node.inputs if edge[0] not in inside))
    ids: dict[Any, int] = {edge: index for index, edge in enumerate(edges)}
    ids.update({(node, 0): len(edges) + index for index, node in enumerate(members)})
    operands = [tuple(ids[edge] for edge in node.inputs) for node in members]
    types = tuple(producer.output_dtypes[index].base_dtype for producer, index in edges)
    body = Body(types, tuple(Instruction(node.definition, node.attrs, each) for node, each in zip(members, operands)), (ids[root, 0],))
    control = list(dict.fromkeys(other for node in members for other in node.control if other not in inside))
    attrs = {"Tin": types, "T": root.output_dtypes[0], "names": tuple(node.name for node in members)}
    return Node(Fused, root.name, attrs, edges, control, root.device, root.origin, payload=Group(members, operands, body))


def _rewire(program: Program, replaced: dict[Node, Node], taken: set[Node]) -> None:
    program.nodes = [replaced.get(node, node) for node in program.nodes if node not in taken or node in replaced]
    for node in program.nodes:
        node.inputs = [(replaced.get(producer, producer), index) for producer, index in node.inputs]
        node.control = [replaced.get(other, other) for other in node.control]
    program.fetches = [(replaced.get(node, node), index) for node, index in program.fetches]
