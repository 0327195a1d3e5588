"""A graph as an SVG image: scopes are boxes, colours are devices, edges carry shapes; a traced step adds what each node cost."""
from __future__ import annotations

from collections.abc import Iterable
from html import escape

from penstock.debug.graph_layout import PAD, LayoutBox, fitting_depth, lay_out, tree
from penstock.debug.printing import node_line, size_text, time_text
from penstock.debug.views import NodeView

_COLOURS = ("#cfe3f7", "#fde2c4", "#d3efd3", "#f6d3e0", "#e2d8f5", "#f4efb8", "#cdeeee", "#e6e0d8")
_LEGEND = 22  # the height of a line of the legend
_MOST = 400  # boxes in an image: then scopes are folded, the innermost first
_LONG = 300  # an edge that passes many nodes on its way is drawn lightly
_STYLE = """text{font:11px sans-serif}.op{fill:#666;font-size:9.5px}.scope{fill:#000;fill-opacity:.035;stroke:#999}.title{fill:#555;font-weight:bold}
.node{stroke:#667}.edge{fill:none;stroke:#889;stroke-width:1.1}.control{stroke-dasharray:3 3;stroke:#b99}.shape{fill:#557;font-size:8.5px}
.long{stroke-opacity:.35}.heat{fill:#d33}.cost{fill:#a22;font-size:9px}"""


def draw(views: list[NodeView], title: str = "", depth: int | None = None) -> str:
    """The image as text. Scopes that are more than ``depth`` levels deep are folded; without it, as few as keep the image readable.

    >>> image = draw([NodeView("x", "Placeholder"), NodeView("layer/y", "Relu", inputs=[("x", 0)])])
    >>> image.count('class="node"'), image.count('class="scope"'), image.count('class="edge"')
    (2, 1, 1)
    """
    root = tree(views, fitting_depth(views, _MOST) if depth is None else depth)
    owner = lay_out(root, views)
    colours = {device: _COLOURS[index % len(_COLOURS)] for index, device in enumerate(sorted({view.device for view in views}))}
    slowest = max((view.micros for view in views), default=0)
    parts = [*_scopes(root), *_edges(views, owner), *_nodes(root, colours, slowest, views)]
    top = PAD + _LEGEND * (len(colours) + 1)
    width, height = max(root.width, 9 * len(title), 320) + PAD, root.height + top
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n'
            f'<style>{_STYLE}</style>\n<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
            f'<path d="M0 0L6 3L0 6z" fill="#889"/></marker></defs>\n<rect width="100%" height="100%" fill="#fff"/>\n'
            + "\n".join(_legend(title, colours, views)) + f'\n<g transform="translate(0 {top})">\n' + "\n".join(parts) + "\n</g>\n</svg>\n")


def _legend(title: str, colours: dict[str, str], views: list[NodeView]) -> Iterable[str]:
    total = sum(view.micros for view in views)
    cost = f", {time_text(total)} in all nodes together" if total else ""
    yield f'<text x="{PAD}" y="{PAD + 8}" class="title">{escape(f"{title}  ({len(views)} nodes{cost})")}</text>'
    for line, (device, colour) in enumerate(colours.items(), 1):
        y = PAD + line * _LEGEND
        yield f'<rect x="{PAD}" y="{y - 6}" width="16" height="14" rx="3" fill="{colour}" stroke="#667"/>'
        yield f'<text x="{PAD + 22}" y="{y + 5}">{escape(device or "no device yet")}</text>'


def _scopes(box: LayoutBox) -> Iterable[str]:
    for child in box.children.values():
        if child.children:
            yield f'<rect class="scope" x="{child.x:.1f}" y="{child.y:.1f}" width="{child.width:.1f}" height="{child.height:.1f}" rx="8"/>'
            yield f'<text class="title" x="{child.x + 8:.1f}" y="{child.y + 15:.1f}">{escape(child.label)}</text>'
            yield from _scopes(child)


