"""Concat without copies: what is to be joined is written straight to its place in the result.

Before a scope's calls are made, the result of each item that joins others gets its memory, and the values that it joins get *homes*, views of it. A
loop writes to a home as to any other memory. An op with a kernel of its own is asked first, and knows nothing of homes; then its calls are
*redirected*, if they are of a kind that can write rows at any distance. Whatever cannot is copied when the joining item's turn comes.
"""
from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.native.calls import Array, Call, Code
from penstock.native.contract import gemm, winograd_kernel
from penstock.native.fusion.cluster_space import Kind, kind_of
from penstock.native.items import Item, Value
from penstock.native.kernels.axes import broadcast_strides
from penstock.native.kernels.copying import copy_code, plan_copy
from penstock.native.kernels.pooling_kernel import NUMBERS as POOL_NUMBERS
from penstock.native.kernels.pooling_kernel import pool_code

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter

_SHORTEST = 32  # elements that follow each other in the result: loops over shorter rows cost more than the copy


def plan(emitter: Emitter, groups: Sequence[Sequence[Item]]) -> dict[Item, Array]:
    """The results of the items that join, in memory; ``emitter.homes`` gets the homes of what they join."""
    items = {item for group in groups for item in group}
    results: dict[Item, Array] = {}
    for item in (item for group in groups for item in group if item.node.definition.joins):
        parts, axis = _parts(item)
        if axis is None:
            continue
        result = emitter.empty(item.outputs[0].shape, item.outputs[0].dtype.np)
        start = 0
        for value in parts:
            place = _place(result, value, axis, start)
            start += value.shape[axis] if len(value.shape) == result.rank else 1
            movable = value.item in items and value.array is None and not value.wanted and parts.count(value) == 1
            if movable and value not in emitter.homes and math.prod(value.shape[axis:]) >= _SHORTEST and _readable(value, item):
                emitter.homes[value] = place
                results[item] = result
    return results


def _parts(item: Item) -> tuple[list[Value], int | None]:
    """The values that an item joins, and the axis of the result along which they stand; None if it cannot be told."""
    definition, shape = item.node.definition, item.outputs[0].shape
    parts = [value for arg, values in definition.group(item.inputs, item.node.attrs) if arg.name == definition.joins for value in values]
    if any(len(value.shape) < len(shape) for value in parts):  # along a new axis
        return parts, item.node.attrs["axis"] % len(shape)
    differing = {axis for value in parts for axis, extent in enumerate(value.shape) if extent != shape[axis]}
    return parts, differing.pop() if len(differing) == 1 else None


def _place(result: Array, value: Value, axis: int, start: int) -> Array:
    """The part of the result that a value becomes."""
    strides = result.strides if len(value.shape) == result.rank else result.strides[:axis] + result.strides[axis + 1:]
    return Array(result.buffer, result.dtype, value.shape, strides, start * result.strides[axis])


def _readable(value: Value, joining: Item) -> bool:
    """Do all that use it read rows at any distance? A copy for one of them would cost what is saved."""
    return all(user is joining or kind_of(user) is not Kind.OTHER or user.node.definition.aliases or
               "epilogue" in user.node.definition.native_options for user in value.users)


# --- calls that are there already ------------------------------------------------------------------------------------

class _Stays(Exception):
    """The call cannot write anywhere else."""


@dataclass(frozen=True)
class _Pitch:
    """Rows of ``old`` bytes that followed each other begin at distances of ``new`` bytes."""

    old: int
    new: int
    rows: int

    def at(self, offset: int) -> int:
        """Where the byte at an offset is now."""
        return offset // self.old * self.new + offset % self.old

    def step(self, step: int) -> int:
        """A distance between rows."""
        if self.rows == 1:
            return step
        if step % self.old:
            raise _Stays
        return step // self.old * self.new

    def check(self, stop: int) -> None:
        """A row has to end before this byte."""
        if self.rows > 1 and stop > self.old:
            raise _Stays


def settled(emitter: Emitter, value: Value, array: Array, first: int) -> Array:
    """The home of a value that the calls from ``first`` on have computed, if they can write there instead of to the array."""
    home = emitter.homes.get(value)
    calls = [(index, call) for index, call in enumerate(emitter.calls[first:], first) if any(each.buffer is array.buffer for each in call.operands)]
    if home is None or not calls or array.buffer.kind != "arena" or array.offset or array.nbytes != array.buffer.nbytes or not array.contiguous:
        return array
    try:
        changed = [(index, _redirected(emitter, call, array, home)) for index, call in calls]
    except _Stays:
        return array
    for index, call in changed:
        emitter.calls[index] = call
    return home


