"""Models as pictures: ``model_to_dot`` writes graphviz's language, ``plot_model`` draws an SVG by itself."""
from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from penstock.keras.layers.wrappers import Wrapper
from penstock.layers.nodes import history_of

_DIRECTIONS = ("TB", "BT", "LR", "RL")
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 7.2, 22, 30, 34, 16


def _rows(layer: Any, show_shapes: bool, show_layer_names: bool) -> list[str]:
    """The text of a box."""
    kind = type(layer).__name__
    if isinstance(layer, Wrapper):
        kind = f"{kind}({type(layer.layer).__name__})"
    rows = [f"{layer.name}: {kind}" if show_layer_names else kind]
    if show_shapes:
        for what in ("input", "output"):
            try:
                shape = getattr(layer, f"{what}_shape")
            except AttributeError:
                shape = "multiple"
            rows.append(f"{what}: {shape}")
    return rows


def _edges(model: Any) -> list[tuple[Any, Any]]:
    """(layer, layer behind it), in the order of the layers."""
    if not model._is_graph_network:
        return list(zip(model.layers, model.layers[1:]))
    own = set(model._topology.nodes)
    pairs = [(before, layer) for layer in model._layers for node in layer._inbound_nodes if node in own for before, _, _, _ in node.iterate_inbound()]
    return list(dict.fromkeys(pairs))


def _layers(model: Any) -> list[Any]:
    return list(model._layers) if model._is_graph_network else list(model.layers)


def _drawn(model: Any, expand_nested: bool) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """(layers, pairs of connected ones); ``expand_nested`` has the layers of a model inside in its place."""
    layers, edges = _layers(model), _edges(model)
    if not expand_nested:
        return layers, edges
    inside = {layer: _drawn(layer, True) for layer in layers if hasattr(layer, "_is_graph_network")}
    first, last = ({layer: [each for each in own if all(edge[side] is not each for edge in pairs)] for layer, (own, pairs) in inside.items()}
                   for side in (1, 0))
    expanded = [each for layer in layers for each in (inside[layer][0] if layer in inside else [layer])]
    outer = [(start, end) for before, after in edges for start in last.get(before, [before]) for end in first.get(after, [after])]
    return list(dict.fromkeys(expanded)), list(dict.fromkeys([edge for _, pairs in inside.values() for edge in pairs] + outer))


def _check_direction(rankdir: str) -> None:
    if rankdir not in _DIRECTIONS:
        raise ValueError(f"`rankdir` is where a picture goes to, one of {', '.join(map(repr, _DIRECTIONS))}; got {rankdir!r}.")


