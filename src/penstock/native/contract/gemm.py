"""One kernel for every contraction: C = added + alpha * A B, where A is a matrix or the windows of a convolution. As LLVM IR.

    for each matrix of a batch, for blocks of rows of C, for blocks of k:
        copy the block of A into a buffer that stays in the second-level cache (or use it where it is, if that is as good)
        for panels of columns of C:
            copy the panel of B into a buffer that stays in the first-level cache (or use it where it is)
            for tiles of the block's rows: the micro-kernel

The operands are A, B, what is added, and C. The words say which part of C to compute, and how everything lies in memory.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from llvmlite import ir

from penstock.native.calls import Code
from penstock.native.contract.microkernel import MicroKernels, are_inside, micro_code
from penstock.native.contract.packing import GROUP, PANEL_ROWS, PATCH_WORDS, STAGE, TAP_WORDS, Packing
from penstock.native.contract.tile import DEPTH, PAIR, STRIDE, Tile, TileModule, tile_for
from penstock.native.destinations import RowDestination
from penstock.native.vector.pieces import advance, loop, maximum, minimum, number
from penstock.native.vector.vectors import I64, IR, POINTER, allocate, zeros

OPERANDS = ("a", "b", "added", "rate", "c")
MATRICES = ("a", "b", "added", "c")
WORDS = (
    "batch", "a_batch", "b_batch", "added_batch", "c_batch",  # how many matrices, and the bytes from one to the next
    "a_at", "b_at", "added_at", "c_at",  # where the first ones begin
    "m_start", "m_stop", "m_block", "n_start", "n_stop", "k_start", "k_stop", "k_block", "terms",  # terms: of a sum in registers
    "a_step", "b_step", "added_step", "c_step",  # from row to row (of a transposed matrix: of what lies in memory)
    "a_transposed", "a_packed", "b_transposed", "b_packed", *TAP_WORDS, "has_patches", "has_added", "has_rate",
    "b_panel",  # if it is not 0, B lies in panels (``panels.py``), so many bytes apart
    "alpha", "lower_bound", "upper_bound",  # numbers of the element type, in the lower bits
    "c_width", "c_height", "c_line", "c_image",  # if c_width is not 0, the rows of C are pixels, of lines, of images
    "micro_kernels",  # the address of their table; 0 if they are in the module
)
_ENDLESS = 1 << 60  # elements of a segment, where there is but one
DESTINATION = RowDestination.among(WORDS, width="n_stop", steps=("c_step", "c_batch", "c_line", "c_image"), start="c_at")


class _Rows(NamedTuple):
    """How rows of A lie: the first one, the bytes from one to the next, the elements of a segment, the bytes from its end to the next one."""

    first: IR
    step: IR
    segment: IR
    jump: IR


class _Block(NamedTuple):
    """Rows of C that are cut into ``tiles``: of ``pairs`` pairs of rows each, the first ``more`` ones of one pair more."""

    start: IR
    count: IR
    tiles: IR
    pairs: IR
    more: IR
    in_place: IR  # is A used where it is?
    rows: _Rows  # if it is, and not transposed


class Gemm:
    """The module of the kernel. A can be transposed in memory, and its rows can be windows of an image. ``whole``: with its micro-kernels."""

    def __init__(self, tile: Tile, whole: bool = True) -> None:
        self.m, self.tile = TileModule(tile), tile
        self.micro = MicroKernels(self.m, whole)
        self.packing = Packing(self.m)
        self.store_tile = self._store_tile()
        self._kernel()
        self.text = f"{self.m.module}\n{self.micro.text}\n"

    def _kernel(self) -> None:
        kernel = self.m.kernel()
        b = self.b = kernel.b
        pointers, self.w, self.patch_words = kernel.operands(OPERANDS), kernel.numbers(WORDS), kernel.rest
        self.columns = b.icmp_signed("!=", self.w["a_transposed"], number(0))
        self.windows = b.icmp_signed("!=", self.w["has_patches"], number(0))
        self.in_panels = b.icmp_signed("!=", self.w["b_panel"], number(0))
        self.alpha, *self.bounds = (self.m.number(b, self.w[name]) for name in ("alpha", "lower_bound", "upper_bound"))
        if not self.tile.integer:
            self.alpha = self.m.times_rate(b, self.alpha, pointers["rate"], self.w["has_rate"])
        tile = self.tile
        tiles = tile.buffer_rows // tile.rows
        self.row_bytes = self.packing.row_bytes(b, self.w["k_block"])
        self.segments = self._segments()
        self.a_buffer = allocate(b, tile.scalar, max(tiles * DEPTH * tile.line // tile.size, (tile.buffer_rows + 1) * STRIDE))
        self.stage = allocate(b, tile.scalar, (STAGE + 1) * STRIDE)
        self.b_buffer = allocate(b, tile.scalar, GROUP * PANEL_ROWS * tile.columns)
        self.tile_buffer = allocate(b, tile.scalar, tile.rows * tile.columns)
        self.zeros = allocate(b, tile.scalar, tile.columns)
        for v in range(tile.vectors):
            self.m.store(b, zeros(tile.vector), advance(b, self.zeros, number(v * tile.lanes * tile.size)))
        with loop(b, number(0), self.w["batch"]) as item:
            self.place = {name: advance(b, pointer, b.add(self.w[name + "_at"], b.mul(item, self.w[name + "_batch"])))
                          for name, pointer in pointers.items() if name in MATRICES}
            self._blocks()
        b.ret_void()

    def _blocks(self) -> None:
        b, w = self.b, self.w
        with loop(b, w["m_start"], w["m_stop"], w["m_block"]) as m0:
            block = self._tiles_of_rows(m0, minimum(b, w["m_block"], b.sub(w["m_stop"], m0)))
            k_stop = maximum(b, w["k_stop"], b.add(w["k_start"], number(1)))  # at least one block: C is to be written
            with loop(b, w["k_start"], k_stop, w["k_block"]) as k0:
                depth = minimum(b, w["k_block"], b.sub(w["k_stop"], k0))
                self._pack_a(block, k0, depth)
                with loop(b, w["n_start"], w["n_stop"], self.tile.columns) as n0:
                    self._panel(block, k0, depth, n0)

    def _tiles_of_rows(self, start: IR, count: IR) -> _Block:
        """Rows as tiles that are about equally high."""
        b = self.b
        tiles = b.udiv(b.add(count, number(self.tile.rows - 1)), number(self.tile.rows))
        all_pairs = b.udiv(b.add(count, number(PAIR - 1)), number(PAIR))
        wanted = b.icmp_signed("==", self.w["a_packed"], number(0))
        before, rows = b.block, _Rows(self._place_in_a(start, number(0)), self.w["a_step"], number(_ENDLESS), number(0))
        with b.if_then(b.and_(wanted, self.windows)):
            whole, windows = self._windows(start, count)
            inside = b.block
        in_place = b.phi(whole.type)
        in_place.add_incoming(wanted, before)
        in_place.add_incoming(whole, inside)
        chosen = []
        for plain, other in zip(rows, windows):
            chosen.append(b.phi(plain.type))
            chosen[-1].add_incoming(plain, before)
            chosen[-1].add_incoming(other, inside)
        return _Block(start, count, tiles, b.udiv(all_pairs, tiles), b.urem(all_pairs, tiles), in_place, _Rows(*chosen))

    def _segments(self) -> IR:
        """How many segments a window has."""
        b, before = self.b, self.b.block
        with b.if_then(self.windows):
            length = b.load(b.gep(self.patch_words, [number(PATCH_WORDS.index("length"))], source_etype=I64), typ=I64)
            count, inside = b.udiv(self.w["k_stop"], length), b.block
        result = b.phi(I64)
        result.add_incoming(number(0), before)
        result.add_incoming(count, inside)
        return result

    def _windows(self, start: IR, count: IR) -> tuple[IR, _Rows]:
        """Can some windows be read where they are, as rows at equal distances? If they are on one line, and none reaches beyond the image."""
        b, size = self.b, number(self.tile.size)
        w = {name: b.load(b.gep(self.patch_words, [number(k)], source_etype=I64), typ=I64) for k, name in enumerate(PATCH_WORDS)}
        line, x = b.udiv(start, w["width"]), b.urem(start, w["width"])
        image, y = b.udiv(line, w["height"]), b.urem(line, w["height"])
        iy, ix = b.sub(b.mul(y, w["stride_y"]), w["pad_y"]), b.sub(b.mul(x, w["stride_x"]), w["pad_x"])
        lowest = b.add(iy, b.mul(b.sub(self.segments, number(1)), w["dilation_y"]))
        rightmost = b.add(ix, b.mul(b.sub(count, number(1)), w["stride_x"]))
        tests = [b.icmp_signed("<=", b.add(x, count), w["width"]), b.icmp_signed(">=", iy, number(0)), b.icmp_signed(">=", ix, number(0)),
                 b.icmp_signed("<", lowest, w["in_height"]), b.icmp_signed("<=", w["length"], b.mul(b.sub(w["in_width"], rightmost), w["depth"])),
                 b.icmp_signed("==", b.urem(count, number(PAIR)), number(0))]
        at = b.add(b.mul(image, w["image_step"]), b.add(b.mul(iy, w["line_step"]), b.mul(ix, w["pixel_step"])))
        jump = b.sub(b.mul(w["dilation_y"], w["line_step"]), b.mul(w["length"], size))
        return reduce(b.and_, tests), _Rows(advance(b, self.place["a"], at), b.mul(w["stride_x"], w["pixel_step"]), w["length"], jump)

    def _pack_a(self, block: _Block, k0: IR, depth: IR) -> None:
        b, w = self.b, self.w
        cut = [block.count, block.pairs, block.more]
        with b.if_else(self.columns) as (if_transposed, plain):
            with if_transposed, b.if_else(self.windows) as (gathered, there):
                with gathered, loop(b, number(0), depth, STAGE) as k:
                    rows = minimum(b, number(STAGE), b.sub(depth, k))
                    self._gather(self.stage, number(self.packing.stage_bytes), b.add(k0, k), rows, block.start, block.count)
                    to = advance(b, self.a_buffer, b.mul(k, number(self.tile.line)))
                    b.call(self.packing.tiles, [to, self.stage, number(self.packing.stage_bytes), rows, *cut])
                with there, b.if_then(b.not_(block.in_place)):
                    b.call(self.packing.tiles, [self.a_buffer, self._place_in_a(k0, block.start), w["a_step"], depth, *cut])
            with plain, b.if_then(b.not_(block.in_place)):
                with b.if_else(self.windows) as (gathered, there):
                    with gathered:
                        self._gather(self.a_buffer, self.row_bytes, block.start, block.count, k0, depth)
                    with there:
                        place = self._place_in_a(block.start, k0)
                        b.call(self.packing.matrix, [self.a_buffer, self.row_bytes, place, w["a_step"], block.count, depth])
                # The row that makes the last pair complete: it may be one too many.
                b.call(self.packing.fill, [advance(b, self.a_buffer, b.mul(block.count, self.row_bytes)), depth])

    def _gather(self, buffer: IR, row_bytes: IR, row: IR, rows: IR, column: IR, columns: IR) -> None:
        """A part of the matrix of windows."""
        b = self.b
        b.call(self.packing.patches, [buffer, row_bytes, self.place["a"], self.patch_words, row, b.add(row, rows), column, b.add(column, columns)])

    def _place_in_a(self, row: IR, column: IR) -> IR:
        b = self.b
        return advance(b, self.place["a"], b.add(b.mul(row, self.w["a_step"]), b.mul(column, number(self.tile.size))))

    def _panel(self, block: _Block, k0: IR, depth: IR, n0: IR) -> None:
        """All tiles of a block that lie in one panel of columns."""
        b, w, tile = self.b, self.w, self.tile
        width = minimum(b, number(tile.columns), b.sub(w["n_stop"], n0))
        vectors = b.udiv(b.add(width, number(tile.lanes - 1)), number(tile.lanes))
        full = b.icmp_signed("==", width, b.mul(vectors, number(tile.lanes)))
        panel, step = self._pack_b(k0, depth, n0, width, vectors, full)
        share = b.select(self.in_panels, b.udiv(b.add(step, b.sub(block.tiles, number(1))), block.tiles), number(0))  # of the next panel, per k
        first = b.icmp_signed("==", k0, w["k_start"])
        last = b.icmp_signed(">=", b.add(k0, w["k_block"]), w["k_stop"])
        bounds = [b.select(last, bound, none) for bound, none in zip(self.bounds, (tile.lowest, tile.highest))]
        fresh = b.icmp_signed("==", w["has_added"], number(0))
        in_rows = b.icmp_signed("==", w["c_width"], number(0))
        spilling = b.and_(b.and_(in_rows, b.and_(fresh, first)), self._may_spill(width, vectors))
        column = b.mul(n0, number(tile.size))
        row_step, segment, jump = (b.select(block.in_place, there, copied) for there, copied in
                                   zip(block.rows[1:], (self.row_bytes, number(_ENDLESS), number(0))))
        a_step = b.select(self.columns, b.select(block.in_place, w["a_step"], number(tile.line)), row_step)
        rows_of_a = b.select(block.in_place, advance(b, block.rows.first, b.mul(k0, number(tile.size))), self.a_buffer)
        with loop(b, number(0), block.tiles) as index:
            t = b.mul(b.add(b.mul(index, block.pairs), minimum(b, index, block.more)), number(PAIR))
            height = b.mul(b.add(block.pairs, b.zext(b.icmp_signed("<", index, block.more), I64)), number(PAIR))
            rows, m = minimum(b, height, b.sub(block.count, t)), b.add(block.start, t)
            tiles_of_a = b.select(block.in_place, self._place_in_a(k0, m), advance(b, self.a_buffer, b.mul(index, number(DEPTH * tile.line))))
            a = b.select(self.columns, tiles_of_a, advance(b, rows_of_a, b.mul(t, row_step)))
            micro = self.micro.choose(b, w["micro_kernels"], b.zext(self.columns, I64), height, vectors)
            c = advance(b, self.place["c"], b.add(column, b.mul(m, w["c_step"])))
            given = advance(b, self.place["added"], b.add(column, b.mul(m, w["added_step"])))
            added, added_step = b.select(fresh, self.zeros, given), b.select(fresh, number(0), w["added_step"])
            whole = b.and_(b.and_(full, in_rows), b.icmp_signed("==", rows, height))
            before_last = b.icmp_signed("<", b.add(index, number(1)), block.tiles)
            next_panel = b.select(self.in_panels, b.add(w["b_panel"], b.mul(index, b.mul(depth, share))), number(0))
            ahead = [advance(b, panel, next_panel), share]
            with b.if_else(b.or_(whole, b.and_(spilling, before_last))) as (direct, by_way):
                with direct:
                    source, source_step = b.select(first, added, c), b.select(first, added_step, w["c_step"])
                    self.micro.call(b, micro, [a, a_step, segment, jump, panel, step, *ahead, source, source_step, c, w["c_step"], depth, w["terms"],
                                               self.alpha, *bounds])
                with by_way:
                    to = [self.zeros, number(0), self.tile_buffer, number(tile.columns * tile.size)]
                    self.micro.call(b, micro, [a, a_step, segment, jump, panel, step, *ahead, *to, depth, w["terms"], self.alpha,
                                               tile.lowest, tile.highest])
                    c_place = advance(b, self.place["c"], column)
                    b.call(self.store_tile, [self.tile_buffer, c_place, m, rows, width, added, added_step, b.zext(first, I64), *bounds,
                                             *[w[name] for name in ("c_step", "c_width", "c_height", "c_line", "c_image")]])

    def _may_spill(self, width: IR, vectors: IR) -> IR:
        """May whole vectors be stored to rows that are shorter? If the next row, which is written later, covers what is too much."""
        b, tile = self.b, self.tile
        dense = b.icmp_signed("==", self.w["c_step"], b.mul(width, number(tile.size)))
        return b.and_(dense, b.icmp_signed(">=", b.mul(width, number(2)), b.mul(vectors, number(tile.lanes))))

    def _pack_b(self, k0: IR, depth: IR, n0: IR, width: IR, vectors: IR, full: IR) -> tuple[IR, IR]:
        """The panel and its step; a partial panel is always copied, for vectors would reach beyond the array. Full ones are copied in groups."""
        b, w, tile = self.b, self.w, self.tile
        slot = b.and_(b.udiv(b.sub(n0, w["n_start"]), number(tile.columns)), number(GROUP - 1))
        place = advance(b, self.b_buffer, b.mul(slot, number(self.packing.panel_bytes)))
        transposed = b.icmp_signed("!=", w["b_transposed"], number(0))
        source = advance(b, self.place["b"], b.add(b.mul(k0, w["b_step"]), b.mul(n0, number(tile.size))))
        column = advance(b, self.place["b"], b.mul(n0, w["b_step"]))
        packed = b.and_(b.not_(self.in_panels), b.or_(b.icmp_signed("!=", w["b_packed"], number(0)), b.not_(full)))
        arguments = [place, source, w["b_step"], depth, width, vectors]
        with b.if_then(packed), b.if_else(transposed) as (if_transposed, plain):
            with if_transposed:
                taps = [w[name] for name in TAP_WORDS]
                b.call(self.packing.taps, [place, column, w["b_step"], k0, b.add(k0, depth), width, vectors, *taps])
            with plain, b.if_else(b.icmp_signed("==", width, number(tile.columns))) as (whole, part):
                with whole, b.if_then(b.icmp_signed("==", slot, number(0))):
                    count = minimum(b, number(GROUP), b.udiv(b.sub(w["n_stop"], n0), number(tile.columns)))
                    b.call(self.packing.panels, [place, source, w["b_step"], depth, count, number(self.packing.panel_bytes)])
                with part:
                    b.call(self.packing.panel, arguments)
        step = b.mul(vectors, number(tile.lanes * tile.size))
        there = advance(b, self.place["b"], b.add(b.mul(b.udiv(n0, number(tile.columns)), w["b_panel"]), b.mul(k0, step)))
        return (b.select(self.in_panels, there, b.select(packed, place, source)),
                b.select(b.or_(self.in_panels, packed), step, w["b_step"]))

    def _store_tile(self) -> ir.Function:
        """store_tile(tile, c, m, rows, width, added, ...): the micro-kernel's end, for any width, anywhere."""
        function, b = self.m.function("store_tile", [POINTER, POINTER, *[I64] * 3, POINTER, I64, I64, *[self.tile.scalar] * 2, *[I64] * 5])
        tile, c, m, rows, width, added, added_step, first, lower_bound, upper_bound, c_step, c_width, c_height, c_line, c_image = function.args
        bounds, fresh = [self.m.splat(b, each) for each in (lower_bound, upper_bound)], b.icmp_signed("!=", first, number(0))
        for column, mask in self.m.strips(b, width):
            offset = b.mul(column, number(self.tile.size))
            with loop(b, number(0), rows) as row:
                index = b.add(m, row)
                straight, before = advance(b, c, b.mul(index, c_step)), b.block
                with b.if_then(b.icmp_signed("!=", c_width, number(0))):
                    line = b.udiv(index, c_width)
                    down = b.add(b.mul(b.urem(line, c_height), c_line), b.mul(b.udiv(line, c_height), c_image))
                    scattered, inside = advance(b, c, b.add(b.mul(b.urem(index, c_width), c_step), down)), b.block
                place = b.phi(POINTER)
                place.add_incoming(straight, before)
                place.add_incoming(scattered, inside)
                source = b.select(fresh, advance(b, added, b.mul(row, added_step)), place)
                value = self.m.load(b, advance(b, advance(b, tile, b.mul(row, number(self.tile.columns * self.tile.size))), offset))
                value = self.m.add(b, value, self.m.masked_load(b, advance(b, source, offset), mask))
                self.m.masked_store(b, self.m.between(b, value, *bounds), advance(b, place, offset), mask)
        b.ret_void()
        return function


