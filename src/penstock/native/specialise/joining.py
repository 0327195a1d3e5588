"""Concat without copies: what is to be joined is written straight to its place in the result.

Before a scope's calls are made, the result of each item that joins others gets its memory, and the values that it joins get *homes*, views of it. A
loop writes to a home as to any other memory. An op with a kernel of its own is asked first, and knows nothing of homes; then its calls are
*redirected*, if they are of a kind that can write rows at any distance. Whatever cannot is copied when the joining item's turn comes.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.native.calls import Array, KernelCall
from penstock.native.destinations import FixedDestination, Pitch
from penstock.native.fusion.cluster_space import Kind, kind_of
from penstock.native.items import Item, Value

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


def final_array(emitter: Emitter, value: Value, array: Array, first: int) -> Array:
    """The home of a value that the calls from ``first`` on have computed, if they can write there instead of to the array."""
    home = emitter.homes.get(value)
    calls = [(index, call) for index, call in enumerate(emitter.calls[first:], first) if any(each.buffer is array.buffer for each in call.operands)]
    if home is None or not calls or array.buffer.kind != "arena" or array.offset or array.nbytes != array.buffer.nbytes or not array.contiguous:
        return array
    try:
        changed = [(index, _redirect(call, array, home)) for index, call in calls]
    except FixedDestination:
        return array
    for index, call in changed:
        emitter.calls[index] = call
    return home


def _redirect(call: KernelCall, array: Array, home: Array) -> KernelCall:
    """The call with the home instead of the array, which it must write and never read."""
    *read, written = call.operands
    if call.destination is None or call.writes != 1 or written.buffer is not array.buffer or written.offset:
        raise FixedDestination
    parts = call.destination.moved_parts(call, Pitch.between(array, home), home)
    return replace(call, operands=[*[home if each.buffer is array.buffer else each for each in read], home], parts=parts)