def _redirected(emitter: Emitter, call: Call, array: Array, home: Array) -> Call:
    """The call with the home instead of the array, which it must write and never read."""
    read = call.operands[:-1]
    parts = _writers(array.dtype).get(call.code) if call.code is not None else None
    if parts is None or call.writes != 1 or call.operands[-1].buffer is not array.buffer or call.operands[-1].offset:
        raise _Stays
    pitch = _pitch(array, home)
    packed = parts(call, pitch, home, emitter.threads)
    operands = [home if each.buffer is array.buffer else each for each in read]
    return Call(call.code, [*operands, home], packed, call.label, 1, call.flops, call.nodes)


def _pitch(array: Array, home: Array) -> _Pitch:
    """Axes from the joined one on are as they were; those before it lie further apart."""
    size = array.dtype.itemsize
    for extent, step in zip(reversed(array.shape), reversed(home.strides)):
        if extent != 1 and step != size:
            return _Pitch(size, step, array.nbytes // size)
        size *= extent
    return _Pitch(size, size, 1)


Parts = Callable[[Call, _Pitch, Array, int], list[bytes]]


@functools.cache
def _writers(dtype: np.dtype) -> dict[Code, Parts]:
    """The kernels, for elements of this type, that can write rows at any distance."""
    size = dtype.itemsize
    found: dict[Code, Parts] = {copy_code(kind, size): _copy for kind in ("rows", "fill", "swap", "items")}
    found |= {pool_code(how, dtype): _pool for how in ("max", "mean", "sum", "pick")}
    if dtype.kind == "f" and size in (4, 8):
        found[gemm.code(size)] = _product
        found[winograd_kernel.code("output", size)] = _winograd
    return found


def _changed(part: bytes, names: Sequence[str], change: Callable[[dict[str, int]], None]) -> bytes:
    words = list(struct.unpack(f"{len(part) // 8}q", part))
    named = dict(zip(names, words))
    change(named)
    return struct.pack(f"{len(words)}q", *named.values(), *words[len(names):])


def _product(call: Call, pitch: _Pitch, home: Array, threads: int) -> list[bytes]:
    def change(w: dict[str, int]) -> None:
        if w["has_added"] and call.operands[2].buffer is call.operands[3].buffer:
            raise _Stays
        pitch.check(w["c_at"] % pitch.old + w["n_stop"] * home.dtype.itemsize)
        for name in ("c_step", "c_batch", "c_line", "c_image"):
            w[name] = pitch.step(w[name])
        w["c_at"] = pitch.at(w["c_at"])

    return [_changed(part, gemm.WORDS, change) for part in call.parts]


def _winograd(call: Call, pitch: _Pitch, home: Array, threads: int) -> list[bytes]:
    def change(w: dict[str, int]) -> None:
        if w["has_added"] and call.operands[2].buffer is call.operands[3].buffer:
            raise _Stays
        pitch.check(w["length"] * home.dtype.itemsize)
        for name in ("image", "line", "pixel"):
            w[name] = pitch.step(w[name])

    return [_changed(part, winograd_kernel.WORDS, change) for part in call.parts]


def _pool(call: Call, pitch: _Pitch, home: Array, threads: int) -> list[bytes]:
    def change(w: dict[str, int]) -> None:
        pitch.check(w["channels"] * home.dtype.itemsize)
        w["pitch"] = pitch.step(w["pitch"] * home.dtype.itemsize) // home.dtype.itemsize

    return [_changed(part, POOL_NUMBERS, change) for part in call.parts]


def _copy(call: Call, pitch: _Pitch, home: Array, threads: int) -> list[bytes]:
    source, target = call.operands
    size = home.dtype.itemsize
    if source.buffer is target.buffer or target.shape != home.shape or not target.contiguous:
        raise _Stays
    strides = broadcast_strides(source.shape, source.strides, home.shape)
    kind, parts = plan_copy(list(zip(home.shape, strides, home.strides)), size, threads)
    if copy_code(kind, size) is not call.code:
        raise _Stays
    return [struct.pack(f"{len(part)}q", *part) for part in parts]
