"""Where the nodes of a graph go on a page: layers from top to bottom, scopes as boxes.

The names of nodes make a tree of scopes. Each scope is laid out by itself, its sub-scopes before it, as boxes whose size is known then: an edge
between two nodes counts as an edge between those children of the scope that they are in. Children get layers by their longest path from the top
(edges that close a circle do not count), and within a layer the order in which few edges cross, by sorting along the mean place of their neighbours.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.debug.views import NodeView

NODE_HEIGHT, GAP_X, GAP_Y, PAD, TITLE = 34, 18, 34, 12, 18
_CHARACTER = 6.6  # the width of one, about
_SWEEPS = 6
_WIDEST = 12  # nodes beside each other: a wider layer goes on in the next row


@dataclass
class LayoutBox:
    """A node, or a scope with children; x and y are relative to the box around it until ``place_all`` has run."""

    name: str
    label: str
    view: NodeView | None = None
    children: dict[str, LayoutBox] = field(default_factory=dict)
    nodes: int = 1  # how many are in it
    folded: bool = False
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0


def tree(views: Iterable[NodeView], depth: int) -> LayoutBox:
    """The boxes of all nodes; scopes below ``depth`` levels are folded into one box each."""
    views = list(views)
    scopes = {name[:end] for name in (view.name for view in views) for end in range(len(name)) if name[end] == "/"}
    root = LayoutBox("", "")
    for view in views:
        path = view.name.split("/")
        box = root
        for level, part in enumerate(path if view.name in scopes else path[:-1]):  # a node whose name is a scope is inside it
            box = _child(box, part, level >= depth)
            if box.folded:
                break
        if box.folded:
            box.nodes += 1
        else:
            box.children[f"{view.name} "] = LayoutBox(view.name, path[-1], view)  # no scope's name ends in a space
    return root


def _child(box: LayoutBox, part: str, folded: bool) -> LayoutBox:
    if part not in box.children:
        name = f"{box.name}/{part}" if box.name else part
        box.children[part] = LayoutBox(name, part, nodes=0, folded=folded)
    return box.children[part]


def visible(box: LayoutBox) -> int:
    """How many boxes without children there are."""
    return sum(map(visible, box.children.values())) if box.children else 1


def fitting_depth(views: list[NodeView], most: int) -> int:
    """The largest number of levels that shows no more than ``most`` boxes."""
    deepest = max((view.name.count("/") for view in views), default=0) + 1
    for depth in range(deepest, 0, -1):
        if visible(tree(views, depth)) <= most:
            return depth
    return 0


def lay_out(root: LayoutBox, views: Iterable[NodeView]) -> dict[str, LayoutBox]:
    """Gives every box its place; returns the box that each node is drawn in."""
    shown: dict[str, LayoutBox] = {}
    parents: dict[int, LayoutBox] = {}
    _index(root, shown, parents)
    owner = {view.name: _owner(view.name, shown) for view in views}
    edges: dict[int, set[tuple[int, int]]] = defaultdict(set)  # per scope: between which of its children
    for view in views:
        for source in (*(name for name, _ in view.inputs), *view.control):
            if owner.get(source) is not None:
                _lift(owner[source], owner[view.name], parents, edges)
    _size(root, edges)
    _place_all(root, 0, 0)
    return owner


def _index(box: LayoutBox, shown: dict[str, LayoutBox], parents: dict[int, LayoutBox]) -> None:
    for child in box.children.values():
        parents[id(child)] = box
        if child.view is not None or child.folded:
            shown[child.name] = child
        _index(child, shown, parents)


def _owner(name: str, shown: dict[str, LayoutBox]) -> LayoutBox:
    while name not in shown:
        name = name.rpartition("/")[0]
    return shown[name]


def _lift(source: LayoutBox, target: LayoutBox, parents: dict[int, LayoutBox], edges: dict[int, set[tuple[int, int]]]) -> None:
    """Notes an edge in the innermost scope that has both ends."""
    above, box = {}, source
    while id(box) in parents:
        above[id(parents[id(box)])] = box
        box = parents[id(box)]
    box = target
    while id(box) in parents:
        scope = parents[id(box)]
        if id(scope) in above:
            if above[id(scope)] is not box:
                edges[id(scope)].add((id(above[id(scope)]), id(box)))
            return
        box = scope


def _size(box: LayoutBox, edges: dict[int, set[tuple[int, int]]]) -> None:
    """Sizes of a box and all in it, with the places of children inside it."""
    if not box.children:
        text = max(len(box.label) + (8 if box.folded else 0), len(box.view.op) if box.view else 0)
        box.width, box.height = max(56.0, text * _CHARACTER + 14), NODE_HEIGHT
        return
    for child in box.children.values():
        _size(child, edges)
    rows = _rows(list(box.children.values()), edges[id(box)])
    widths = [sum(child.width for child in row) + GAP_X * (len(row) - 1) for row in rows]
    inner = max([*widths, len(box.label) * _CHARACTER])
    y: float = PAD + (TITLE if box.name else 0)
    for row, width in zip(rows, widths):
        x = PAD + (inner - width) / 2
        for child in row:
            child.x, child.y = x, y
            x += child.width + GAP_X
        y += max(child.height for child in row) + GAP_Y
    box.width, box.height = inner + 2 * PAD, y - GAP_Y + PAD


def _rows(children: list[LayoutBox], edges: set[tuple[int, int]]) -> list[list[LayoutBox]]:
    forward = _without_circles([id(child) for child in children], edges)
    sources: dict[int, list[int]] = defaultdict(list)
    targets: dict[int, list[int]] = defaultdict(list)
    for source, target in forward:
        sources[target].append(source)
        targets[source].append(target)
    layer = _layers([id(child) for child in children], sources, targets)
    rows: list[list[LayoutBox]] = [[] for _ in range(max(layer.values()) + 1)]
    for child in children:
        rows[layer[id(child)]].append(child)
    _reduce_crossings(rows, sources, targets)
    return [row[start:start + _WIDEST] for row in rows for start in range(0, len(row), _WIDEST)]


def _without_circles(members: list[int], edges: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges without those that lead back to where a walk came from."""
    following: dict[int, list[int]] = defaultdict(list)
    place = {member: index for index, member in enumerate(members)}
    for source, end in sorted(edges, key=lambda edge: (place[edge[0]], place[edge[1]])):
        following[source].append(end)
    state: dict[int, int] = {}  # 1: on the way, 2: done
    kept = []
    for start in members:
        stack = [(start, iter(following[start]))] if start not in state else []
        state.setdefault(start, 1)
        while stack:
            here, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                state[here] = 2
                stack.pop()
            elif state.get(target) != 1:
                kept.append((here, target))
                if target not in state:
                    state[target] = 1
                    stack.append((target, iter(following[target])))
    return kept


