"""What cannot be native for the shapes at hand."""
from __future__ import annotations

from penstock.program.ir import Node


class Fallback(Exception):
    """A node that NumPy has to run: the region is cut around it."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(f"{node.name}: {reason}")
        self.node, self.reason = node, reason
