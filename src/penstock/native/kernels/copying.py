"""Copies from strided to strided memory: the kernels, and which of them fits.

Axes are put in the order of the target, merged where both sides allow it, and then the innermost one (two, for ``swap``) decides:

    rows     both sides contiguous: memcpy
    fill     one element again and again
    swap     contiguous in the target along one axis and in the source along another: small tiles are transposed in registers
    turn3    groups of 3 elements (the channels of an image; or 1, 2 or 4) that follow each other, in the source backwards: turned round in registers
    group3   both sides contiguous for 3 elements (or 2, or 4), not for more: a group at a time
    items    anything else, element by element
"""
from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from penstock.native.calls import Array, Code, KernelCall
from penstock.native.destinations import FixedDestination, Pitch
from penstock.native.kernels.axes import Axis, broadcast_strides, collapse, cut
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import IR
from penstock.native.vector.writer import Writer, word

_SHORT = 32  # bytes: shorter rows cost less without the call of memcpy
LARGE = 1 << 18  # bytes from which on several threads pay
_ROWS = 128  # of the target that are written to by turns: as many memory pages, and a cache line of each
_GROUPS = (2, 3, 4)  # elements that are moved together
_VECTOR = 64  # bytes that are turned round together
_NUMBERS = ("source_start", "target_start", "inner", "inner_source", "inner_target", "middle", "middle_source", "middle_target", "rank")


def plan_copy(axes: Sequence[tuple[int, int, int]], itemsize: int, threads: int) -> tuple[str, list[list[int]]]:
    """The kernel for a copy over axes (extent, source stride, target stride), and the numbers of its parts."""
    source_start, target_start, ordered = 0, 0, []
    for extent, source, target in axes:
        if target < 0:  # run through it the other way round
            source_start, target_start = source_start + (extent - 1) * source, target_start + (extent - 1) * target
            source, target = -source, -target
        ordered.append((extent, (source, target)))
    ordered.sort(key=lambda axis: (-axis[1][1], -axis[0]))
    merged = collapse(ordered) or [(1, (itemsize, itemsize))]
    kind, merged = _choose(merged, itemsize)
    parts = _boxes(merged, itemsize, threads, 2 if kind == "swap" else 1)
    return kind, [_numbers(source_start, target_start, offsets, each) for offsets, each in parts]


def _choose(axes: list[Axis], itemsize: int) -> tuple[str, list[Axis]]:
    """The kernel, and the axes with those that it treats specially at the end."""
    extent, (source, target) = axes[-1]
    if target == itemsize and source == itemsize and extent * itemsize >= _SHORT:
        return "rows", axes
    if target == itemsize and source == 0 and extent * itemsize >= _SHORT:
        return "fill", axes
    group, turned = (extent, axes[:-1]) if target == source == itemsize and extent in _GROUPS else (1, axes)
    if turned and turned[-1][0] > 1 and turned[-1][1] == (-group * itemsize, group * itemsize) and itemsize <= 8:
        return f"turn{group}", turned
    if target == itemsize and extent > 1 and itemsize <= 8:
        other = next((axis for axis in axes[:-1] if axis[1][0] == itemsize and axis[0] > 1), None)
        if other is not None and source != itemsize:
            return "swap", [axis for axis in axes[:-1] if axis is not other] + [other, axes[-1]]
    if target == itemsize and source == itemsize and extent in _GROUPS and len(axes) > 1:
        others = axes[:-1]
        longest = max(range(len(others)), key=lambda index: others[index][0])
        return f"group{extent}", others[:longest] + others[longest + 1:] + [others[longest]]
    longest = max(range(len(axes)), key=lambda index: axes[index][0])
    if extent < 8 < axes[longest][0]:  # short loops are dear: the longest axis goes inside
        axes = axes[:longest] + axes[longest + 1:] + [axes[longest]]
    return "items", axes


