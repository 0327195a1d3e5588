"""What cannot be exported, and why."""
from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import UnimplementedError
from penstock.program.ir import Node


class CannotExport(UnimplementedError):
    """Nodes that cannot leave Python."""

    def __init__(self, reasons: Sequence[tuple[Node, str]]) -> None:
        first = reasons[0][0].origin
        super().__init__(None, first, "the model cannot be exported:\n" + "\n".join(_describe(*each) for each in reasons))
        self.reasons = [(node.name, node.definition.type, why) for node, why in reasons]


def _describe(node: Node, why: str) -> str:
    line = "" if node.origin is None else f"\n    {node.origin.origin}"
    return f"  {node.name} ({node.definition.type}): {why}{line}"
