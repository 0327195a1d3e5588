"""A product of matrices, or what looks like one, as calls of the kernel in ``gemm``: how it is cut into parts and blocks."""
from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.native.calls import Array
from penstock.native.contract import gemm, gemv, panels
from penstock.native.contract.microkernel import micro_table
from penstock.native.contract.packing import PATCH_WORDS, TAP_WORDS
from penstock.native.contract.tile import DEPTH, LINE, PAIR, STRIDE, Tile, tile_for

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter

_SMALL = 30_000  # cycles: the time that it takes to wake another thread, and some more
PARTS = 3  # per thread: one that is delayed has less to do
_PAGES = 60  # that a CPU can look up at once
_FAR = 2048  # bytes between rows
_WAY = 4096  # bytes, after which the places of the first-level cache begin again: rows of a multiple of it compete for the same ones
_DEEP = 4 * DEPTH  # elements of a row that are used at a time, if B lies in panels
_TERMS = 2 * DEPTH  # of a sum in registers
_COPY = 0.2  # cycles to copy an element into a buffer
_PANEL = 0.1  # cycles to read an element of a panel, which is in the second-level cache
_READ = 0.2  # cycles to read an element of a matrix that is read once
_DELAY = 0.2  # how much of a part the slowest thread lags behind
_FEW = 4  # panels of columns of C for which a transposed A is not worth a copy; if its rows are far apart, that is one
_SHARED = 3  # blocks of rows that are worth a copy of all of B,
_COPIED = range(1 << 18, 1 << 25)  # if it has so many bytes: less stays in the cache, and is soon copied again
_REUSED = 3  # tiles of rows that a panel of B has to serve, to be worth a copy


@dataclass(slots=True)
class Epilogue:
    """What is done to a product before it is stored: ``min(max(added + alpha * rate * product, lower_bound), upper_bound)``.

    ``added`` is broadcast to the result's shape; if it is the result itself, the product is accumulated there. ``rate`` is a number that is computed
    or read in the step, 1 if there is none.
    """

    added: Array | None = None
    alpha: float = 1.0
    lower_bound: float = -math.inf
    upper_bound: float = math.inf
    rate: Array | None = None

    def words(self, dtype: np.dtype) -> dict[str, int]:
        """Its numbers, as words of a kernel for elements of this type."""
        return {"alpha": bits(self.alpha, dtype), "lower_bound": bits(self.lower_bound, dtype), "upper_bound": bits(self.upper_bound, dtype),
                "has_added": int(self.added is not None), "has_rate": int(self.rate is not None)}


def with_rows(b: Emitter, epilogue: Epilogue) -> Epilogue:
    """The epilogue, where the rows of what is added are contiguous."""
    added = epilogue.added
    if added is None or added.strides[-1] == added.dtype.itemsize or added.shape[-1] == 1:
        return epilogue
    return replace(epilogue, added=b.contiguous(added))


@dataclass(frozen=True)
class Taps:
    """Where the rows of a transposed B lie: ``each`` of them side by side, the next ones ``right`` bytes away, and after ``across`` such taps
    ``down`` bytes from where those began. A filter is such a B, without a copy."""

    each: int
    across: int = 1
    right: int = 0
    down: int = 0

    def words(self) -> dict[str, int]:
        """As words of the kernels; what they divide by is never 0."""
        return dict(zip(TAP_WORDS, (max(self.each, 1), max(self.across, 1), self.right, self.down)))


@dataclass
class Product:
    """C[m, n] of a batch. Steps are bytes from a row to the next, of matrices as they lie in memory; ``at`` and ``batch`` are bytes, too."""

    m: int
    n: int
    k: int
    a_step: int
    b_step: int
    c_step: int
    a_transposed: bool = False
    b_transposed: bool = False
    batch: int = 1
    steps: dict[str, int] = field(default_factory=dict)  # any other words of the kernel
    patches: tuple[int, ...] = ()
    packed: int = 1  # integers in an element of A and B
    taps: Taps | None = None  # of a B that is transposed tap by tap

    @property
    def flops(self) -> int:
        """Operations."""
        return 2 * self.packed * self.m * self.n * self.k * self.batch

    def emit_native(self, b: Emitter, a: Array, right: Array, c: Array, label: str, epilogue: Epilogue | None, items: list[dict[str, int]]) -> None:
        """Its calls of native code."""
        _emit(b, self, a, right, c, label, epilogue, items)


def emit(b: Emitter, p: Product, a: Array, right: Array, c: Array, label: str, epilogue: Epilogue | None = None,
         items: list[dict[str, int]] | None = None) -> None:
    """Appends the calls. ``items``: words of matrices whose places follow no single step, one call's part for each; None for one."""
    items = [{}] if items is None else items
    if p.m and p.n and p.batch and items:
        b.multiply(p, a, right, c, label, epilogue, items)


