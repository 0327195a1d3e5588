"""A graph with its places on a page, as plain values: boxes of operations, scopes around them, edges between them.

Three columns: forward, down to the loss; gradients, from the loss back up; the updates of the variables. Scopes of graphs with many operations are
folded into one box each.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.debug.graph_layout import LayoutBox, fitting_depth, lay_out, tree
from penstock.debug.views import NodeView

PHASES = ("forward", "gradient", "update")
_GAP = 90  # between the columns


def picture(views: list[NodeView], phase: Callable[[NodeView], str], most: int = 1000) -> dict[str, Any]:
    """Boxes, at most about ``most`` of them; ``owner`` tells for each operation in which it is."""
    depth = fitting_depth(views, most)
    columns = [_column(part, name, depth) for name in PHASES if (part := [view for view in views if phase(view) == name])]
    height, left = max((column["height"] for column in columns), default=0), 0.0
    for column in columns:
        for place in (*column["scopes"], *column["nodes"]):
            place["x"] += left
            place["y"] += height - column["height"]  # the loss stands at the lower end of the first two
        left += column["width"] + _GAP
    nodes = [node for column in columns for node in column["nodes"]]
    index = {(node["phase"], node["name"]): number for number, node in enumerate(nodes)}
    owner = {name: index[column["phase"], box] for column in columns for name, box in column["owner"].items()}
    edges = {(owner[source], owner[view.name], control) for view in views
             for source, control in [*((name, False) for name, _ in view.inputs), *((name, True) for name in view.control)] if source in owner}
    return {"width": max(0.0, left - _GAP), "height": height, "scopes": [scope for column in columns for scope in column["scopes"]], "nodes": nodes,
            "edges": sorted(edge for edge in edges if edge[0] != edge[1]), "owner": owner}


def _column(views: list[NodeView], phase: str, depth: int) -> dict[str, Any]:
    """One phase of the step, from its upper left corner; the data of gradients flow from the bottom to the top."""
    root, upwards = tree(views, depth), phase == "gradient"
    owner = lay_out(root, views)

    def place(box: LayoutBox) -> dict[str, Any]:
        return {"name": box.name, "label": box.label, "x": box.x, "y": root.height - box.y - box.height if upwards else box.y, "width": box.width,
                "height": box.height, "upwards": upwards}

    boxes = {box.name: box for box in owner.values()}
    return {"width": root.width, "height": root.height, "phase": phase, "scopes": [place(box) for box in _scopes(root)],
            "nodes": [{**place(box), "op": box.view.op if box.view is not None else f"{box.nodes} operations", "phase": phase,
                       "folded": box.view is None} for box in boxes.values()],
            "owner": {name: box.name for name, box in owner.items()}}


def _scopes(box: LayoutBox) -> list[LayoutBox]:
    return [each for child in box.children.values() if child.children for each in [child, *_scopes(child)]]
