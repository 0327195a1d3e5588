"""Which nodes shall run with their axes in another order: the analysis behind ``channels.py``.

An edge *has an order* p if it is the transpose, by p, of something that is there, or could be. Transposes are where orders begin, and ops whose
images have their channels first: those are computed with the channels last, whatever the graph says. Ops that do not care for the order of axes
(elementwise ones; reductions, concatenations, paddings, if what they know of axes is changed too) can be *transposed*: run on what their inputs are
transposes of. They are, if their order comes from images, or if a node behind them transposes back.
"""
from __future__ import annotations

from penstock.program.ir import Edge, Node
from penstock.program.passes.walk import Walk, constant_of, is_pure

Order = tuple[int, ...]
_FIRST = {"NCHW": "NHWC", "NCDHW": "NDHWC"}  # formats, and the same with the channels last


def inverse(order: Order) -> Order:
    """The order that undoes another one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def compose_orders(first: Order, then: Order) -> Order:
    """The order of a transpose of a transpose."""
    return tuple(first[axis] for axis in then)


def rank_of(node: Node, position: int) -> int | None:
    """The rank of an input, as far as it is known."""
    origin = node.origin
    if origin is None or origin.definition is not node.definition or len(origin._inputs) != len(node.inputs):
        return None
    return origin._inputs[position].shape.ndims


def permutation(node: Node) -> Order | None:
    """The order of a node that transposes, from 0 upwards, if it is known and fits the tensor."""
    perm = constant_of(node.inputs[1]) if node.definition.permutes else None
    if perm is None or node.inputs[1][0].control or perm.ndim != 1 or rank_of(node, 0) != perm.size:
        return None
    order = tuple(int(axis) + perm.size * (axis < 0) for axis in perm)
    return order if sorted(order) == list(range(perm.size)) else None


def format_with_channels_last(node: Node) -> str | None:
    """The data format that a node with channels first gets."""
    return _FIRST.get(node.attrs["data_format"]) if node.definition.images else None


def transposed_inputs(node: Node) -> list[int]:
    """The positions of the inputs that are transposed with a node."""
    definition, position = node.definition, 0
    positions: list[int] = []
    for index, (arg, edges) in enumerate(definition.group(node.inputs, node.attrs)):
        if definition.elementwise or (arg.name in definition.images if definition.images else index == 0):
            positions += range(position, position + len(edges))
        position += len(edges)
    return positions


def transposed_outputs(node: Node) -> list[int]:
    """The positions of the outputs that are then transposed."""
    definition = node.definition
    if definition.images:
        return [index for index, arg in enumerate(definition.outputs) if arg.name in definition.images]
    return [] if definition.reduces and not node.attrs["keep_dims"] else [0]


def axes_of(node: Node, rank: int) -> list[int] | None:
    """The numbers of axes that a node is given, from 0 upwards; None if they are not known."""
    position = [arg.name for arg, edges in node.definition.group(node.inputs, node.attrs) for _ in edges].index(node.definition.axes)
    value = constant_of(node.inputs[position])
    if value is None or value.dtype.kind not in "iu" or not all(-rank <= axis < rank for axis in value.ravel().tolist()):
        return None
    return [axis % rank for axis in value.ravel().tolist()]


class Orders:
    """``transposed``: the nodes that are to be transposed, each with the order in which it was."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._order: dict[Edge, Order] = {}
        self._firm: set[Node] = set()  # whose order comes from images
        self._candidates: dict[Node, Order] = {}
        self.transposed: dict[Node, Order] = {}
        for node in walk.program.nodes:
            self._look(node)
        if self._candidates:
            self._choose()

    def _look(self, node: Node) -> None:
        definition = node.definition
        if definition.permutes:
            order = permutation(node)
            if order is not None and not self._undoes(node, order):
                self._order[node, 0] = order
            return
        if not (definition.elementwise or definition.images or definition.axes or definition.per_axis) or not node.inputs:
            return
        order = self._order_of(node)
        if order is not None and is_pure(node) and (node in self._walk.used or node in self._walk.fetched):
            self._candidates[node] = order
            self._order.update(((node, index), order) for index in transposed_outputs(node))

    def _undoes(self, node: Node, order: Order) -> bool:
        first = self._order.get(node.inputs[0])
        return first is not None and compose_orders(first, order) == tuple(range(len(order)))

    def _order_of(self, node: Node) -> Order | None:
        """The order of a node's tensors; None if there is none, or if it cannot be transposed."""
        if node.definition.images:
            rank = rank_of(node, transposed_inputs(node)[0]) if format_with_channels_last(node) else None
            if rank is None or rank < 3:
                return None
            self._firm.add(node)
            return (0, rank - 1, *range(1, rank - 1))
        positions = [position for position in transposed_inputs(node) if rank_of(node, position) != 0]
        orders = {self._order[edge] for edge in (node.inputs[position] for position in positions)
                 if edge in self._order and edge[0].device == node.device}
        if len(orders) != 1:
            return None
        order = orders.pop()
        firm = any(node.inputs[position][0] in self._firm for position in positions)
        if not self._fits(node, order, positions) or not (firm or all(node.inputs[position] in self._order for position in positions)):
            return None
        if firm:
            self._firm.add(node)
        return order

    def _fits(self, node: Node, order: Order, positions: list[int]) -> bool:
        definition, ranks = node.definition, [rank_of(node, position) for position in positions]
        loose = definition.elementwise and definition.broadcasts_inputs
        if not all(rank is not None and (rank == len(order) or (loose and rank < len(order))) for rank in ranks):
            return False
        if not loose and len(positions) < len(transposed_inputs(node)):
            return False
        if not definition.axes:
            return True
        axes = axes_of(node, len(order))
        if axes is None or not definition.reduces or node.attrs["keep_dims"]:
            return axes is not None
        left = [order[axis] for axis in range(len(order)) if axis not in axes]
        return left == sorted(left)

    def _choose(self) -> None:
        """Of the candidates those that are worth it, from the end to the beginning."""
        wanted: set[Edge] = set()
        for node in reversed(self._walk.program.nodes):
            if node.definition.permutes:
                order = permutation(node)
                if order is not None and self._undoes(node, order):
                    wanted.add(node.inputs[0])
                continue
            order = self._candidates.get(node)
            if order is not None and (node in self._firm or any((node, index) in wanted for index in transposed_outputs(node))):
                self.transposed[node] = order
                wanted.update(node.inputs[position] for position in transposed_inputs(node))
