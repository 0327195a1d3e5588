"""Where in the arena of a step its buffers are: planned by liveness, so that buffers whose lives do not overlap share memory."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.native.calls import Buffer, KernelCall

ALIGNMENT = 64
GUARD = 0  # bytes after each buffer, with a pattern: tests set it to see whether a kernel writes where it should not. Buffers then share nothing


def plan_arena(calls: Sequence[KernelCall], status: Buffer, loops: Sequence[tuple[int, int]] = ()) -> tuple[dict[Buffer, int], int]:
    """An offset for each buffer of the arena, and the arena's size: the largest buffers first, each at the lowest place that is free during its life.

    What is there when a loop begins, and is used in it, lives until the loop ends: the next iteration needs it again.
    """
    lives: dict[Buffer, tuple[int, int]] = {status: (0, len(calls))}
    for index, call in enumerate(calls):
        for array in call.operands:
            if array.buffer.kind == "arena" and array.buffer is not status:
                first, _ = lives.get(array.buffer, (index, index))
                lives[array.buffer] = (first, index)
    for buffer, (first, last) in lives.items():
        for start, end in loops:
            if first < start <= last < end:
                last = end
        lives[buffer] = (first, last)
    home = _in_place(calls, lives)
    offsets: dict[Buffer, int] = {}
    blocks = np.zeros((len(lives), 4), np.int64)  # of those that are placed: start and end in memory, first and last in time
    total = 0
    for count, buffer in enumerate(sorted(lives, key=lambda each: -each.nbytes)):
        first, last = lives[buffer]
        size = -(-max(buffer.nbytes, 1) // ALIGNMENT) * ALIGNMENT + GUARD
        placed = blocks[:count]
        start = total if GUARD else _lowest_gap(placed[(placed[:, 2] <= last) & (placed[:, 3] >= first), :2], size)
        offsets[buffer] = start
        blocks[count] = (start, start + size, first, last)
        total = max(total, start + size)
    offsets.update((buffer, offsets[other]) for buffer, other in home.items())
    return offsets, total


def _in_place(calls: Sequence[KernelCall], lives: dict[Buffer, tuple[int, int]]) -> dict[Buffer, Buffer]:
    """Outputs that take the place of an input that dies with the call: what is read and written is in the cache once, not twice."""
    home: dict[Buffer, Buffer] = {}
    for index, call in enumerate(calls):
        taken: set[Buffer] = set()
        for output, given in call.over:
            new, old = output.buffer, home.get(given.buffer, given.buffer)
            if new in lives and old in lives and not {new, old} & taken and lives[new][0] == lives[old][1] == index and new.nbytes == old.nbytes:
                home[new] = old
                lives[old] = (lives[old][0], lives.pop(new)[1])
                taken |= {new, old}
    return home


def _lowest_gap(taken: np.ndarray, size: int) -> int:
    """The lowest place that is free; ``taken``: starts and ends."""
    start = 0
    for begin, end in taken[np.argsort(taken[:, 0])].tolist():
        if start + size <= begin:
            break
        start = max(start, end)
    return start
