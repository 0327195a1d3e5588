"""How long NumPy runs a region before native code takes over.

Native code and NumPy differ in last bits. If the switch came when the compiler happens to be done, a program would give other bits each time it
runs. So the switch comes after a number of runs that depends on the region and its shapes alone: about as many as NumPy does in the time that the
compiler needs, by a rough estimate. The compiler works in the background meanwhile; a run that gets there before it waits.
A function that several threads call at once (a parallel map) would count its runs in the order in which they come. If the graph tells the shapes
of its arrays, its native code is made at once; else NumPy goes on.
"""
from __future__ import annotations

from penstock.native.table.call_table import CallTable

MOST = 100  # runs: a step that ran so often will go on
_KERNEL = 0.05  # seconds to compile one
_NODE = 5e-6  # seconds of a NumPy kernel for next to no elements
_FLOPS, _BYTES = 40e9, 2e9  # per second; it goes through memory for every node, native code once for each of its calls
_TURNS = 100  # of a loop: how many there will be is not known


def numpy_runs(table: CallTable, nodes: int) -> int:
    """After how many runs the native code of a region of so many nodes takes over."""
    compiling = _KERNEL * len({call.code for call in table.calls if call.code is not None})
    return min(int(compiling / numpy_seconds(table, nodes)), MOST)


def numpy_seconds(table: CallTable, nodes: int) -> float:
    """About how long NumPy takes for a run."""
    turns = [1] * len(table.calls)
    for first, last in table.loops:
        turns[first:last + 1] = [count * _TURNS for count in turns[first:last + 1]]
    return sum(count * (_NODE + call.flops / _FLOPS + call.traffic / _BYTES) for count, call in zip(turns, table.calls)) + nodes * _NODE
