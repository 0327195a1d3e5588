"""The transforms of Winograd's convolution, as LLVM IR: L D L' for a small square D of vectors, where each vector holds channels.

A square is gathered from pixels of an image or from *planes* (arrays that hold one element of every square), and its transform goes to planes or
pixels. Pixels outside of an image are zeros when they are read, and left out when they are written. What is written can be
``min(max(added + alpha * value, lower_bound), upper_bound)``. Squares that the transforms would spoil are left to sums of products: see
``winograd_guard``.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from penstock.native.calls import Code
from penstock.native.contract.tile import Tile, TileModule, tile_for
from penstock.native.contract.winograd_guard import Direct, FilterGuard, LeftOut, SquareGuard, is_spoilt
from penstock.native.contract.winograd_matrices import SIDE, Matrix, Scheme, transpose
from penstock.native.destinations import RowDestination
from penstock.native.vector.pieces import advance, loop, number
from penstock.native.vector.vectors import I8, IR, POINTER, allocate


@dataclass(frozen=True)
class TransformKind:
    """A transform: from where, to where; the arrays that it is given, the last ``writes`` of which it writes."""

    operands: tuple[str, ...]
    from_image: bool = False
    to_image: bool = False
    writes: int = 1


_FROM_IMAGE = ("source", "zeros", "target", "unsafe")
IMAGES = {
    "input": TransformKind(_FROM_IMAGE, from_image=True, writes=2),
    "filter": TransformKind(("source", "target", "energies"), writes=2),
    "output": TransformKind(("source", "zeros", "added", "x", "filter", "energies", "unsafe", "target"), to_image=True),
    "output gradient": TransformKind(_FROM_IMAGE, from_image=True, writes=2),
    "filter gradient": TransformKind(("source", "zeros", "added", "rate", "x", "dy", "list", "target")),
}

WORDS = (
    "start", "stop", "length",  # squares, and channels of each
    "plane", "item",  # bytes from plane to plane, from square to square: of the side that has planes
    "across", "down", "image_start",  # squares along the axes of an image; the number of the first square, over all images
    "image", "line", "pixel", "height", "width",  # of the side that has an image; of the gradient for the filter, dy
    "origin_y", "origin_x",  # how far the first square of the input begins before the image
    "out_plane", "out_item",  # of the target, if both sides have planes
    "added_image", "added_line", "added_pixel", "has_added", "has_rate", "alpha", "lower_bound", "upper_bound",
    "rows", "columns",  # of the results, for a transform of the input
    "x_image", "x_line", "x_pixel", "x_height", "x_width", "depth",  # of the input, for transforms of results
    "part", "parts",  # of the transform of the filter
)
DESTINATION = RowDestination.among(WORDS, width="length", steps=("image", "line", "pixel"))  # of the transform to pixels


class Transform:
    """The module of one transform."""

    def __init__(self, tile: Tile, name: str, scheme: Scheme) -> None:
        self.m, self.tile, self.kind, self.scheme = TileModule(tile), tile, IMAGES[name], scheme
        self.matrix = scheme.matrix(name)
        self.outer, self.inner = len(self.matrix), len(self.matrix[0])
        module = self.m.kernel()
        b = self.b = module.b
        self.base, self.w = module.operands(self.kind.operands), module.numbers(WORDS)
        self.places = allocate(b, POINTER, SIDE * SIDE)
        self.alpha = self.m.number(b, self.w["alpha"])
        if "rate" in self.base:
            self.alpha = self.m.times_rate(b, self.alpha, self.base["rate"], self.w["has_rate"])
        self._prepare(name)
        with loop(b, self.w["start"], self.w["stop"]) as square:
            self._square(square)
        if isinstance(self.guard, FilterGuard):
            self.guard.store(self.base["energies"])
        b.ret_void()

    def _prepare(self, name: str) -> None:
        self.guard: SquareGuard | FilterGuard | None = None
        if self.kind.from_image:
            self.guard = SquareGuard(self, gradient=name != "input")
        elif self.kind.to_image:
            self.direct, self.spoilt = Direct(self), is_spoilt(self)
        elif name == "filter":
            self.guard = FilterGuard(self)
        else:
            self.left_out = LeftOut(self)

    def _square(self, square: IR) -> None:
        if self.kind.from_image:
            self._from_image(square)
        elif self.kind.to_image:
            self._to_image(square)
        else:
            self._strips(square)

    def _from_image(self, square: IR) -> None:
        b, w = self.b, self.w
        number_of_square = b.add(square, w["image_start"])
        self.locate(number_of_square)
        self.gather(self.base["source"], "", self.inner)
        assert isinstance(self.guard, SquareGuard)
        self.guard.reset()
        self._strips(square)
        with b.if_then(self.guard.is_unsafe(number_of_square), likely=False):
            for channel, mask in self.m.strips(b, w["length"]):
                for i in range(self.outer * self.outer):
                    offset = b.add(b.mul(number(i), w["plane"]), b.mul(square, w["item"]))
                    self.m.masked_store(b, self.constant(0.0), advance(b, self.base["target"], b.add(offset, self._bytes(channel))), mask)

    def _to_image(self, square: IR) -> None:
        b = self.b
        number_of_square = b.add(square, self.w["image_start"])
        self.locate(number_of_square)
        flag = b.load(advance(b, self.base["unsafe"], number_of_square), typ=I8)
        with b.if_else(b.or_(self.spoilt, b.icmp_unsigned("!=", flag, ir.Constant(I8, 0))), likely=False) as (then, otherwise):
            with then:
                self.direct.square()
            with otherwise:
                self._strips(square)

    def _strips(self, square: IR) -> None:
        for channel, mask in self.m.strips(self.b, self.w["length"]):
            at = self._bytes(channel)
            columns = [self._apply(self._column(j, square, at, mask)) for j in range(self.inner)]
            if self.guard is not None:
                self.guard.seen.keep()
            rows = [self._apply([column[i] for column in columns]) for i in range(self.outer)]
            if "list" in self.base:
                rows = self.left_out.add(rows, square, at, mask)
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    self._store(value, i, j, square, at, mask)

    def _column(self, j: int, square: IR, at: IR, mask: IR | None) -> list[IR]:
        """One column of a square is read at a time, and shown to the guards: there are not registers for all of them."""
        values = [self._load(i, j, square, at, mask) for i in range(self.inner)]
        if self.guard is not None:
            self.guard.see(j, values)
        return values

    def _bytes(self, channel: IR) -> IR:
        return self.b.mul(channel, number(self.tile.size))

    def locate(self, square: IR) -> None:
        """The image of a square, and the first of its results."""
        b, w = self.b, self.w
        line = b.udiv(square, w["across"])
        self.n = b.udiv(line, w["down"])
        self.y = b.mul(b.urem(line, w["down"]), number(self.scheme.step))
        self.x = b.mul(b.urem(square, w["across"]), number(self.scheme.step))

    def inside(self, i: IR, j: IR) -> tuple[IR, IR, IR]:
        """Is there such a result of the square? And its row and column."""
        b, w = self.b, self.w
        y, x = b.add(self.y, i), b.add(self.x, j)
        return b.and_(b.icmp_unsigned("<", y, w["height"]), b.icmp_unsigned("<", x, w["width"])), y, x

    def gather(self, image: IR, prefix: str, side: int) -> None:
        """Where the pixels of a square are; ``prefix`` of the words that tell of the image."""
        b, w = self.b, self.w
        image = advance(b, image, b.mul(self.n, w[prefix + "image"]))
        for i in range(side):
            y = b.add(b.sub(self.y, w["origin_y"]), number(i))
            for j in range(side):
                x = b.add(b.sub(self.x, w["origin_x"]), number(j))
                inside = b.and_(b.icmp_unsigned("<", y, w[prefix + "height"]), b.icmp_unsigned("<", x, w[prefix + "width"]))
                place = advance(b, image, b.add(b.mul(y, w[prefix + "line"]), b.mul(x, w[prefix + "pixel"])))
                b.store(b.select(inside, place, self.base["zeros"]), self._place(number(i * side + j)))

    def pixel(self, index: IR) -> IR:
        """Where a pixel is that was gathered."""
        return self.b.load(self._place(index), typ=POINTER)

    def _place(self, index: IR) -> IR:
        return self.b.gep(self.places, [index], source_etype=POINTER)

    def _load(self, i: int, j: int, square: IR, at: IR, mask: IR | None) -> IR:
        b, w = self.b, self.w
        index = i * self.inner + j
        if self.kind.from_image:
            place = self.pixel(number(index))
        else:
            place = advance(b, self.base["source"], b.add(b.mul(number(index), w["plane"]), b.mul(square, w["item"])))
        return self.m.masked_load(b, advance(b, place, at), mask)

    def _store(self, value: IR, i: int, j: int, square: IR, at: IR, mask: IR | None) -> None:
        b, w = self.b, self.w
        if self.kind.to_image:
            self.store_result(value, number(i), number(j), at, mask)
            return
        names = ("plane", "item") if self.kind.from_image else ("out_plane", "out_item")
        offset = b.add(b.mul(number(i * self.outer + j), w[names[0]]), b.mul(square, w[names[1]]))
        if "added" in self.base:
            self._epilogue(value, advance(b, self.base["target"], offset), advance(b, self.base["added"], offset), at, mask)
        else:
            self.m.masked_store(b, value, advance(b, self.base["target"], b.add(offset, at)), mask)

    def store_result(self, value: IR, i: IR, j: IR, at: IR, mask: IR | None) -> None:
        """A result of the square, if the image has it."""
        b, w = self.b, self.w
        inside, y, x = self.inside(i, j)
        with b.if_then(inside):
            place, added = (advance(b, self.base[name], b.add(b.mul(self.n, w[prefix + "image"]), b.add(b.mul(y, w[prefix + "line"]),
                                                                                                      b.mul(x, w[prefix + "pixel"]))))
                            for name, prefix in (("target", ""), ("added", "added_")))
            self._epilogue(value, place, added, at, mask)

    def _epilogue(self, value: IR, place: IR, added: IR, at: IR, mask: IR | None) -> None:
        b = self.b
        added = b.select(b.icmp_signed("!=", self.w["has_added"], number(0)), advance(b, added, at), self.base["zeros"])
        alpha = self.m.splat(b, self.alpha)
        bounds = [self.m.splat(b, self.m.number(b, self.w[name])) for name in ("lower_bound", "upper_bound")]
        value = self.m.fma(b, value, alpha, self.m.masked_load(b, added, mask))
        self.m.masked_store(b, self.m.between(b, value, *bounds), advance(b, place, at), mask)

    def _apply(self, vectors: list[IR]) -> list[IR]:
        """The matrix times a column of vectors. Rows that differ in some signs only are sum and difference of two parts."""
        rows, result, done = self.matrix, [None] * self.outer, set()
        vectors, rows = self._pair(vectors, rows)
        for i, row in enumerate(rows):
            if i in done:
                continue
            twin = next((k for k in range(i + 1, self.outer) if k not in done and _twins(row, rows[k])), None)
            if twin is None:
                result[i] = self._combine(row, vectors)
                continue
            done.add(twin)
            even = self._combine([x if x == y else 0 for x, y in zip(row, rows[twin])], vectors)
            odd = [x if x != y else 0 for x, y in zip(row, rows[twin])]
            scale = next(factor for factor in reversed(odd) if factor)
            part = self._combine([factor / scale for factor in odd], vectors)
            result[i], result[twin] = (self.m.fma(self.b, part, self.constant(factor), even) for factor in (scale, -scale))
        return result

    def _pair(self, vectors: list[IR], rows: Matrix) -> tuple[list[IR], Matrix]:
        """Columns that differ in some signs only: their vectors' sums and differences instead, with the matrix for these."""
        columns, vectors = list(transpose(rows)), list(vectors)
        for i in range(len(columns) - 1):
            if not _twins(columns[i], columns[i + 1]):
                continue
            pair = vectors[i], vectors[i + 1]
            vectors[i:i + 2] = self.b.fadd(*pair), self.b.fsub(*pair)
            same = [x == y for x, y in zip(columns[i], columns[i + 1])]
            columns[i:i + 2] = [tuple(x if equal is kept else 0.0 for x, equal in zip(columns[i], same)) for kept in (True, False)]
        return vectors, transpose(tuple(columns))

    def _combine(self, row: Sequence[float], vectors: list[IR]) -> IR:
        """The sum of vectors with these factors."""
        b, total = self.b, None
        for factor, value in sorted(((factor, value) for factor, value in zip(row, vectors) if factor), key=lambda term: term[0] != 1):
            if total is None:
                total = value if factor == 1 else b.fmul(value, self.constant(factor))
            else:
                total = b.fadd(total, value) if factor == 1 else b.fsub(total, value) if factor == -1 else \
                    self.m.fma(b, value, self.constant(factor), total)
        return total

    def constant(self, value: float) -> IR:
        """A number in every lane."""
        return self.m.splat(self.b, ir.Constant(self.tile.scalar, value))


def _twins(row: Sequence[float], other: Sequence[float]) -> bool:
    return row != other and all(abs(x) == abs(y) for x, y in zip(row, other)) and any(x == y != 0 for x, y in zip(row, other))


def code(name: str, size: int, scheme: Scheme) -> Code:
    """The kernel of one of IMAGES."""
    tile = tile_for(size)
    return Code.of(f"winograd {name} {scheme} {tile}", lambda: str(Transform(tile, name, scheme).m.module))
