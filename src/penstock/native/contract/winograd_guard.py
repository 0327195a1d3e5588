"""What keeps Winograd's convolution right beside outliers: squares that it would spoil are found, and computed as sums of products.

The transforms mix all pixels of a square, so a large one leaves its rounding in results whose windows do not see it, and an infinity or a NaN spoils
all of them. A square is *unsafe* if its energy (the sum of its elements' squares) is more than SPREAD times that of one of its windows, or beyond
LARGEST. To look at each of its windows would be slow. Every window of 3x3 pixels holds one of four blocks of 2x2, so these stand for them. Windows of
5x5 hold all four, which tell there whether the square is about even: a result sees an outlier by one tap, but gets the rounding of all.
All results of a square see all taps, but for those that lie in the padding; so a filter is looked at as a whole, with a wider limit. Where an image
is padded to keep its size, a result in its corner sees one quadrant of the taps: a filter is spread, too, if one of these is far below the whole.
"""
from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

from llvmlite import ir

from penstock.native.calls import Code
from penstock.native.contract.winograd_matrices import SIDE
from penstock.native.vector.kernel import Kernel
from penstock.native.vector.pieces import advance, loop, number
from penstock.native.vector.vectors import I8, I32, I64, IR, allocate, declare, suffix

if TYPE_CHECKING:
    from penstock.native.contract.winograd_kernel import Transform

SPREAD = 64.0 ** 2  # of a square to one of its blocks: rounding in the window of that block is up to 64 times what it could be
TAP_SPREAD = 1024.0 ** 2  # of a filter to one of its taps
QUADRANT_SPREAD = 64.0 ** 2  # of a filter to a quadrant of its taps, the middle among them
LARGEST, LARGEST_FACTOR = 2.0 ** 112, 2.0 ** 80  # elements of 2^56 and 2^40: sums over thousands of channels then stay below 2^127
_BLOCKS = 4
_REST = 2  # sums for the pixels in no block, which are many: one addition would wait for the other


class Energies:
    """Sums of squares of what was seen, in some groups. What is not finite makes a sum that is above every limit, or not a number."""

    def __init__(self, t: Transform, groups: int) -> None:
        self.t, self.kind, self.groups = t, t.tile.vector, groups
        self.places = allocate(t.b, self.kind, groups)
        self._new: dict[int, IR] = {}

    def _place(self, group: int) -> IR:
        return self.t.b.gep(self.places, [number(group)], source_etype=self.kind)

    def reset(self) -> None:
        """Nothing was seen."""
        for group in range(self.groups):
            self.t.b.store(ir.Constant(self.kind, None), self._place(group))

    def see(self, value: IR, group: int) -> None:
        """A vector. Its square is added to those that have been seen since ``keep``, in a register."""
        b, sum_ = self.t.b, self._new.get(group)
        self._new[group] = b.fmul(value, value) if sum_ is None else self.t.m.fma(b, value, value, sum_)

    def keep(self) -> None:
        """At the end of a strip of channels: what was seen goes to memory."""
        b = self.t.b
        for group, sum_ in self._new.items():
            b.store(b.fadd(sum_, b.load(self._place(group), typ=self.kind)), self._place(group))
        self._new = {}

    def total(self, group: int) -> IR:
        """Of a group, over all lanes."""
        b, real = self.t.b, self.t.tile.scalar
        function = declare(b.module, f"llvm.vector.reduce.fadd.{suffix(self.kind)}", real, [real, self.kind])
        return b.call(function, [ir.Constant(real, 0.0), b.load(self._place(group), typ=self.kind)], fastmath=("reassoc",))


