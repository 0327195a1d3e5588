"""How a call is laid out: axes collapsed, the work cut into parts, everything written down as the words that a kernel reads.

A layout depends on the shape and on the inputs' shapes and strides alone; kernels keep those of recent calls.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.compiler.fusion_body import Reduction

MANY = 1 << 16  # elements from which on a second thread pays
_PARTS = 2  # per thread: a thread that is late leaves some to the others
_GRAIN = 1024  # inner axes are cut at multiples of this

Strides = tuple[int, ...]
Axis = tuple[int, Strides]  # extent, one stride (in bytes) per input


@dataclass(frozen=True)
class Layout:
    """The words after the array objects, per part."""

    shape: tuple[int, ...]  # of the outputs
    elements: int  # of the space
    count: int  # elements that make one of a reduced output
    parts: tuple[bytes, ...]
    partial: bool  # parts make separate accumulators


def plan(shape: tuple[int, ...], arrays: Sequence[tuple[tuple[int, ...], Strides]], reduce: Reduction | None, threads: int) -> Layout:
    """The layout of a call; ValueError if an input does not broadcast to the shape."""
    strides = [broadcast_strides(own_shape, own, shape) for own_shape, own in arrays]
    axes: list[Axis] = [(extent, tuple(each[axis] for each in strides)) for axis, extent in enumerate(shape)]
    split = 0 if reduce is None else reduce.split(len(shape))
    head, tail = collapse(axes[:split]), collapse(axes[split:])
    if reduce is None:
        outer, middle, inner, result = tail[:-1], [], tail[-1:], shape
    elif reduce.axes == "first":
        outer, middle, inner, result = tail[:-1], head, tail[-1:], shape[split:]
    else:
        outer, middle, inner, result = head, tail[:-1], tail[-1:], shape[:split]
    elements = math.prod(shape)
    space = _Space(outer, middle, inner[0] if inner else (1, (0,) * len(arrays)), elements // max(math.prod(result), 1))
    ranges, partial = space.parts(reduce, threads if elements >= MANY else 1) if elements else ([], False)
    return Layout(result, elements, space.count, tuple(space.words(each, partial) for each in ranges), partial)


def broadcast_strides(own_shape: tuple[int, ...], own: Strides, shape: tuple[int, ...]) -> Strides:
    """Strides over ``shape``: 0 along axes that an array lacks or has one element of."""
    missing = len(shape) - len(own_shape)
    if missing < 0 or any(extent not in (1, wanted) for extent, wanted in zip(own_shape, shape[missing:])):
        raise ValueError(f"an input of shape {list(own_shape)} does not broadcast to {list(shape)}")
    return (0,) * missing + tuple(0 if extent == 1 else stride for extent, stride in zip(own_shape, own))


def collapse(axes: Sequence[Axis]) -> list[Axis]:
    """The same elements in the same order, with as few axes as possible."""
    result: list[Axis] = []
    for extent, strides in axes:
        if extent == 1:
            continue
        if result and all(before == extent * now for before, now in zip(result[-1][1], strides)):
            result[-1] = (result[-1][0] * extent, strides)
        else:
            result.append((extent, strides))
    return result


class _Space:
    """Outer, middle and inner axes. See ``loops``."""

    def __init__(self, outer: list[Axis], middle: list[Axis], inner: Axis, count: int) -> None:
        self.outer, self.middle, self.inner, self.count = outer, middle, inner, count
        self.sizes = (math.prod(extent for extent, _ in outer), math.prod(extent for extent, _ in middle), inner[0])

    def parts(self, reduce: Reduction | None, threads: int) -> tuple[list[tuple[int, ...]], bool]:
        """(outer start, stop, middle start, stop, inner start, stop) of each part, and whether parts have to be combined."""
        outer, middle, inner = self.sizes
        whole = [0, outer, 0, middle, 0, inner]
        wanted = threads * _PARTS
        if threads == 1:
            return [tuple(whole)], False
        reduces_inner = reduce is not None and reduce.axes != "first"
        if outer >= wanted:
            level, grain, partial = 0, 1, False
        elif inner >= wanted * _GRAIN:
            level, grain, partial = 2, _GRAIN, reduces_inner
        elif middle >= wanted:
            level, grain, partial = 1, 1, True
        else:
            return [tuple(whole)], False
        ranges = []
        for start, stop in cut(self.sizes[level], wanted, grain):
            each = list(whole)
            each[2 * level:2 * level + 2] = start, stop
            ranges.append(tuple(each))
        return ranges, partial

    def words(self, ranges: tuple[int, ...], partial: bool) -> bytes:
        """As ``loops.WORDS`` says, then the tables."""
        values = [*ranges, self.inner[0], self.count, partial, len(self.outer), len(self.middle), *self.inner[1]]
        for extent, strides in (*self.outer, *self.middle):
            values += [extent, *strides]
        return struct.pack(f"{len(values)}q", *values)


def cut(size: int, parts: int, grain: int) -> list[tuple[int, int]]:
    """A range in at most ``parts`` ranges of about the same size, at multiples of ``grain``."""
    step = -(-size // (parts * grain)) * grain
    return [(start, min(start + step, size)) for start in range(0, size, step)]
