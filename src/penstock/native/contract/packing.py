"""Copies pieces of matrices, and windows of images as rows of a matrix, into the small buffers that the inner loop of contractions reads. LLVM IR.

A copy may write up to one vector beyond its end: buffers have room for that, and pieces of a row are written from left to right. Nothing is
read beyond an array.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from llvmlite import ir

from penstock.native.contract.tile import DEPTH, LINE, PAIR, STRIDE, TileModule
from penstock.native.vector.pieces import advance, loop, maximum, minimum, number
from penstock.native.vector.vectors import I32, I64, IR, POINTER, prefetch, zeros

STAGE = 16  # windows that are gathered at a time, before they are cut into tiles
PANEL_ROWS = DEPTH + 16  # of a panel of B: with room for a whole square
GROUP = 4  # panels of B in a buffer
_AHEAD = 12  # rows of B that are fetched before they are copied: each may be on a page of its own, which no cache foresees
_SHORT = 2  # vectors of a segment that are copied without a loop

# Where the rows of a transposed B lie: see ``Packing.taps``.
TAP_WORDS = ("b_tap", "b_across", "b_right", "b_down")

# Where the windows of a convolution lie. A window is cut into segments that are contiguous in memory: rows of the window, or its single pixels.
PATCH_WORDS = (
    "width", "height",  # of the output: pixel p is at x = p % width, y = p // width % height of image p // width // height
    "image_step", "line_step", "pixel_step",  # of the input, in bytes
    "in_height", "in_width", "depth",  # of the input
    "stride_y", "stride_x", "pad_y", "pad_x",
    "dilation_y", "dilation_x",  # from a segment to the one below it, and to the one right of it, in pixels
    "across",  # segments in a row of the window
    "length",  # elements of a segment
)


class Packing:
    """The functions that fill buffers; a module has those that its kernel asks for."""

    def __init__(self, module: TileModule) -> None:
        self.m, self.tile = module, module.tile
        self.size = self.tile.size
        self.stage_bytes = STRIDE * self.size  # from row to row of windows that are cut into tiles
        self.panel_bytes = PANEL_ROWS * self.tile.columns * self.size

    def row_bytes(self, b: ir.IRBuilder, elements: IR) -> IR:
        """From row to row of a buffer for rows of so many elements: room for a vector beyond them, and an odd number of the cache's lines, or all
        rows would compete for the same few places."""
        lines = b.udiv(b.add(b.mul(elements, number(self.size)), number(2 * LINE - 1)), number(LINE))
        return b.mul(b.or_(lines, number(1)), number(LINE))

    def _vector_bytes(self) -> int:
        return self.tile.lanes * self.size

    @cached_property
    def copy(self) -> ir.Function:
        """copy(to, from, count): contiguous elements."""
        function, b = self.m.function("copy", [POINTER, POINTER, I64], inline=True)
        to, source, count = function.args
        whole = b.and_(count, number(-self.tile.lanes))
        with loop(b, number(0), whole, self.tile.lanes) as index:
            at = b.mul(index, number(self.size))
            self.m.store(b, self.m.load(b, advance(b, source, at)), advance(b, to, at))
        with b.if_then(b.icmp_signed("<", whole, count)):
            at = b.mul(whole, number(self.size))
            rest = self.m.masked_load(b, advance(b, source, at), self.m.first_lanes(b, b.sub(count, whole)))
            self.m.store(b, rest, advance(b, to, at))
        b.ret_void()
        return function

    @cached_property
    def fill(self) -> ir.Function:
        """fill(to, count): zeros."""
        function, b = self.m.function("fill", [POINTER, I64])
        to, count = function.args
        with loop(b, number(0), count, self.tile.lanes) as index:
            self.m.store(b, zeros(self.tile.vector), advance(b, to, b.mul(index, number(self.size))))
        b.ret_void()
        return function

    @cached_property
    def matrix(self) -> ir.Function:
        """matrix(buffer, row bytes, from, step, rows, count): rows of a matrix."""
        function, b = self.m.function("matrix", [POINTER, I64, POINTER, *[I64] * 3])
        buffer, row_bytes, source, step, rows, count = function.args
        with loop(b, number(0), rows) as row:
            b.call(self.copy, [advance(b, buffer, b.mul(row, row_bytes)), advance(b, source, b.mul(row, step)), count])
        b.ret_void()
        return function

    @cached_property
    def patches(self) -> ir.Function:
        """patches(buffer, row bytes, image, words, row start, row stop, column start, column stop): part of a matrix with a row for each window."""
        function, b = self.m.function("patches", [POINTER, I64, POINTER, POINTER, *[I64] * 4])
        buffer, row_bytes, image, words, row_start, row_stop, start, stop = function.args
        w = {name: b.load(b.gep(words, [number(k)], source_etype=I64), typ=I64) for k, name in enumerate(PATCH_WORDS)}
        area = b.mul(w["width"], w["height"])
        first_image, in_image = b.udiv(row_start, area), b.urem(row_start, area)
        first_y, first_x = b.udiv(in_image, w["width"]), b.urem(in_image, w["width"])
        segment = self._piece()
        with loop(b, b.udiv(start, w["length"]), b.udiv(b.add(stop, b.sub(w["length"], number(1))), w["length"])) as index:
            origin = b.mul(index, w["length"])  # the segment's first column
            e0, e1 = maximum(b, b.sub(start, origin), number(0)), minimum(b, b.sub(stop, origin), w["length"])
            down, right = b.udiv(index, w["across"]), b.urem(index, w["across"])
            dy = b.sub(b.mul(down, w["dilation_y"]), w["pad_y"])
            dx = b.sub(b.mul(right, w["dilation_x"]), w["pad_x"])
            to = advance(b, buffer, b.mul(b.sub(origin, start), number(self.size)))
            self._rows(b, w, segment, (image, to, row_bytes), (row_start, row_stop, first_image, first_y, first_x), (e0, e1, dy, dx))
        b.ret_void()
        return function

    def _rows(self, b: ir.IRBuilder, w: dict[str, IR], piece: ir.Function, places: tuple[IR, IR, IR], rows: tuple[IR, ...],
              segment: tuple[IR, ...]) -> None:
        """One segment of all rows, i.e. windows; x, y and image count up."""
        image, to, row_bytes = places
        row_start, row_stop, first_image, first_y, first_x = rows
        e0, e1, dy, dx = segment
        starts = [b.add(e0, number(v * self.tile.lanes)) for v in range(_SHORT + 1)]
        vectors = [(b.mul(start, number(self.size)), self.m.first_lanes(b, b.sub(e1, start)), b.icmp_signed("<", start, e1)) for start in starts[:-1]]
        is_short = b.icmp_signed("<=", e1, starts[-1])
        line_below = b.mul(w["stride_y"], w["line_step"])
        before = b.block
        head, body, done = (b.append_basic_block(name) for name in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        state = [b.phi(kind) for kind in (I64, I64, I64, I64, POINTER)]
        row, x, y, n, target = state
        b.cbranch(b.icmp_signed("<", row, row_stop), body, done)
        b.position_at_end(body)
        iy, ix = b.add(b.mul(y, w["stride_y"]), dy), b.add(b.mul(x, w["stride_x"]), dx)
        source = advance(b, image, b.add(b.mul(n, w["image_step"]), b.add(b.mul(iy, w["line_step"]), b.mul(ix, w["pixel_step"]))))
        inside, limit = b.icmp_unsigned("<", iy, w["in_height"]), b.mul(b.sub(w["in_width"], ix), w["depth"])
        whole = b.and_(b.and_(inside, b.icmp_signed(">=", ix, number(0))), b.icmp_signed(">=", limit, e1))
        with b.if_else(b.and_(whole, is_short)) as (quick, any_piece):
            with quick:  # no padding, and the masks are known: most windows of an image with few channels
                prefetch(b, advance(b, source, line_below))  # what the next line of windows begins with, which no cache foresees
                for at, mask, is_there in vectors:
                    with b.if_then(is_there):
                        self.m.store(b, self.m.masked_load(b, advance(b, source, at), mask), advance(b, target, at))
            with any_piece:
                low = minimum(b, maximum(b, e0, b.mul(b.neg(ix), w["depth"])), e1)
                high = maximum(b, minimum(b, e1, limit), low)
                b.call(piece, [target, source, e0, e1, b.select(inside, low, e1), b.select(inside, high, e1)])
        next_x = b.add(x, number(1))
        wrapped = b.icmp_signed("==", next_x, w["width"])
        next_y = b.add(y, b.zext(wrapped, I64))
        over = b.icmp_signed("==", next_y, w["height"])
        following = [b.add(row, number(1)), b.select(wrapped, number(0), next_x), b.select(over, number(0), next_y), b.add(n, b.zext(over, I64)),
                     advance(b, target, row_bytes)]
        for phi, first, again in zip(state, [row_start, first_x, first_y, first_image, to], following):
            phi.add_incoming(first, before)
            phi.add_incoming(again, b.block)
        b.branch(head)
        b.position_at_end(done)

    def _piece(self) -> ir.Function:
        """piece(to, from, start, stop, low, high): elements of a segment; those before ``low`` and from ``high`` on are padding."""
        function, b = self.m.function("piece", [POINTER, POINTER, I64, I64, I64, I64], inline=True)
        to, source, start, stop, low, high = function.args

        def at(pointer: IR, index: IR) -> IR:
            return advance(b, pointer, b.mul(index, number(self.size)))

        with b.if_then(b.icmp_signed("<", start, low)):
            b.call(self.fill, [at(to, start), b.sub(low, start)])
        b.call(self.copy, [at(to, low), at(source, low), b.sub(high, low)])
        with b.if_then(b.icmp_signed("<", high, stop)):
            b.call(self.fill, [at(to, high), b.sub(stop, high)])
        b.ret_void()
        return function

    @cached_property
    def tiles(self) -> ir.Function:
        """tiles(to, from, step, rows, count, pairs, more): cuts rows into pieces; those of one tile stand one below the other.

        Beside them there are elements that are not needed. A piece has ``pairs`` pairs of elements, and the first ``more`` pieces one pair more.
        """
        function, b = self.m.function("tiles", [POINTER, POINTER, *[I64] * 5])
        to, source, step, rows, count, pairs, more = function.args
        high = b.add(pairs, number(1))
        with loop(b, number(0), rows) as row:
            here, target = advance(b, source, b.mul(row, step)), advance(b, to, b.mul(row, number(self.tile.line)))
            before = b.block
            head, body, done = (b.append_basic_block(name) for name in ("head", "body", "done"))
            b.branch(head)
            b.position_at_end(head)
            index, start, place = b.phi(I64), b.phi(I64), b.phi(POINTER)
            b.cbranch(b.icmp_signed("<", start, count), body, done)
            b.position_at_end(body)
            height = b.mul(b.select(b.icmp_signed("<", index, more), high, pairs), number(PAIR))
            left, length = b.sub(count, start), self.tile.line // self.size
            with b.if_else(b.icmp_signed(">=", left, number(length))) as (whole, part):
                with whole:
                    self._piece_of_tile(b, place, advance(b, here, b.mul(start, number(self.size))), [None] * (length // self.tile.lanes))
                with part:
                    masks = [self.m.first_lanes(b, b.sub(left, number(lane))) for lane in range(0, length, self.tile.lanes)]
                    self._piece_of_tile(b, place, advance(b, here, b.mul(start, number(self.size))), masks)
            following = (b.add(index, number(1)), b.add(start, height), advance(b, place, number(DEPTH * self.tile.line)))
            for phi, first, again in zip((index, start, place), (number(0), number(0), target), following):
                phi.add_incoming(first, before)
                phi.add_incoming(again, b.block)
            b.branch(head)
            b.position_at_end(done)
        b.ret_void()
        return function

    def _piece_of_tile(self, b: ir.IRBuilder, to: IR, source: IR, masks: Sequence[IR | None]) -> None:
        for v, mask in enumerate(masks):
            at = number(v * self._vector_bytes())
            self.m.store(b, self.m.masked_load(b, advance(b, source, at), mask), advance(b, to, at))

    @cached_property
    def panels(self) -> ir.Function:
        """panels(buffer, from, step, rows, count, distance): some full panels of B, which shall be so many bytes apart. Row by row: rows of B may be
        far apart, and each has a page of its own."""
        function, b = self.m.function("panels", [POINTER, POINTER, *[I64] * 4])
        buffer, source, step, rows, count, distance = function.args
        row_bytes, ahead = self.tile.columns * self.size, b.mul(step, number(_AHEAD))
        with loop(b, number(0), rows) as row:
            here, to = advance(b, source, b.mul(row, step)), advance(b, buffer, b.mul(row, number(row_bytes)))
            with loop(b, number(0), count) as index:
                for v in range(self.tile.vectors):
                    at = number(v * self._vector_bytes())
                    source_vector = advance(b, advance(b, here, b.mul(index, number(row_bytes))), at)
                    prefetch(b, advance(b, source_vector, ahead))
                    value = self.m.load(b, source_vector)
                    self.m.store(b, value, advance(b, advance(b, to, b.mul(index, distance)), at))
        b.ret_void()
        return function

    @cached_property
    def panel(self) -> ir.Function:
        """panel(buffer, from, step, rows, width, vectors): columns of B, in rows of whole vectors; the rest is zeros."""
        function, b = self.m.function("panel", [POINTER, POINTER, I64, I64, I64, I64])
        buffer, source, step, rows, width, vectors = function.args
        row_bytes = b.mul(vectors, number(self._vector_bytes()))
        with loop(b, number(0), vectors) as v:
            column = b.mul(v, number(self._vector_bytes()))
            mask = self.m.first_lanes(b, b.sub(width, b.mul(v, number(self.tile.lanes))))
            with loop(b, number(0), rows) as row:
                value = self.m.masked_load(b, advance(b, source, b.add(b.mul(row, step), column)), mask)
                self.m.store(b, value, advance(b, buffer, b.add(b.mul(row, row_bytes), column)))
        b.ret_void()
        return function

    @cached_property
    def transposed_panel(self) -> ir.Function:
        """transposed_panel(buffer, from, step, rows, width, vectors): the same, from the transpose of B: ``step`` leads from column to column.

        Squares of lanes x lanes are transposed in registers. Columns beyond the width repeat the last one: they are computed, and never stored.
        """
        function, b = self.m.function("transposed_panel", [POINTER, POINTER, I64, I64, I64, I64])
        buffer, source, step, rows, width, vectors = function.args
        lanes, row_bytes = self.tile.lanes, b.mul(vectors, number(self._vector_bytes()))
        last = b.sub(width, number(1))
        with loop(b, number(0), vectors) as v:
            columns = [advance(b, source, b.mul(step, minimum(b, b.add(b.mul(v, number(lanes)), number(lane)), last))) for lane in range(lanes)]
            target = advance(b, buffer, b.mul(v, number(self._vector_bytes())))
            with loop(b, number(0), rows, lanes) as row:
                mask = self.m.first_lanes(b, b.sub(rows, row))
                at = b.mul(row, number(self.size))
                square = [self.m.masked_load(b, advance(b, column, at), mask) for column in columns]
                for lane, value in enumerate(transpose(b, square)):
                    self.m.store(b, value, advance(b, target, b.mul(b.add(row, number(lane)), row_bytes)))
        b.ret_void()
        return function


    @cached_property
    def taps(self) -> ir.Function:
        """taps(buffer, B, step, from, to, width, vectors, tap, across, right, down): ``transposed_panel`` of some rows of B, which lie tap by tap.

        ``tap`` rows lie side by side, the next ones ``right`` bytes away, and after ``across`` such taps ``down`` bytes from where those began."""
        function, b = self.m.function("taps", [POINTER, POINTER, *[I64] * 9])
        buffer, source, step, first, last, width, vectors, tap, across, right, down = function.args
        row_bytes = b.mul(vectors, number(self._vector_bytes()))
        with loop(b, b.udiv(first, tap), b.udiv(b.add(last, b.sub(tap, number(1))), tap)) as index:
            origin = b.mul(index, tap)
            start, stop = maximum(b, first, origin), minimum(b, last, b.add(origin, tap))
            at = b.add(b.mul(b.urem(index, across), right), b.mul(b.udiv(index, across), down))
            here = advance(b, source, b.add(at, b.mul(b.sub(start, origin), number(self.size))))
            b.call(self.transposed_panel, [advance(b, buffer, b.mul(b.sub(start, first), row_bytes)), here, step, b.sub(stop, start), width, vectors])
        b.ret_void()
        return function


def transpose(b: ir.IRBuilder, square: list[IR]) -> list[IR]:
    """As many vectors as they have lanes, transposed: pairs of vectors exchange blocks of 1, 2, 4, ... lanes."""
    lanes = len(square)
    distance = 1
    while distance < lanes:
        result: list[IR] = [None] * lanes
        for i in range(lanes):
            if not i & distance:
                j = i + distance
                low = [lane if not lane & distance else lanes + lane - distance for lane in range(lanes)]
                high = [lane + distance if not lane & distance else lanes + lane for lane in range(lanes)]
                for place, order in ((i, low), (j, high)):
                    result[place] = b.shuffle_vector(square[i], square[j], ir.Constant(ir.VectorType(I32, lanes), order))
        square, distance = result, distance * 2
    return square