def _emit(b: Emitter, p: Product, a: Array, right: Array, c: Array, label: str, epilogue: Epilogue | None, items: list[dict[str, int]]) -> None:
    """``emit``, by native code."""
    integer = c.dtype.kind == "i"
    tile = tile_for(c.dtype.itemsize, integer, p.packed)
    epilogue = epilogue or Epilogue()
    if items == [{}] and _is_prepared(b, p, right) and _is_row(p) and epilogue.rate is None:
        _emit_row(b, p, a, right, c, label, epilogue)
        return
    if items == [{}] and (_shares_panels(p, tile) or _is_prepared(b, p, right) or _may_read_windows(p, tile)):
        p, right = _in_panels(b, p, tile, right, label)
    added, rate = epilogue.added, epilogue.rate
    words = epilogue.words(c.dtype)
    code = gemm.code(c.dtype.itemsize, integer, p.packed)
    parts = [_words(p, tile, {**words, **item, **part}) for item in items for part in _parts_of_item(p, tile, b.threads, len(items))]
    operands = [a, right, added if added is not None else c, rate if rate is not None else c, c]
    accumulates = added is not None and added.buffer is c.buffer
    b.call(code, operands, parts, label, 1, p.flops * len(items), None if accumulates else gemm.DESTINATION, gemm.micro_codes(tile, parts))


def _shares_panels(p: Product, tile: Tile) -> bool:
    """Is B worth a copy of all of it? If many blocks of rows would each copy its panels."""
    return p.batch == 1 and p.m >= _SHARED * tile.buffer_rows and p.k * p.n * tile.size in _COPIED


def _is_prepared(b: Emitter, p: Product, right: Array) -> bool:
    """Is B a constant, cut into panels before any step?"""
    return b.ahead and p.batch == 1 and right.buffer.kind == "constant" and right.dtype.kind == "f" and p.packed == 1


def _is_row(p: Product) -> bool:
    """Is A one row, whose elements lie side by side, as B's rows do?"""
    return p.m == 1 and p.k > 0 and not (p.a_transposed or p.b_transposed or p.patches or p.steps.get("c_width"))


def _emit_row(b: Emitter, p: Product, a: Array, right: Array, c: Array, label: str, epilogue: Epilogue) -> None:
    """A row times a matrix."""
    added = epilogue.added
    words = {"k": p.k, "n": p.n, **epilogue.words(c.dtype), **p.steps}
    pieces = b.threads if p.k * p.n * _READ > _SMALL else 1
    parts = [{**words, "n_start": start, "n_stop": stop} for start, stop in ranges(p.n, pieces, gemv.strip_columns(c.dtype))]
    operands = [a, *_in_strips(b, p, right), added if added is not None else c, c]
    b.call(gemv.code(c.dtype), operands, [[part.get(name, 0) for name in gemv.WORDS] for part in parts], label, 1, p.flops)


def _in_strips(b: Emitter, p: Product, right: Array) -> list[Array]:
    """B as ``gemv`` reads it: its columns in strips, and the rest of them."""
    size, width = right.dtype.itemsize, gemv.strip_columns(right.dtype)
    strips = p.n // width
    made = []
    for first, shape in ((0, (strips, p.k, width)), (strips * width, (1, p.k, p.n - strips * width))):
        if math.prod(shape):
            made.append(b.empty(shape, right.dtype))
            b.copy(b.view(right, shape, (width * size, p.b_step, size), p.steps.get("b_at", 0) + first * size), made[-1])
    return [made[0], made[-1]]  # one of them is all, if the other is empty


