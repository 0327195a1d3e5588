"""Probes: what looks at a step node by node, as debuggers do, may hold it up, and may give other values to go on with.

A ``Probe`` is told of every node that has run, inside of loops, branches and functions too. Where a node ran is told by its *frames*: the functions
and loops that it lies in, from the outside to the inside, each with the number of its call or iteration. ``Probed`` is what the executors know of a
probe: the recorder of one place. Entering a function gives that of a place further inside, so that nothing has to know which thread runs what.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.program.ir import Node
from penstock.state.resources import Ref

Frames = tuple[tuple[str, int], ...]

NOWHERE, AT_BAD_VALUES, EVERYWHERE = "nowhere", "at bad values", "everywhere"
_ORDER = (NOWHERE, AT_BAD_VALUES, EVERYWHERE)


class Probe:
    """Is told of nodes; see above. Threads may call it at the same time."""

    @property
    def waits(self) -> str:
        """Behind which nodes a step on a cluster has to wait for the answer: NOWHERE, AT_BAD_VALUES or EVERYWHERE.

        A wait is a message to the client and back. A probe that is told of a node without one may stop there, but changes nothing.
        """
        return EVERYWHERE

    def tell(self, frames: Frames, device: str, node: Node, outputs: list[Any], waits: bool = True) -> list[Any] | None:
        """A node has run. What is returned takes the place of its outputs, if the step ``waits``, as it always does in this process."""
        raise NotImplementedError


class Probed:
    """A probe at one place of a run; see ``trace.Recorder``."""

    def __init__(self, probe: Probe, frames: Frames = ()) -> None:
        self._probe, self._frames = probe, frames
        self._calls: dict[str, int] = {}

    def __call__(self, device: str, node: Node, start: int, end: int, outputs: list[Any]) -> list[Any] | None:
        return self._probe.tell(self._frames, device, node, outputs)

    def inside(self, function: str) -> Probed:
        """A function is called from here. The calls of each are counted: those of the body of a loop are its iterations."""
        number = self._calls.get(function, 0)
        self._calls[function] = number + 1
        return self.within(((function, number),))

    def within(self, frames: Frames) -> Probed:
        """A place further inside."""
        return Probed(self._probe, self._frames + frames)


def most_waits(waits: list[str]) -> str:
    """What covers all of them."""
    return max(waits, key=_ORDER.index, default=NOWHERE)


def is_bad(value: Any) -> bool:
    """Has it an element that is infinite or not a number?"""
    array = np.asarray(value)
    return (array.dtype.kind in "fc" or array.dtype == dtypes.bfloat16.np) and not bool(np.isfinite(array).all())


def replaced(outputs: list[Any], changes: Mapping[int, Any]) -> list[Any]:
    """Outputs with others in their places, by their numbers; a variable gets a new value instead."""
    results = list(outputs)
    for slot, value in changes.items():
        if isinstance(results[slot], Ref):
            results[slot].assign(value)
        else:
            results[slot] = value
    return results