def _layers(members: list[int], sources: dict[int, list[int]], targets: dict[int, list[int]]) -> dict[int, int]:
    """The longest path that leads to each; what only feeds others goes right above the first of them."""
    waiting = {member: len(sources[member]) for member in members}
    ready, layer = [member for member in members if not waiting[member]], dict.fromkeys(members, 0)
    order = []
    while ready:
        here = ready.pop()
        order.append(here)
        for target in targets[here]:
            layer[target] = max(layer[target], layer[here] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for here in reversed(order):
        if not sources[here] and targets[here]:
            layer[here] = min(layer[target] for target in targets[here]) - 1
    return layer


def _reduce_crossings(rows: list[list[LayoutBox]], sources: dict[int, list[int]], targets: dict[int, list[int]]) -> None:
    place = {id(box): index for row in rows for index, box in enumerate(row)}
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            neighbours = sources if down else targets

            def mean(box: LayoutBox, neighbours: dict[int, list[int]] = neighbours) -> float:
                places = [place[other] for other in neighbours[id(box)]]
                return sum(places) / len(places) if places else place[id(box)]

            row.sort(key=mean)
            place.update({id(box): index for index, box in enumerate(row)})


def _place_all(box: LayoutBox, x: float, y: float) -> None:
    box.x += x
    box.y += y
    for child in box.children.values():
        _place_all(child, box.x, box.y)
