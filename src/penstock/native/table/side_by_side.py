"""Calls of one kernel that do not depend on each other, as parts of one call: several threads share them.

A model with many embeddings has the same few small kernels for each of them. One such call is too small for several threads; all of them together are
not. A call moves up to the last one of its kernel if all that it needs has run by then, and all that must see memory as it was before.
"""
from __future__ import annotations

from collections.abc import Sequence

from penstock.native.calls import Array, Buffer, Code, KernelCall

_FEWEST = 4  # calls that are worth a place on the board
_WORK = 1 << 16  # operations and bytes, from which on several threads pay
_MOST_COUNTED = 1 << 14  # bytes of an operand: a kernel that picks rows sees little of a large table


def put_side_by_side(calls: Sequence[KernelCall], status: Buffer) -> list[KernelCall]:
    """The calls, in another order, with some of them as parts of one."""
    if any(call.code is None for call in calls):  # jumps name calls by their place
        return list(calls)
    groups: list[list[KernelCall]] = []
    latest: dict[Code, int] = {}
    read: dict[Buffer, int] = {}  # the last group that reads a buffer
    written: dict[Buffer, int] = {}
    checked = -1  # the last group that does nothing but look for mistakes
    for call in calls:
        cut = len(call.operands) - call.writes
        reads = {array.buffer for array in call.operands if array.buffer is not status}
        writes = {array.buffer for array in call.operands[cut:] if array.buffer is not status}
        after = max([written.get(buffer, -1) for buffer in reads] + [read.get(buffer, -1) for buffer in writes], default=-1)
        if any(buffer.kind == "input" for buffer in writes):
            after = max(after, checked)  # variables stay as they are if it finds one
        place = latest.get(call.code, -1) if _may_join(call, status) else -1  # type: ignore[arg-type]
        if place <= after:
            place = len(groups)
            groups.append([])
            if _may_join(call, status):
                latest[call.code] = place  # type: ignore[index]
        groups[place].append(call)
        checked = checked if writes else max(checked, place)
        for seen, buffers in ((read, reads), (written, writes)):
            seen.update((buffer, max(place, seen.get(buffer, -1))) for buffer in buffers)
    return [call for group in groups for call in (_merge_calls(group) if _pays(group) else group)]


def _may_join(call: KernelCall, status: Buffer) -> bool:
    """One part, and one that can be asked what is wrong with its inputs without doing harm."""
    fails = any(array.buffer is status for array in call.operands)
    return len(call.parts) == 1 and not (fails and any(item.node.definition.stateful for item in call.nodes))


def _pays(group: Sequence[KernelCall]) -> bool:
    return len(group) >= _FEWEST and sum(call.flops + sum(min(array.nbytes, _MOST_COUNTED) for array in call.operands) for call in group) >= _WORK


def _merge_calls(group: Sequence[KernelCall]) -> list[KernelCall]:
    first = group[0]
    read: list[Array] = [array for call in group for array in call.operands[:len(call.operands) - call.writes]]
    written = [array for call in group for array in call.operands[len(call.operands) - call.writes:]]
    return [KernelCall(first.code, [*read, *written], [call.parts[0] for call in group], first.label, len(written),
                       sum(call.flops for call in group), [item for call in group for item in call.nodes],
                       operands_of_parts=[call.operands for call in group],
                       uses=tuple(dict.fromkeys(code for call in group for code in call.uses)))]