class SquareGuard:
    """Of a transform from pixels: finds out which squares are unsafe, and notes it in the array ``unsafe``, a byte for each.

    Of the input every square is looked at. A gradient (``gradient``) keeps what was noted of the input. It is often 0 at many places, which does no
    harm; only beside the padding, where some taps do not see all of its elements, is their spread looked at.
    """

    def __init__(self, t: Transform, gradient: bool) -> None:
        self.t, self.gradient = t, gradient
        self.first, self.side = (0, t.scheme.step // 2) if gradient else (1, 2)
        self.seen = Energies(t, _BLOCKS + _REST)

    def reset(self) -> None:
        """At the beginning of a square."""
        self.seen.reset()

    def see(self, j: int, values: list[IR]) -> None:
        """A column of the pixels of a square."""
        for i, value in enumerate(values):
            self.seen.see(value, self._block(i, j))

    def _block(self, i: int, j: int) -> int:
        """One of those that stand for windows, or the rest."""
        down, across = (i - self.first) // self.side, (j - self.first) // self.side
        return down * 2 + across if down in (0, 1) and across in (0, 1) else _BLOCKS + (i + j) % _REST

    def is_unsafe(self, square: IR) -> IR:
        """At the end of a square."""
        b, real = self.t.b, self.t.tile.scalar
        place, blocks = advance(b, self.t.base["unsafe"], square), [self.seen.total(group) for group in range(_BLOCKS + _REST)]
        whole = functools.reduce(b.fadd, blocks)
        unsafe = self._is_spread(whole, blocks[:_BLOCKS])
        if self.gradient:
            unsafe = b.or_(b.and_(unsafe, self._is_at_border()), b.icmp_unsigned("!=", b.load(place, typ=I8), ir.Constant(I8, 0)))
        unsafe = b.or_(unsafe, b.fcmp_unordered(">", whole, ir.Constant(real, LARGEST_FACTOR if self.gradient else LARGEST)))
        b.store(b.zext(unsafe, I8), place)
        return unsafe

    def _is_spread(self, whole: IR, blocks: list[IR]) -> IR:
        b, t = self.t.b, self.t
        down, across = self._counts(t.y, "rows", "origin_y", "height"), self._counts(t.x, "columns", "origin_x", "width")
        least: IR = ir.Constant(t.tile.scalar, float("inf"))
        for block, energy in enumerate(blocks):
            counts = b.and_(down[block // 2], across[block % 2])
            least = b.select(b.and_(counts, b.fcmp_ordered("<", energy, least)), energy, least)
        return _is_far_above(t, whole, least, SPREAD)

    def _counts(self, at: IR, results: str, origin: str, extent: str) -> list[IR]:
        """Per block along an axis: does it stand for a result that there is? Or, if windows hold all blocks, does it hold a pixel that there is?"""
        b, w, taps = self.t.b, self.t.w, self.t.scheme.taps
        if self.gradient or taps <= SIDE - 2:
            return [b.icmp_signed("<", b.add(at, number(block * self.t.scheme.step // 2)), w[results]) for block in (0, 1)]
        firsts = [b.add(b.sub(at, w[origin]), number(self.first + block * self.side)) for block in (0, 1)]
        return [b.and_(b.icmp_signed("<", first, w[extent]), b.icmp_signed(">", first, number(-self.side))) for first in firsts]

    def _is_at_border(self) -> IR:
        """May windows of the square lie partly in the padding?"""
        b, w = self.t.b, self.t.w
        near = number(self.t.scheme.taps - 1)
        borders = [b.or_(b.icmp_signed("<", at, near), b.icmp_signed(">", b.add(at, number(SIDE)), w[extent]))
                   for at, extent in ((self.t.y, "rows"), (self.t.x, "columns"))]
        return b.or_(*borders)


def _is_far_above(t: Transform, high: IR, low: IR, times: float) -> IR:
    """Is one energy more than so many times the other, or not a number?"""
    return t.b.fcmp_unordered(">", high, t.b.fmul(low, ir.Constant(t.tile.scalar, times)))


class FilterGuard:
    """Of the transform of a filter: the energy of each tap that each part has seen, in the array ``energies``."""

    def __init__(self, t: Transform) -> None:
        self.t, self.taps, self.seen = t, t.scheme.taps, Energies(t, t.scheme.taps ** 2)
        self.seen.reset()

    def see(self, j: int, values: list[IR]) -> None:
        """A column of taps."""
        for i, value in enumerate(values):
            self.seen.see(value, i * self.taps + j)

    def store(self, target: IR) -> None:
        """At the end of a part."""
        b = self.t.b
        first = b.mul(self.t.w["part"], number(self.taps ** 2))
        for tap in range(self.taps ** 2):
            b.store(self.seen.total(tap), b.gep(target, [b.add(first, number(tap))], source_etype=self.t.tile.scalar))


def is_spoilt(t: Transform) -> IR:
    """Is the filter one that no square is safe with? It has a huge element, or taps that are far smaller than the others, but not all zeros."""
    b, real, taps = t.b, t.tile.scalar, t.scheme.taps
    whole, least = allocate(b, real, 1), allocate(b, real, 1)
    energies = allocate(b, real, taps ** 2)
    b.store(ir.Constant(real, 0.0), whole)
    b.store(ir.Constant(real, float("inf")), least)
    with loop(b, number(0), number(taps ** 2)) as tap:
        energy = b.gep(energies, [tap], source_etype=real)
        b.store(ir.Constant(real, 0.0), energy)
        with loop(b, number(0), t.w["parts"]) as part:
            value = b.load(b.gep(t.base["energies"], [b.add(b.mul(part, number(taps ** 2)), tap)], source_etype=real), typ=real)
            b.store(b.fadd(value, b.load(energy, typ=real)), energy)
        value = b.load(energy, typ=real)
        b.store(b.fadd(value, b.load(whole, typ=real)), whole)
        b.store(_smaller_but_not_0(t, value, b.load(least, typ=real)), least)
    high = b.load(whole, typ=real)
    spread = b.or_(_is_far_above(t, high, b.load(least, typ=real), TAP_SPREAD), _is_far_above(t, high, _least_quadrant(t, energies), QUADRANT_SPREAD))
    return b.or_(b.fcmp_unordered(">", high, ir.Constant(real, LARGEST_FACTOR)), spread)


def _least_quadrant(t: Transform, energies: IR) -> IR:
    """The least energy of the four quadrants of a filter, the middle row and column being in two of them; of those that are not all zeros."""
    b, real, taps = t.b, t.tile.scalar, t.scheme.taps
    half = taps // 2
    least: IR = ir.Constant(real, float("inf"))
    for top, left in itertools.product((0, half), (0, half)):
        places = [(top + i) * taps + left + j for i in range(half + 1) for j in range(half + 1)]
        energy = functools.reduce(b.fadd, [b.load(b.gep(energies, [number(place)], source_etype=real), typ=real) for place in places])
        least = _smaller_but_not_0(t, energy, least)
    return least


def _smaller_but_not_0(t: Transform, value: IR, other: IR) -> IR:
    """The value, if it is below the other and is not 0; else the other."""
    b = t.b
    smaller = b.and_(b.fcmp_ordered("<", value, other), b.fcmp_ordered("!=", value, ir.Constant(t.tile.scalar, 0.0)))
    return b.select(smaller, value, other)


class Direct:
    """The results of an unsafe square as sums of products: two rows of them at a time, in registers."""

    ROWS = 2

    def __init__(self, t: Transform) -> None:
        self.t, self.taps, self.step = t, t.scheme.taps, t.scheme.step
        self.sums = allocate(t.b, t.tile.vector, self.ROWS * self.step)

    def _sum(self, row: int, column: int) -> IR:
        return self.t.b.gep(self.sums, [number(row * self.step + column)], source_etype=self.t.tile.vector)

    def square(self) -> None:
        """Where the transform stands."""
        t, b, w = self.t, self.t.b, self.t.w
        t.gather(t.base["x"], "x_", SIDE)
        for channel, mask in t.m.strips(b, w["length"]):
            at = b.mul(channel, number(t.tile.size))
            with loop(b, number(0), number(self.step), self.ROWS) as top:
                for i in range(self.ROWS):
                    for j in range(self.step):
                        b.store(t.constant(0.0), self._sum(i, j))
                with loop(b, number(0), w["depth"]) as depth:
                    self._multiply(top, depth, at, mask)
                for i in range(self.ROWS):
                    for j in range(self.step):
                        t.store_result(b.load(self._sum(i, j), typ=t.tile.vector), b.add(top, number(i)), number(j), at, mask)

    def _multiply(self, top: IR, depth: IR, at: IR, mask: IR | None) -> None:
        """All taps of one channel of the input."""
        t, b, w = self.t, self.t.b, self.t.w
        offset = b.mul(depth, number(t.tile.size))
        taps = {}
        for index in range(self.taps ** 2):
            row = b.add(b.mul(number(index), w["depth"]), depth)
            place = advance(b, t.base["filter"], b.add(b.mul(row, b.mul(w["length"], number(t.tile.size))), at))
            taps[divmod(index, self.taps)] = t.m.masked_load(b, place, mask)
        pixels = [[t.m.splat(b, b.load(advance(b, t.pixel(b.add(b.mul(top, number(SIDE)), number(i * SIDE + j))), offset), typ=t.tile.scalar))
                   for j in range(SIDE)] for i in range(self.ROWS + self.taps - 1)]
        for i in range(self.ROWS):
            for j in range(self.step):
                total = b.load(self._sum(i, j), typ=t.tile.vector)
                for (y, x), tap in taps.items():
                    total = t.m.fma(b, pixels[i + y][j + x], tap, total)
                b.store(total, self._sum(i, j))


class LeftOut:
    """What unsafe squares, which were zeros in the transforms, give to the gradient for the filter. ``list`` has their number, then each of them."""

    def __init__(self, t: Transform) -> None:
        self.t, self.taps, self.step = t, t.scheme.taps, t.scheme.step
        self.sums = allocate(t.b, t.tile.vector, self.taps ** 2)
        self.count = t.b.sext(t.b.load(t.base["list"], typ=I32), I64)

    def _sum(self, tap: int) -> IR:
        return self.t.b.gep(self.sums, [number(tap)], source_etype=self.t.tile.vector)

    def add(self, rows: list[list[IR]], channel: IR, at: IR, mask: IR | None) -> list[list[IR]]:
        """The taps, with that added."""
        t, b = self.t, self.t.b
        for tap in range(self.taps ** 2):
            b.store(rows[tap // self.taps][tap % self.taps], self._sum(tap))
        with loop(b, number(1), b.add(self.count, number(1))) as index:
            square = b.sext(b.load(b.gep(t.base["list"], [index], source_etype=I32), typ=I32), I64)
            t.locate(square)
            t.gather(t.base["x"], "x_", SIDE)
            with loop(b, number(0), number(self.step)) as i, loop(b, number(0), number(self.step)) as j:
                inside, y, x = t.inside(i, j)
                with b.if_then(inside):
                    self._pixel(i, j, y, x, channel, at, mask)
        return [[b.load(self._sum(i * self.taps + j), typ=t.tile.vector) for j in range(self.taps)] for i in range(self.taps)]

    def _pixel(self, i: IR, j: IR, y: IR, x: IR, channel: IR, at: IR, mask: IR | None) -> None:
        """One element of the gradient that arrives, with its window."""
        t, b, w = self.t, self.t.b, self.t.w
        place = advance(b, t.base["dy"], b.add(b.mul(t.n, w["image"]), b.add(b.mul(y, w["line"]), b.mul(x, w["pixel"]))))
        dy = t.m.masked_load(b, advance(b, place, at), mask)
        first = b.add(b.mul(i, number(SIDE)), j)
        for tap in range(self.taps ** 2):
            pixel = t.pixel(b.add(first, number(tap // self.taps * SIDE + tap % self.taps)))
            value = b.load(advance(b, pixel, b.mul(channel, number(t.tile.size))), typ=t.tile.scalar)
            b.store(t.m.fma(b, t.m.splat(b, value), dy, b.load(self._sum(tap), typ=t.tile.vector)), self._sum(tap))


def list_code() -> Code:
    """The kernel that makes a ``list`` of the unsafe squares."""
    return Code.of("winograd list", lambda: str(_list_module()))


def _list_module() -> ir.Module:
    kernel = Kernel()
    b = kernel.b
    unsafe, target = kernel.operands(("unsafe", "list")).values()
    (count,) = kernel.numbers(("count",)).values()

    def look(square: IR) -> None:
        with b.if_then(b.icmp_unsigned("!=", b.load(advance(b, unsafe, square), typ=I8), ir.Constant(I8, 0))):
            more = b.add(b.load(target, typ=I32), ir.Constant(I32, 1))
            b.store(more, target)
            b.store(b.trunc(square, I32), b.gep(target, [more], source_etype=I32))

    b.store(ir.Constant(I32, 0), target)
    whole = b.and_(count, number(-8))
    with loop(b, number(0), whole, 8) as start:  # nearly all squares are safe: eight at a time
        with b.if_then(b.icmp_unsigned("!=", b.load(advance(b, unsafe, start), typ=I64), number(0)), likely=False):
            with loop(b, start, b.add(start, number(8))) as square:
                look(square)
    with loop(b, whole, count) as square:
        look(square)
    b.ret_void()
    return kernel.module
