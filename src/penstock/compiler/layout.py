"""How a call is laid out: axes collapsed, the work cut into parts, everything written down as the words that a kernel reads.

A layout depends on the shape and on the inputs' shapes and strides alone; kernels keep those of recent calls.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.compiler.fusion_body import Reduction
from penstock.compiler.vectors import LANES

MANY = 1 << 16  # elements from which on a second thread pays
_PARTS = 2  # per thread: a thread that is late leaves some to the others
_GRAIN = 1024  # inner axes are cut at multiples of this
SHORT = 64  # inner axes below are taken several rows at a time
BLOCK = 512  # elements per block: the buffers of a body with ten operands fit into the first cache

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
    head, tail = collapse(axes[:split]), collapse(axes[split:]) or [(1, (0,) * len(arrays))]
    if reduce is None:
        outer, middle, result = tail[:-1], [], shape
    elif reduce.axes == "first":
        outer, middle, result = tail[:-1], head, shape[split:]
    else:
        outer, middle, result = head, tail[:-1], shape[:split]
    elements = math.prod(shape)
    space = _Space(outer, middle, tail[-1], elements // max(math.prod(result), 1), reduce)
    ranges, partial = space.parts(threads if elements >= MANY else 1) if elements else ([], False)
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
    """Outer, middle, row and inner axes. See ``loops``."""

    def __init__(self, outer: list[Axis], middle: list[Axis], inner: Axis, count: int, reduce: Reduction | None) -> None:
        self.outer, self.middle, self.inner, self.count = outer, middle, inner, count
        self.columns = reduce is not None and reduce.axes == "first"
        self.reduces_inner = reduce is not None and not self.columns
        self.row: Axis = (1, (0,) * len(inner[1]))
        self.group = 0
        if 0 < inner[0] < SHORT and (middle if self.columns else outer and not middle):
            self.row = (middle if self.columns else outer).pop()
            self.group = group(inner[0])
        self.sizes = (_size(outer), _size(middle), self.row[0], inner[0])

    def parts(self, threads: int) -> tuple[list[tuple[int, ...]], bool]:
        """Start and stop of the outer, middle, row and inner axes for each part, and whether the parts' results have to be combined."""
        outer, middle, rows, inner = self.sizes
        whole = [0, outer, 0, middle, 0, rows, 0, inner]
        wanted = threads * _PARTS
        if threads > 1:
            choices = [(0, 1, False), (2, max(self.group, 1), self.columns), (1, 1, True)]  # axis, where it may be cut, partial results
            if not self.group:
                choices.insert(1, (3, _GRAIN, self.reduces_inner))
            for axis, grain, partial in choices:
                if self.sizes[axis] >= wanted * grain:
                    return [tuple(whole[:2 * axis] + list(each) + whole[2 * axis + 2:]) for each in cut(self.sizes[axis], wanted, grain)], partial
        return [tuple(whole)], False

    def words(self, ranges: tuple[int, ...], partial: bool) -> bytes:
        """As ``loops.WORDS`` says, then the tables."""
        values = [*ranges, self.inner[0], self.row[0], self.group, self.count, partial, len(self.outer), len(self.middle)]
        values += [*self.inner[1], *self.row[1]]
        for extent, strides in (*self.outer, *self.middle):
            values += [extent, *strides]
        return struct.pack(f"{len(values)}q", *values)


def _size(axes: list[Axis]) -> int:
    return math.prod(extent for extent, _ in axes)


def group(inner: int) -> int:
    """How many short rows make a block: whole vectors, if that is possible."""
    multiple = LANES // math.gcd(inner, LANES)
    return max(BLOCK // inner // multiple * multiple, 1) if multiple * inner <= BLOCK else BLOCK // inner


def cut(size: int, parts: int, grain: int) -> list[tuple[int, int]]:
    """A range in at most ``parts`` ranges of about the same size, at multiples of ``grain``."""
    step = -(-size // (parts * grain)) * grain
    return [(start, min(start + step, size)) for start in range(0, size, step)]