def _boxes(axes: list[Axis], itemsize: int, threads: int, special: int) -> list[tuple[tuple[int, int], list[Axis]]]:
    """Boxes of about the same size, with where they begin."""
    total = itemsize
    for extent, _ in axes:
        total *= extent
    if threads == 1 or total < LARGE:
        return [((0, 0), axes)]
    wanted = 2 * threads
    position = next((k for k, (extent, _) in enumerate(axes[:-1]) if extent >= wanted), None)
    if position is None:
        position = max(range(len(axes)), key=lambda index: axes[index][0])
    extent, (source, target) = axes[position]
    grain = 64 if position >= len(axes) - special else 1
    return [((start * source, start * target), [*axes[:position], (stop - start, (source, target)), *axes[position + 1:]])
            for start, stop in cut(extent, wanted, grain)]


def _numbers(source_start: int, target_start: int, offsets: tuple[int, int], axes: list[Axis]) -> list[int]:
    """As ``_NUMBERS`` says, then the table of the outer axes."""
    inner = axes[-1]
    middle = axes[-2] if len(axes) > 1 else (1, (0, 0))
    values = [source_start + offsets[0], target_start + offsets[1], inner[0], *inner[1], middle[0], *middle[1], max(len(axes) - 2, 0)]
    for extent, strides in axes[:-2]:
        values += [extent, *strides]
    return values


def copy_code(kind: str, itemsize: int) -> Code:
    """The kernel: operands source and target."""
    return Code.of(f"copy {kind} {itemsize}", lambda: _build(kind, itemsize))


@dataclass(frozen=True)
class CopyDestination:
    """Of a copy: it is planned anew, and may then need another kernel."""

    threads: int

    def moved_parts(self, call: KernelCall, pitch: Pitch, home: Array) -> list[bytes]:
        """As ``destinations.Destination``."""
        source, target = call.operands
        size = home.dtype.itemsize
        if source.buffer is target.buffer or target.shape != home.shape or not target.contiguous:
            raise FixedDestination
        strides = broadcast_strides(source.shape, source.strides, home.shape)
        kind, parts = plan_copy(list(zip(home.shape, strides, home.strides)), size, self.threads)
        if copy_code(kind, size) is not call.code:
            raise FixedDestination
        return [struct.pack(f"{len(part)}q", *part) for part in parts]


def _build(kind: str, itemsize: int) -> str:
    w = Writer(["source", "target"], _NUMBERS)
    source, target = w.at(w.source, w.source_start), w.at(w.target, w.target_start)
    with w.walk(w.rank, w.after, 2) as (from_source, from_target):
        origin, place = w.at(source, from_source), w.at(target, from_target)
        if kind == "swap":
            _swap(w, origin, place, itemsize)
        else:
            with w.range(w.middle) as middle:
                row = {"rows": _row, "fill": _fill, "items": _items}.get(kind) or \
                    functools.partial(_turn if kind.startswith("turn") else _items, group=int(kind[-1]))
                row(w, w.at(origin, w.b.mul(middle, w.middle_source)), w.at(place, w.b.mul(middle, w.middle_target)), itemsize)
    return w.finish()


def _row(w: Writer, source: IR, target: IR, itemsize: int) -> None:
    w.copy_bytes(target, source, w.b.mul(w.inner, number(itemsize)))


