"""A failure inside a node that stands for several."""
from __future__ import annotations

from typing import Any

from penstock.compiler.ir import Node


class InnerFailure(Exception):
    """A kernel inside a fused group failed: says which one, and on what."""

    def __init__(self, node: Node, inputs: list[Any], error: Exception) -> None:
        super().__init__(str(error))
        self.node, self.inputs, self.error = node, inputs, error