class Dot:
    """A graph in graphviz's language."""

    def __init__(self, text: str) -> None:
        self._text = text

    def to_string(self) -> str:
        """The text."""
        return self._text

    def write(self, path: str) -> None:
        """Writes the text to a file, for ``dot``."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._text)


def model_to_dot(model: Any, show_shapes: bool = False, show_layer_names: bool = True, rankdir: str = "TB", expand_nested: bool = False,
                 dpi: int = 96, subgraph: bool = False) -> Dot:
    """``tf.keras.utils.model_to_dot``: the layers and how they are connected."""
    _check_direction(rankdir)
    layers, edges = _drawn(model, expand_nested)
    lines = ["digraph {", f"  graph [rankdir={rankdir}, dpi={dpi}, concentrate=true];", "  node [shape=record];"]
    names = {layer: f"layer{index}" for index, layer in enumerate(layers)}
    for layer, name in names.items():
        label = "|".join(text.replace("\\", "\\\\").replace('"', '\\"').replace("{", "\\{").replace("}", "\\}").replace("|", "\\|")
                         for text in _rows(layer, show_shapes, show_layer_names))
        lines.append(f'  {name} [label="{{{label}}}"];')
    lines += [f"  {names[before]} -> {names[after]};" for before, after in edges if before in names]
    return Dot("\n".join([*lines, "}"]) + "\n")


def plot_model(model: Any, to_file: str = "model.png", show_shapes: bool = False, show_layer_names: bool = True, rankdir: str = "TB",
               expand_nested: bool = False, dpi: int = 96) -> Any:
    """``tf.keras.utils.plot_model``: draws a model as SVG, without graphviz. ``to_file`` gets the extension .svg; a .dot file is graphviz's language.

    Returns the path of the file.
    """
    if to_file.endswith(".dot"):
        model_to_dot(model, show_shapes, show_layer_names, rankdir, expand_nested, dpi).write(to_file)
        return to_file
    path = to_file if to_file.endswith(".svg") else f"{to_file.rpartition('.')[0] or to_file}.svg"
    picture = svg(model, show_shapes, show_layer_names, rankdir, expand_nested)
    with open(path, "w", encoding="utf-8") as file:
        file.write(picture)
    return path


def svg(model: Any, show_shapes: bool = False, show_layer_names: bool = True, rankdir: str = "TB", expand_nested: bool = False) -> str:
    """The picture of a model: layers in rows, by their distance from the inputs."""
    _check_direction(rankdir)
    sideways, backwards = rankdir in ("LR", "RL"), rankdir in ("BT", "RL")
    layers, edges = _drawn(model, expand_nested)
    level: dict[Any, int] = {}
    for layer in layers:
        level[layer] = max((level[before] + 1 for before, after in edges if after is layer and before in level), default=0)
    texts = {layer: _rows(layer, show_shapes, show_layer_names) for layer in layers}
    sizes: dict[Any, tuple[float, float]] = {layer: (max(map(len, texts[layer])) * _WIDTH + 20, len(texts[layer]) * _HEIGHT) for layer in layers}
    rows = [[layer for layer in layers if level[layer] == number] for number in range(max(level.values(), default=-1) + 1)]
    places, width, height = _places(rows, sizes, sideways)
    if backwards:
        places = {layer: (width - x - sizes[layer][0], y) if sideways else (x, height - y - sizes[layer][1]) for layer, (x, y) in places.items()}
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="12">',
             '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0,0 L8,4 L0,8 z"/></marker></defs>']
    for before, after in edges:
        if before in places and after in places:
            upper, lower = (after, before) if backwards else (before, after)
            ends = _ends(places[upper], sizes[upper], places[lower], sizes[lower], sideways)
            x1, y1, x2, y2 = (*ends[2:], *ends[:2]) if backwards else ends
            lines.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="black" marker-end="url(#tip)"/>')
    for layer, (x, y) in places.items():
        lines += _box(x, y, *sizes[layer], texts[layer])
    return "\n".join([*lines, "</svg>"]) + "\n"


def _places(rows: list[list[Any]], sizes: dict[Any, tuple[float, float]], sideways: bool) -> tuple[dict[Any, tuple[float, float]], float, float]:
    """({layer: its upper left corner}, width, height); rows are centred."""
    along, across = (1, 0) if sideways else (0, 1)
    gaps = (_GAP_X, _GAP_Y)
    lengths = [sum(sizes[layer][along] for layer in row) + gaps[along] * (len(row) - 1) for row in rows]
    longest, position = max(lengths, default=0), float(_MARGIN)
    places: dict[Any, tuple[float, float]] = {}
    for row, length in zip(rows, lengths):
        offset = _MARGIN + (longest - length) / 2
        for layer in row:
            places[layer] = (position, offset) if sideways else (offset, position)
            offset += sizes[layer][along] + gaps[along]
        position += max(sizes[layer][across] for layer in row) + gaps[across]
    total = position - gaps[across] + _MARGIN
    return (places, total, longest + 2 * _MARGIN) if sideways else (places, longest + 2 * _MARGIN, total)


def _ends(start: tuple[float, float], start_size: tuple[float, float], end: tuple[float, float], end_size: tuple[float, float],
          sideways: bool) -> tuple[float, float, float, float]:
    if sideways:
        return start[0] + start_size[0], start[1] + start_size[1] / 2, end[0], end[1] + end_size[1] / 2
    return start[0] + start_size[0] / 2, start[1] + start_size[1], end[0] + end_size[0] / 2, end[1]


def _box(x: float, y: float, width: float, height: float, texts: list[str]) -> list[str]:
    lines = [f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="white" stroke="black"/>']
    for index, text in enumerate(texts):
        top = y + index * _HEIGHT
        if index:
            lines.append(f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x + width:.1f}" y2="{top:.1f}" stroke="black"/>')
        lines.append(f'<text x="{x + width / 2:.1f}" y="{top + 15:.1f}" text-anchor="middle">{escape(text)}</text>')
    return lines


def get_source_inputs(tensor: Any, layer: Any = None, node_index: int | None = None) -> list[Any]:
    """``tf.keras.utils.get_source_inputs``: the inputs that a tensor of a model is computed of."""
    history = history_of(tensor)
    if history is None:
        return [tensor]
    layer, node_index = (history.layer, history.node_index) if layer is None or node_index else (layer, node_index or 0)
    node = layer._inbound_nodes[node_index]
    if not node.inbound_layers:
        return node.input_tensors if isinstance(node.input_tensors, list) else [node.input_tensors]
    sources = [source for before, index, _, each in node.iterate_inbound() for source in get_source_inputs(each, before, index)]
    return list({id(source): source for source in sources}.values())