def _fill(w: Writer, source: IR, target: IR, itemsize: int) -> None:
    kind = word(itemsize)
    value = w.load(source, kind)
    w.strips(w.inner, lambda index, lanes: w.store(w.broadcast(value, lanes), w.item(target, index, kind), kind), max(64 // itemsize, 1))


def _turn(w: Writer, source: IR, target: IR, itemsize: int, group: int) -> None:
    """As many groups as a vector holds change places in it."""
    count = max(_VECTOR // itemsize // group, 2)
    whole = w.b.udiv(w.inner, number(count))
    lanes = [group * place + k for place in reversed(range(count)) for k in range(group)]
    with w.range(whole) as index:
        first = w.b.mul(index, number(count))
        origin = w.at(source, w.b.mul(w.b.add(first, number(count - 1)), w.inner_source))
        values = w.load(origin, word(itemsize), len(lanes))
        w.store(w.shuffle(values, values, lanes), w.at(target, w.b.mul(first, w.inner_target)), word(itemsize))
    _items(w, source, target, itemsize, group, w.b.mul(whole, number(count)))


def _items(w: Writer, source: IR, target: IR, itemsize: int, group: int = 1, start: IR = None) -> None:
    """Groups from ``start`` on, one by one."""
    kind, b = word(itemsize), w.b
    start = number(0) if start is None else start

    def move(index: IR) -> None:
        origin, place = w.at(source, b.mul(index, w.inner_source)), w.at(target, b.mul(index, w.inner_target))
        for value, offset in [(w.load(w.at(origin, itemsize * k), kind), itemsize * k) for k in range(group)]:
            w.store(value, w.at(place, offset), kind)

    whole = b.add(start, b.and_(b.sub(w.inner, start), number(-4)))
    with w.range(whole, start, 4) as index:
        for k in range(4):
            move(b.add(index, number(k)))
    with w.range(w.inner, whole) as index:
        move(index)


def _swap(w: Writer, source: IR, target: IR, itemsize: int) -> None:
    """inner: contiguous in the target; middle: contiguous in the source. Pairs of tiles fill whole cache lines while these are at hand."""
    b, tile = w.b, 8 if itemsize <= 4 else 4
    inner, middle = b.and_(w.inner, number(-tile)), b.and_(w.middle, number(-tile))

    def places(i: IR, m: IR) -> tuple[IR, IR]:
        return (w.at(source, b.add(b.mul(i, w.inner_source), b.mul(m, w.middle_source))),
                w.at(target, b.add(b.mul(i, w.inner_target), b.mul(m, w.middle_target))))

    def upto(start: IR, step: int, stop: IR) -> IR:
        return w.minimum(b.add(start, number(step)), stop)

    with w.range(middle, 0, _ROWS) as rows, w.range(inner, 0, 2 * tile) as i_block, w.range(upto(rows, _ROWS, middle), rows, 2 * tile) as m_block:
        with w.range(upto(m_block, 2 * tile, middle), m_block, tile) as m, w.range(upto(i_block, 2 * tile, inner), i_block, tile) as i:
            _transpose_tile(w, *places(i, m), tile, itemsize)

    def single(i: IR, m: IR) -> None:
        origin, place = places(i, m)
        w.store(w.load(origin, word(itemsize)), place, word(itemsize))

    with w.range(w.middle, middle) as m, w.range(w.inner) as i:
        single(i, m)
    with w.range(middle) as m, w.range(w.inner, inner) as i:
        single(i, m)


def _transpose_tile(w: Writer, source: IR, target: IR, tile: int, itemsize: int) -> None:
    """Rows along the source's contiguous axis become columns: interleaving the halves of a list of rows, as often as it can be halved."""
    kind, b = word(itemsize), w.b
    rows = [w.load(w.at(source, b.mul(w.inner_source, number(k))), kind, tile) for k in range(tile)]
    low = [lane for k in range(tile // 2) for lane in (k, tile + k)]
    high = [lane + tile // 2 for lane in low]
    for _ in range(tile.bit_length() - 1):
        rows = [w.shuffle(rows[k], rows[k + tile // 2], lanes) for k in range(tile // 2) for lanes in (low, high)]
    for k, row in enumerate(rows):
        w.store(row, w.at(target, b.mul(w.middle_target, number(k))), kind)


def accumulate_module(kind: ir.Type, plain: bool) -> str:
    """Elements added to others: operands source and target; numbers: where both begin, extent, source and target stride of the inner axis, then how
    many outer axes there are, and the same of each. ``plain``: along the inner axis they follow each other in both."""
    w = Writer(["source", "target"], ["source_start", "target_start", "inner", "inner_source", "inner_target", "rank"])
    b = w.b
    add = b.add if isinstance(kind, ir.IntType) else b.fadd
    with w.walk(w.rank, w.after, 2) as (from_source, from_target):
        source, target = w.at(w.source, b.add(w.source_start, from_source)), w.at(w.target, b.add(w.target_start, from_target))

        def join(index: IR, lanes: int) -> None:
            place = w.item(target, index, kind) if plain else w.at(target, b.mul(index, w.inner_target))
            value = w.load(w.item(source, index, kind) if plain else w.at(source, b.mul(index, w.inner_source)), kind, lanes)
            w.store(add(w.load(place, kind, lanes), value), place, kind)

        if plain:
            w.strips(w.inner, join)
        else:
            with w.range(w.inner) as index:
                join(index, 1)
    return w.finish()
