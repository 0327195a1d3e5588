"""A failure inside a node that stands for several."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.program.ir import Node


class InnerFailure(Exception):
    """A kernel inside a fused group failed: says which one, on what, and in which iterations of the loops around it, inner ones first."""

    def __init__(self, node: Node, inputs: list[Any], error: Exception, loops: Sequence[tuple[Node, int]] = ()) -> None:
        super().__init__(str(error))
        self.node, self.inputs, self.error, self.loops = node, inputs, error, loops
