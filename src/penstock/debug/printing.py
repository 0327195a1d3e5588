"""Graphs as text, one line per node, at any stage between the user's program and the executor's tables."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.debug.views import NodeView


def node_line(view: NodeView) -> str:
    """A node as a line.

    >>> node_line(NodeView("h", "MatMul", "/cpu:0", [("x", 0), ("split", 1)], ["init"], ["float32[?,10]"], {"transpose_a": "False"}))
    'h = MatMul(x, split:1, ^init) {transpose_a=False} -> float32[?,10]  @/cpu:0'
    """
    sources = [name if not index else f"{name}:{index}" for name, index in view.inputs] + [f"^{name}" for name in view.control]
    attrs = " {" + ", ".join(f"{key}={value}" for key, value in view.attrs.items()) + "}" if view.attrs else ""
    outputs = f" -> {', '.join(view.outputs)}" if view.outputs else ""
    cost = f"  ({time_text(view.micros)}, {size_text(view.bytes)})" if view.micros else ""
    return f"{view.name} = {view.op}({', '.join(sources)}){attrs}{outputs}{cost}" + (f"  @{view.device}" if view.device else "")


def print_nodes(views: Iterable[NodeView], indent: str = "  ") -> str:
    """Nodes as lines, in their order."""
    return "\n".join(indent + node_line(view) for view in views)


def print_tables(part: Any, indent: str = "  ") -> str:
    """The tables that the executor walks for one device: which slots a node reads and writes, and which ones are free after it."""
    rows = []
    for index, node in enumerate(part.nodes):
        written = part.outputs[index] if isinstance(part.outputs[index], tuple) else (part.outputs[index],)
        freed = f"  frees {_slots(part.frees[index])}" if part.frees[index] else ""
        waits = "  may wait" if part.waits[index] else ""
        rows.append(f"{indent}{index:4}  {_slots(part.inputs[index])} -> {_slots(written)}  {node.definition.type}  {node.name}{freed}{waits}")
    return "\n".join(rows)


def _slots(slots: Sequence[int]) -> str:
    return "[" + " ".join(map(str, slots)) + "]"


def time_text(micros: int) -> str:
    """
    >>> time_text(12), time_text(3450), time_text(2_000_000)
    ('12 µs', '3.5 ms', '2.0 s')
    """
    if micros < 1000:
        return f"{micros} µs"
    return f"{micros / 1e3:.1f} ms" if micros < 1_000_000 else f"{micros / 1e6:.1f} s"


def size_text(size: int) -> str:
    """
    >>> size_text(12), size_text(3450), size_text(2_000_000_000)
    ('12 B', '3.5 kB', '2.0 GB')
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"
