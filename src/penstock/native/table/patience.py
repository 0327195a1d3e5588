"""How long NumPy runs a region before native code takes over.

Native code and NumPy differ in last bits. If the switch came when the compiler happens to be done, or when a clock says so, a program would give
other bits each time it runs. So it comes when NumPy has done a certain amount of work, as counted: kernels that ran, those in loops as often as
they did, their elements and operations. What is in the cache does not matter, nor how fast the machine is.

The amount is small, a twentieth of what the compiler takes by a rough estimate: in nearly every program waiting for native code is shorter than
doing without. Only steps that hardly take any time are left to NumPy for a while, with the compiler in the background; a run that gets there before
it waits. Of a step that does real work, the second run is native; and if it trains, the first (``execute/pipeline.py``).

A function that several threads call at once (a parallel map) would count its runs in the order in which they come. If the graph tells the shapes
of its arrays, its native code is made at once; else NumPy goes on.
"""
from __future__ import annotations

from penstock.native.calls import KernelCall
from penstock.native.table.call_table import CallTable

SHARE = 0.002  # seconds of NumPy's work for each kernel that has to be compiled
IN_FUNCTIONS = 5  # times as much for what a function does: a step that calls it in a loop has native code of its own when it comes again
_NODE = 10e-6  # seconds of a NumPy kernel for next to no elements
_FLOPS, _BYTES = 40e9, 2e9  # per second; it goes through memory for every node, native code once for each of its calls
_TURNS = 100  # of a loop that has not run yet


class Patience:
    """Counts what NumPy does for a region with inputs of certain shapes."""

    def __init__(self, table: CallTable) -> None:
        codes = {call.code for call in table.calls if call.code is not None}
        self.share = SHARE * len(codes)
        inside = {index for first, last in table.loops for index in range(first, last + 1)}
        loop_calls = [table.calls[index] for index in inside]
        self._outside = sum(seconds_by_numpy(call) for index, call in enumerate(table.calls) if index not in inside)
        self._turn = sum(map(seconds_by_numpy, loop_calls))
        self._per_kernel = self._turn / max(sum(map(_nodes, loop_calls)), 1)  # of those in loops
        self.runs, self.spent = 0, 0.0

    def expected(self, looped: int | None) -> float:
        """Seconds, about, of a run by NumPy in which loops ran so many kernels, all turns counted; None if no run has counted them yet."""
        return self._outside + (_TURNS * self._turn if looped is None else looped * self._per_kernel)

    def count(self, looped: int | None) -> None:
        """Counts a run like this."""
        self.runs += 1
        self.spent += self.expected(looped)

    def allows(self, looped: int | None) -> bool:
        """May NumPy do one more run like this?"""
        return self.spent + self.expected(looped) <= self.share

    def why_not(self, looped: int | None) -> str:
        """Why it may not, for people; milliseconds are what the count stands for, not what a clock said."""
        turns = "" if not looped else f", with {looped} kernels in loops"
        return (f"native from run {self.runs + 1} on: NumPy would take about {1000 * self.expected(looped):.3g} ms{turns}, "
                f"and its share before native code is {1000 * self.share:.3g} ms, of which {1000 * self.spent:.3g} were used up")


def _nodes(call: KernelCall) -> int:
    return max(len(call.nodes), 1)


def seconds_by_numpy(call: KernelCall) -> float:
    """About how long NumPy takes for what a call does."""
    return _nodes(call) * _NODE + call.flops / _FLOPS + call.traffic / _BYTES
