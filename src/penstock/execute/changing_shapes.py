"""Which nodes of a region have arrays of other shapes in every run: rows of an embedding's shard, elements that a mask has picked.

Native code is made for shapes. A region in which a few nodes change theirs would never get any, however much of it computes the same shapes again and
again: so it is split into these nodes and the others, which are regions of their own. They are found by looking at the arrays: a part of a cluster's
graph does not know what it receives.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from penstock.execute.device_plan import DevicePlan
from penstock.program.devices import Kernel
from penstock.program.ir import Node

_SIGNATURES = 5  # of a region, each seen once or twice before there was code for it: then its shapes are looked at
_RUNS = 3  # that are looked at


class _Watched:
    """A kernel that notes whether the shapes of what goes in and comes out change."""

    def __init__(self, node: Node, kernel: Kernel) -> None:
        self.node, self.kernel, self.changes = node, kernel, False
        self._shapes: list[Any] | None = None

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        before = [_shape(value) for value in inputs]
        result = self.kernel(*inputs, **options)
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        shapes = [*before, *map(_shape, outputs)]
        self.changes |= self._shapes is not None and self._shapes != shapes
        self._shapes = shapes
        return result


def _shape(value: Any) -> tuple[int, ...] | None:
    """Of an array; a variable keeps its shape."""
    return value.shape if isinstance(value, (np.ndarray, np.generic)) else None


class ShapeWatch:
    """Looks at some runs of a region's nodes by their own kernels."""

    def __init__(self, plan: DevicePlan) -> None:
        self._plan, self._kernels = plan, list(plan.kernels)
        self._watched = [_Watched(node, kernel) for node, kernel in zip(plan.nodes, plan.kernels)]
        self._runs = 0
        plan.replace_kernels(self._watched)

    def ran(self) -> bool:
        """A run is over. True if it was the last one that is looked at."""
        self._runs += 1
        if self._runs == _RUNS:
            self._plan.replace_kernels(self._kernels)
        return self._runs == _RUNS

    def changing(self) -> list[str]:
        """The names of the nodes whose shapes have changed."""
        return [watched.node.name for watched in self._watched if watched.changes]


def many(seen: Collection[int]) -> bool:
    """Does a region have so many signatures, that were seen so often without code for them, that it is worth while to look at its shapes?"""
    return len(seen) >= _SIGNATURES and sum(seen) <= 2 * len(seen)


def worth_splitting(changing: Sequence[str], nodes: Sequence[Node]) -> bool:
    """Do most nodes compute the same shapes in every run?"""
    return 0 < 2 * len(changing) <= len(nodes)