def code(size: int, integer: bool = False, packed: int = 1) -> Code:
    """The kernel for elements of this size."""
    tile = tile_for(size, integer, packed)
    whole = are_inside()
    return Code.of(f"gemm {tile}{' whole' if whole else ''}", lambda: Gemm(tile, whole).text)


def micro_codes(tile: Tile, parts: Sequence[Sequence[int]]) -> tuple[Code, ...]:
    """The micro-kernels that parts with these words call, if they are not in the module."""
    if are_inside():
        return ()
    sizes = {size for part in parts for size in _sizes_of_tiles(tile, dict(zip(WORDS, part)))}
    return tuple(micro_code(tile, *size) for size in sorted(sizes))


def _sizes_of_tiles(tile: Tile, w: Mapping[str, int]) -> Iterator[tuple[bool, int, int]]:
    """What ``_panel`` chooses from: how A lies, the rows of a tile and its vectors."""
    height, width = w["m_stop"] - w["m_start"], w["n_stop"] - w["n_start"]
    rows = {PAIR * pairs for count in {min(w["m_block"], height), height % w["m_block"]} - {0} for pairs in _pairs_of_tiles(tile, count)}
    vectors = {-(-columns // tile.lanes) for columns in {min(width, tile.columns), width % tile.columns} - {0}}
    return itertools.product((bool(w["a_transposed"]),), rows, vectors)


def _pairs_of_tiles(tile: Tile, count: int) -> set[int]:
    """As ``_tiles_of_rows`` cuts a block of so many rows."""
    tiles, pairs = -(-count // tile.rows), -(-count // PAIR)
    return {pairs // tiles, -(-pairs // tiles)}


__all__ = ["OPERANDS", "PATCH_WORDS", "WORDS", "code", "micro_codes"]
