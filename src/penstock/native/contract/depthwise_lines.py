"""Depthwise convolutions, forward: some pixels of a line at a time, whose sums stay in registers. As LLVM IR.

    result[y, x, c] = min(max(added + sum over taps of source[y', x', c] * filter[i, j, c], lower_bound), upper_bound)

The taps of a line of pixels that exist are ranges, so nothing has to be looked up: ``added`` is a vector with an element per channel, or an array of
the result's shape. Pixels whose window lies inside of the image are worked on four at a time, for which a vector of the filter is read once; and so
is a pixel of the source, if the kernel was written for the width and stride of the windows (``Window``), as it is for the usual ones. Then pixels at
the ends of a line go by fours, too: what is not there is zeros. Small images have no line without such ends. Channels are taken by lines of the
cache: with many of them, all pixels compete for the same few places there. Source coordinates are pixel * scale + offset + tap * step; gradients with
strides, where they would have to be divided, are left to the kernel in ``depthwise``.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from llvmlite import ir

from penstock.native.calls import Code
from penstock.native.contract.tile import LINE, Tile, TileModule, tile_for
from penstock.native.vector.pieces import advance, loop, maximum, minimum, number
from penstock.native.vector.vectors import I64, IR, broadcast, zeros

OPERANDS = ("source", "filter", "added", "target")
AXIS = ("count", "extent", "taps", "scale", "offset", "step")
WORDS = ("start", "stop", "channels", "source_image", "source_line", "source_pixel", *(f"{axis}_{name}" for axis in "yx" for name in AXIS),
         "has_added", "added_pixel", "lower_bound", "upper_bound")
_PIXELS = 4


class Window(NamedTuple):
    """Windows along a line that a kernel is written for: so many taps side by side, so far from each other."""

    taps: int
    scale: int


WINDOWS = {Window(taps, scale) for taps in (3, 5) for scale in (1, 2)}


@dataclass
class _Taps:
    """The taps of a line of some pixels' windows: a range that all of them have, or the pixels of the source: how far each is from the first one,
    and whether it is there."""

    columns: tuple[IR, IR]
    sources: list[tuple[IR, IR]] = field(default_factory=list)


class _Lines:
    """The module of the kernel, for all windows or for some. ``start`` and ``stop`` count lines of the target, over all images."""

    def __init__(self, tile: Tile, window: Window | None) -> None:
        self.m, self.tile, self.window = TileModule(tile), tile, window
        self.wide = max(LINE // (tile.lanes * tile.size), 1)  # vectors of a line of the cache
        kernel = self.m.kernel()
        b = self.b = kernel.b
        self.source, self.filter, self.added, self.target = kernel.operands(OPERANDS).values()
        w = self.w = kernel.numbers(WORDS)
        self.bounds = [self.m.splat(b, self.m.number(b, w[name])) for name in ("lower_bound", "upper_bound")]
        self.row = b.mul(w["channels"], number(tile.size))  # bytes of the channels of a pixel of the target, or of a tap
        self.pitch = b.mul(w["x_scale"], w["source_pixel"])  # from a pixel's window to the next one's
        inside = self._inside()
        with loop(b, w["start"], w["stop"]) as line:
            self._line(line, *inside)
        b.ret_void()

    def _inside(self) -> tuple[IR, IR]:
        """The pixels of a line whose taps all exist; if there is no ``window``, a multiple of so many."""
        b, w = self.b, self.w
        far = b.mul(b.sub(w["x_taps"], number(1)), w["x_step"])
        low, high = b.add(w["x_offset"], minimum(b, far, number(0))), b.add(w["x_offset"], maximum(b, far, number(0)))
        first = minimum(b, _divide_up(b, maximum(b, b.neg(low), number(0)), w["x_scale"]), w["x_count"])
        last = minimum(b, _divide_up(b, maximum(b, b.sub(w["x_extent"], high), number(0)), w["x_scale"]), w["x_count"])
        if self.window is not None:
            return first, last
        whole = b.and_(maximum(b, b.sub(last, first), number(0)), number(-_PIXELS))
        return first, b.add(first, whole)

    def _line(self, line: IR, first: IR, last: IR) -> None:
        b, w = self.b, self.w
        n, y = b.udiv(line, w["y_count"]), b.urem(line, w["y_count"])
        self.rows = self._range("y", y)
        self.lines = advance(b, self.source, b.add(b.mul(n, w["source_image"]), b.mul(self._coordinate("y", y), w["source_line"])))
        self.first_pixel = b.mul(line, w["x_count"])
        every = _Taps((number(0), w["x_taps"]))
        if self.window is None:
            for start, stop in ((number(0), first), (last, w["x_count"])):
                with loop(b, start, stop) as x:
                    self._pixels(x, 1, _Taps(self._range("x", x)))
            with loop(b, first, last, _PIXELS) as x:
                self._pixels(x, _PIXELS, every)
            return
        with b.if_else(b.icmp_signed("<", w["x_count"], number(_PIXELS))) as (few, many):
            with few, loop(b, number(0), w["x_count"]) as x:
                self._pixels(x, 1, _Taps(self._range("x", x)))
            with many, loop(b, number(0), w["x_count"], _PIXELS) as start:
                x = minimum(b, start, b.sub(w["x_count"], number(_PIXELS)))  # the last four may have been worked on in part
                inside = b.and_(b.icmp_signed(">=", x, first), b.icmp_signed("<=", b.add(x, number(_PIXELS)), last))
                with b.if_else(inside) as (whole, cut):
                    with whole:
                        self._pixels(x, _PIXELS, every)
                    with cut:
                        self._pixels(x, _PIXELS, _Taps(every.columns, self._sources(x, self.window)))

    def _sources(self, x: IR, window: Window) -> list[tuple[IR, IR]]:
        """The pixels that the windows of some pixels have together; of those that are not there, one that is there is read instead."""
        b, w = self.b, self.w
        at, made = self._coordinate("x", x), []
        for q in range((_PIXELS - 1) * window.scale + window.taps):
            place = b.add(at, number(q))
            there = b.icmp_unsigned("<", place, w["x_extent"])
            near = maximum(b, minimum(b, place, b.sub(w["x_extent"], number(1))), number(0))
            made.append((b.mul(b.sub(near, at), w["source_pixel"]), broadcast(b, there, self.tile.lanes)))
        return made

    def _coordinate(self, axis: str, pixel: IR) -> IR:
        """Of a pixel's first tap in the source; it may be outside."""
        b, w = self.b, self.w
        return b.add(b.mul(pixel, w[axis + "_scale"]), w[axis + "_offset"])

    def _range(self, axis: str, pixel: IR) -> tuple[IR, IR]:
        """The taps of a pixel that exist: 0 <= at + tap * step < extent."""
        b, w = self.b, self.w
        at, step, extent = self._coordinate(axis, pixel), w[axis + "_step"], w[axis + "_extent"]
        forward = b.icmp_signed(">", step, number(0))
        size = b.select(forward, step, b.neg(step))
        before = b.select(forward, b.neg(at), b.sub(at, b.sub(extent, number(1))))  # how far the first tap is outside, if that is not negative
        room = b.select(forward, b.sub(extent, at), b.add(at, number(1)))  # how far it is to the end
        first = _divide_up(b, maximum(b, before, number(0)), size)
        return first, minimum(b, _divide_up(b, maximum(b, room, number(0)), size), w[axis + "_taps"])

    def _pixels(self, x: IR, count: int, line_taps: _Taps) -> None:
        """Some pixels, all with these taps: channel after channel."""
        b, w = self.b, self.w
        origin = advance(b, self.lines, b.mul(self._coordinate("x", x), w["source_pixel"]))
        index = b.add(self.first_pixel, x)
        places = origin, advance(b, self.target, b.mul(index, self.row)), advance(b, self.added, b.mul(index, w["added_pixel"]))
        step = self.wide * self.tile.lanes
        whole = b.and_(w["channels"], number(-step)) if count > 1 else number(0)
        if count > 1:
            with loop(b, number(0), whole, step) as channel:
                self._channels(places, b.mul(channel, number(self.tile.size)), count, line_taps, self.wide, None)
        for channel, mask in self.m.strips(b, b.sub(w["channels"], whole)):
            self._channels(places, b.mul(b.add(whole, channel), number(self.tile.size)), count, line_taps, 1, mask)

    def _channels(self, places: tuple[IR, IR, IR], at: IR, count: int, line_taps: _Taps, vectors: int, mask: IR | None) -> None:
        """Some vectors of channels of some pixels."""
        b, w = self.b, self.w
        origin, target, added = places
        sums = [[self._sum() for _ in range(vectors)] for _ in range(count)]
        with loop(b, *self.rows) as i:
            line = advance(b, origin, b.add(b.mul(b.mul(i, w["y_step"]), w["source_line"]), at))
            taps = advance(b, self.filter, b.add(b.mul(b.mul(i, w["x_taps"]), self.row), at))
            if self.window is not None and count > 1:
                self._window(sums, line, taps, mask, self.window, line_taps.sources)
            else:
                with loop(b, *line_taps.columns) as j:
                    factors = self._vectors(advance(b, taps, b.mul(j, self.row)), vectors, mask)
                    place = advance(b, line, b.mul(b.mul(j, w["x_step"]), w["source_pixel"]))
                    for p in range(count):
                        self._add(sums[p], self._vectors(advance(b, place, b.mul(number(p), self.pitch)), vectors, mask), factors)
        for p in range(count):
            for v in range(vectors):
                offset = b.add(at, number(v * self.tile.lanes * self.tile.size))
                more = self._load_added(advance(b, added, b.add(b.mul(number(p), w["added_pixel"]), offset)), mask)
                value = self.m.between(b, b.fadd(b.load(sums[p][v], typ=self.tile.vector), more), *self.bounds)
                self.m.masked_store(b, value, advance(b, target, b.add(b.mul(number(p), self.row), offset)), mask)

    def _window(self, sums: list[list[IR]], line: IR, taps: IR, mask: IR | None, window: Window, sources: list[tuple[IR, IR]]) -> None:
        """A line of the windows: each pixel of it is read once, for all windows that it is in. ``sources``: of pixels that may be missing."""
        b, nothing = self.b, zeros(self.tile.vector)
        factors = [self._vectors(advance(b, taps, b.mul(number(j), self.row)), len(sums[0]), mask) for j in range(window.taps)]
        for q in range((len(sums) - 1) * window.scale + window.taps):
            at = sources[q][0] if sources else b.mul(number(q), self.w["source_pixel"])
            values = self._vectors(advance(b, line, at), len(sums[0]), mask)
            if sources:
                values = [b.select(sources[q][1], value, nothing) for value in values]
            for p, places in enumerate(sums):
                if 0 <= q - p * window.scale < window.taps:
                    self._add(places, values, factors[q - p * window.scale])

    def _vectors(self, place: IR, count: int, mask: IR | None) -> list[IR]:
        return [self.m.masked_load(self.b, advance(self.b, place, number(v * self.tile.lanes * self.tile.size)), mask) for v in range(count)]

    def _add(self, sums: list[IR], values: list[IR], factors: list[IR]) -> None:
        """Adds the products of vectors."""
        b = self.b
        for total, value, factor in zip(sums, values, factors):
            b.store(self.m.fma(b, value, factor, b.load(total, typ=self.tile.vector)), total)

    def _sum(self) -> IR:
        """A place for a vector, with 0 in it; LLVM keeps it in a register."""
        with self.b.goto_entry_block():
            place = self.b.alloca(self.tile.vector)
        self.b.store(zeros(self.tile.vector), place)
        return place

    def _load_added(self, place: IR, mask: IR | None) -> IR:
        b, before = self.b, self.b.block
        with b.if_then(b.icmp_signed("!=", self.w["has_added"], number(0))):
            given, inside = self.m.masked_load(b, place, mask), b.block
        result = b.phi(self.tile.vector)
        result.add_incoming(zeros(self.tile.vector), before)
        result.add_incoming(given, inside)
        return result


def _divide_up(b: ir.IRBuilder, value: IR, by: IR) -> IR:
    """The quotient of two numbers that are not negative, rounded up."""
    return b.udiv(b.add(value, b.sub(by, ir.Constant(I64, 1))), by)


def code(size: int, taps: int, scale: int, step: int) -> Code:
    """The kernel for elements of this size, and windows along a line of so many taps, whose steps are ``scale`` and ``step``."""
    tile, window = tile_for(size), Window(taps, scale)
    chosen = window if window in WINDOWS and step == 1 else None
    return Code.of(f"depthwise lines {tile} {chosen}", lambda: str(_Lines(tile, chosen).m.module))