def _in_panels(b: Emitter, p: Product, tile: Tile, right: Array, label: str) -> tuple[Product, Array]:
    """The product with B in panels, and these."""
    rows, size = p.k + panels.SPARE, tile.size
    step = rows * tile.columns * size
    result = b.empty((-(-p.n // tile.columns), rows, tile.columns), right.dtype)
    pieces = b.threads * PARTS if p.k * p.n * _COPY > _SMALL else 1
    words = (p.k, p.steps.get("b_at", 0), p.b_step, int(p.b_transposed), *_taps_of(p).words().values(), step)
    parts = [(start, stop, *words) for start, stop in ranges(p.n, pieces, tile.columns)]
    b.call(panels.code(size), [right, result], parts, f"{label}: panels")
    return replace(p, b_step=tile.columns * size, b_transposed=False, taps=None, steps={**p.steps, "b_at": 0, "b_panel": step}), result


def _taps_of(p: Product) -> Taps:
    return p.taps or Taps(p.k)


def without_taps(b: Emitter, p: Product, right: Array) -> tuple[Product, Array]:
    """The product with a copy of B in which rows follow each other, if they do not."""
    if p.taps is None:
        return p, right
    taps, size = p.taps, right.dtype.itemsize
    shape = (p.k // max(taps.each * taps.across, 1), taps.across, taps.each, p.n)
    result = b.empty(shape, right.dtype)
    if result.size:
        b.copy(b.view(right, shape, (taps.down, taps.right, size, p.b_step), p.steps.get("b_at", 0)), result)
    return replace(p, b_step=p.n * size, b_transposed=False, taps=None, steps={**p.steps, "b_at": 0}), result


def bits(value: float, dtype: np.dtype) -> int:
    """A number as a word of a kernel; infinities as the least and the largest integer."""
    if dtype.kind == "i":
        return int(value) if math.isfinite(value) else int(np.iinfo(dtype).min if value < 0 else np.iinfo(dtype).max)
    return struct.unpack("i", struct.pack("f", value))[0] if dtype.itemsize == 4 else struct.unpack("q", struct.pack("d", value))[0]


def _words(p: Product, tile: Tile, given: dict[str, int]) -> list[int]:
    m = given["m_stop"] - given["m_start"]
    values = {"batch": p.batch, "a_step": p.a_step, "b_step": p.b_step, "c_step": p.c_step, "a_transposed": int(p.a_transposed),
              "a_packed": int(_is_packed(p, tile, given)), "b_transposed": int(p.b_transposed), "has_patches": int(bool(p.patches)),
              "b_packed": int(p.b_transposed or m >= _REUSED * tile.rows), **_taps_of(p).words(), "k_start": 0, "k_stop": p.k, "terms": _TERMS,
              "micro_kernels": micro_table(tile), **_blocks(p, tile, m), **p.steps, **given}
    return [*(values.get(name, 0) for name in gemm.WORDS), *p.patches]


def _is_packed(p: Product, tile: Tile, part: dict[str, int]) -> bool:
    """True if A is copied. It has to be if one row of a pair is missing, which would be read beyond the array."""
    if p.patches:
        return not _reads_windows(p, tile)
    odd, columns = (part["m_stop"] - part["m_start"]) % PAIR != 0, part["n_stop"] - part["n_start"]
    if p.a_transposed:
        return odd or columns > (_FEW if p.a_step < _FAR else 1) * tile.columns
    return odd or (columns > _FEW * tile.columns and (p.a_step >= _WAY or math.gcd(p.a_step, _WAY) > _WAY // 2))


def _reads_windows(p: Product, tile: Tile) -> bool:
    """Are windows read where they are, if they lie inside of the image?"""
    return "b_panel" in p.steps and _may_read_windows(p, tile)


def _may_read_windows(p: Product, tile: Tile) -> bool:
    """Can most windows be rows of A where they are? Of an image with few channels, whose rows are one segment: others are worth a copy."""
    if not p.patches or p.a_transposed or p.batch > 1 or not 0 < p.k <= DEPTH:
        return False
    w, rows = dict(zip(PATCH_WORDS, p.patches)), _window_rows(p, tile)
    if w["across"] > 1 or p.m < _REUSED * tile.rows:
        return False
    starts = range(0, w["width"] - rows + 1, rows)
    last = w["in_width"] * w["depth"] - w["length"]  # where in a line the last window may begin
    inside = [x for x in starts if x * w["stride_x"] >= w["pad_x"] and ((x + rows - 1) * w["stride_x"] - w["pad_x"]) * w["depth"] <= last]
    return 2 * len(inside) * rows > w["width"]


def _window_rows(p: Product, tile: Tile) -> int:
    """How many windows are a tile: if that can be, so many that lines consist of such tiles."""
    width = p.patches[PATCH_WORDS.index("width")]
    return next((rows for rows in range(tile.rows, tile.rows // 2, -PAIR) if width % rows == 0), tile.rows)


def _blocks(p: Product, tile: Tile, m: int) -> dict[str, int]:
    """The sizes of blocks. Where large rows of B, or of C, are passed but once, few of them are open at a time: each is on a page of its own. Panels
    of B have all its rows: then sums go to C seldom. A block of rows of A is to stay in the second-level cache, where it is or copied."""
    few = _PAGES // tile.rows * tile.rows
    k_most = _PAGES if m <= few and not p.b_transposed and p.b_step >= _FAR else _DEEP if "b_panel" in p.steps and not p.a_transposed else DEPTH
    k_block = _block_size(p.k, k_most, 4)
    if p.patches and _reads_windows(p, tile):
        return {"m_block": _window_rows(p, tile), "k_block": k_block}
    fitting = tile.buffer_rows if p.a_transposed else _rows_of_buffer(tile, k_block)
    m_most = few if p.k <= _PAGES and p.c_step >= _FAR else DEPTH if p.patches and p.a_transposed else fitting
    return {"m_block": _block_size(m, m_most, tile.rows), "k_block": k_block}


def _rows_of_buffer(tile: Tile, k_block: int) -> int:
    """How many rows of so many elements fit into the buffer for A: as ``Packing.row_bytes`` lays them out."""
    row = ((k_block * tile.size + 2 * LINE - 1) // LINE | 1) * LINE // tile.size
    return max(((tile.buffer_rows + 1) * STRIDE // row - 1) // tile.rows * tile.rows, tile.rows)


def _block_size(extent: int, most: int, multiple: int) -> int:
    """A block size up to ``most`` that cuts the extent into equal blocks."""
    blocks = max(-(-extent // most), 1)
    return min(max(round_up(-(-extent // blocks), multiple), 1), most)


def round_up(extent: int, multiple: int) -> int:
    """The next multiple."""
    return -(-extent // multiple) * multiple


def _parts_of_item(p: Product, tile: Tile, threads: int, items: int) -> Iterator[dict[str, int]]:
    """The parts of one item: ranges of the batch, of rows, of columns."""
    most = 1 if threads == 1 or _multiplying(p, tile, p.m, p.n) * p.batch * items < _SMALL else threads * PARTS
    batches = min(p.batch, max(most // items, 1))
    by_rows, by_columns = _grid(p, tile, threads, batches * items) if most > 1 else (1, 1)
    for first, last in ranges(p.batch, batches, 1):
        for m_start, m_stop in ranges(p.m, by_rows, _window_rows(p, tile) if p.patches and _reads_windows(p, tile) else PAIR):
            for n_start, n_stop in ranges(p.n, by_columns, tile.columns):
                yield {"batch": last - first, "m_start": m_start, "m_stop": m_stop, "n_start": n_start, "n_stop": n_stop, **_batch_offsets(p, first)}


def _grid(p: Product, tile: Tile, threads: int, others: int) -> tuple[int, int]:
    """Into how many ranges of rows and of columns a product is cut, so that all threads together are done soonest; ``others`` are its like."""
    wanted = {-(-threads * each // others) for each in range(1, PARTS + 1)}
    grids = [(rows, total // rows) for total in wanted for rows in range(1, total + 1) if total % rows == 0]
    return min(grids, key=lambda grid: _cost(p, tile, threads, others, *grid))


def _cost(p: Product, tile: Tile, threads: int, others: int, by_rows: int, by_columns: int) -> float:
    """An estimate of the time, in cycles: of as many parts, one after the other, as the busiest thread has. Beside the multiplications, a part
    copies its rows of A, and copies its columns of B once for each block of rows, or reads them if they lie in panels."""
    m, n = min(_piece(p.m, by_rows, PAIR), p.m), min(_piece(p.n, by_columns, tile.columns), p.n)
    parts = others * -(-p.m // m) * -(-p.n // n)
    blocks = -(-m // _blocks(p, tile, m)["m_block"])
    is_packed = _is_packed(p, tile, {"m_start": 0, "m_stop": m, "n_start": 0, "n_stop": n})
    copying = (m * (_COPY if is_packed else 0) + blocks * n * (_PANEL if "b_panel" in p.steps else _COPY)) * p.k
    return (-(-parts // threads) + _DELAY) * (_multiplying(p, tile, m, n) + copying)


def _multiplying(p: Product, tile: Tile, m: int, n: int) -> float:
    """Cycles for that many rows and columns of a matrix of C: each multiplies two vectors, full or not."""
    return round_up(m, PAIR) * round_up(n, tile.lanes) * p.k / (2 * tile.lanes)


def _piece(extent: int, pieces: int, multiple: int) -> int:
    """The length of the longest range."""
    return -(-round_up(extent, multiple) // (pieces * multiple)) * multiple


def _batch_offsets(p: Product, first: int) -> dict[str, int]:
    return {f"{name}_at": p.steps.get(f"{name}_at", 0) + first * p.steps.get(f"{name}_batch", 0) for name in gemm.MATRICES} if first else {}


def ranges(extent: int, pieces: int, multiple: int) -> Iterator[tuple[int, int]]:
    """Up to ``pieces`` ranges of about the same length, whose bounds are multiples of something."""
    units = round_up(extent, multiple) // multiple
    bounds = [min(units * index // pieces * multiple, extent) for index in range(pieces + 1)]
    for start, stop in itertools.pairwise(bounds):
        if start < stop:
            yield start, stop