def _nodes(box: LayoutBox, colours: dict[str, str], slowest: int, views: list[NodeView]) -> Iterable[str]:
    for child in box.children.values():
        if child.children:
            yield from _nodes(child, colours, slowest, views)
        elif child.view is not None:
            yield _node(child, child.view.op, child.view, colours, slowest)
        else:
            inside = [view for view in views if view.name == child.name or view.name.startswith(child.name + "/")]
            whole = NodeView(child.name, f"{child.nodes} nodes", _common(inside), micros=sum(view.micros for view in inside))
            yield _node(child, whole.op, whole, colours, slowest)


def _common(views: list[NodeView]) -> str:
    """The device of most of them."""
    devices = [view.device for view in views]
    return max(set(devices), key=devices.count)


def _node(box: LayoutBox, below: str, view: NodeView, colours: dict[str, str], slowest: int) -> str:
    middle = box.x + box.width / 2
    radius = 4 if box.folded else 14
    parts = [f"<g><title>{escape(view.name if box.folded else node_line(view))}</title>"
             f'<rect class="node" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius}" '
             f'fill="{colours[view.device]}"/>'
             f'<text x="{middle:.1f}" y="{box.y + 14:.1f}" text-anchor="middle">{escape(box.label + (" …" if box.folded else ""))}</text>'
             f'<text class="op" x="{middle:.1f}" y="{box.y + 26:.1f}" text-anchor="middle">{escape(below)}</text>']
    if view.micros:
        share = min(1.0, view.micros / slowest)
        cost = time_text(view.micros) + (f", {size_text(view.bytes)}" if view.bytes else "")
        low, length = box.y + box.height, max(2, share * (box.width - 16))
        parts.append(f'<rect class="heat" x="{box.x + 8:.1f}" y="{low - 4:.1f}" width="{length:.1f}" height="3"/>'
                     f'<text class="cost" x="{middle:.1f}" y="{low + 9:.1f}" text-anchor="middle">{escape(cost)}</text>')
    return "".join(parts) + "</g>"


def _edges(views: list[NodeView], owner: dict[str, LayoutBox]) -> Iterable[str]:
    shapes = {view.name: view.outputs for view in views}
    drawn: set[tuple[int, int, str]] = set()
    for view in views:
        for source, label, kind in [*((name, _label(shapes.get(name, []), index), "") for name, index in view.inputs),
                                    *((name, "", " control") for name in view.control)]:
            start, end = owner.get(source), owner[view.name]
            if start is None or start is end or (id(start), id(end), label + kind) in drawn:
                continue
            drawn.add((id(start), id(end), label + kind))
            yield _edge(start, end, label, kind)


def _label(outputs: list[str], index: int) -> str:
    """The shape, without the type."""
    text = outputs[index] if index < len(outputs) else ""
    return "[" + text.partition("[")[2] if "[" in text else ""


def _edge(start: LayoutBox, end: LayoutBox, label: str, kind: str) -> str:
    x0, y0, x1, y1 = start.x + start.width / 2, start.y + start.height, end.x + end.width / 2, end.y
    bend = max(18.0, abs(y1 - y0) / 2)
    kind += " long" if abs(y1 - y0) > _LONG else ""
    curve = f"M{x0:.1f} {y0:.1f}C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1:.1f}"
    path = f'<path class="edge{kind}" marker-end="url(#tip)" d="{curve}"/>'
    if not label:
        return path
    # A point of the curve close to its end, where edges that leave one node have parted.
    t = 0.72
    a, b, c, d = (1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t * t, t ** 3
    x, y = (a + b) * x0 + (c + d) * x1, a * y0 + b * (y0 + bend) + c * (y1 - bend) + d * y1
    return f'{path}<text class="shape" x="{x + 2:.1f}" y="{y:.1f}">{escape(label)}</text>'
