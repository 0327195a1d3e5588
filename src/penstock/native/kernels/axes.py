"""Axes and strides: broadcast, collapsed, cut into ranges for threads to share."""
from __future__ import annotations

from collections.abc import Sequence

Strides = tuple[int, ...]
Axis = tuple[int, Strides]  # extent, one stride (in bytes) per operand
MANY = 1 << 15  # elements: less work than that one thread does faster alone


def broadcast_strides(own_shape: Sequence[int], own: Strides, shape: Sequence[int]) -> Strides:
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


def cut(size: int, parts: int, grain: int) -> list[tuple[int, int]]:
    """A range in at most ``parts`` ranges of about the same size, at multiples of ``grain``."""
    step = -(-size // (parts * grain)) * grain
    return [(start, min(start + step, size)) for start in range(0, size, step)]


def split_work(size: int, threads: int, work: int, worth: int = MANY, each: int = 2, grain: int = 1) -> list[tuple[int, int]]:
    """A range cut for threads, ``each`` ranges apiece (one that is late leaves some to the others); not cut if there is less ``work`` than it is
    ``worth``."""
    return cut(size, each * threads if work >= worth and threads > 1 else 1, grain)
