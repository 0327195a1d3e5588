"""The transforms of Winograd's convolution, as LLVM IR: L D L' for a small square D of vectors, where each vector holds channels.

A square is gathered from pixels of an image or from *planes* (arrays that hold one element of every square), and its transform goes to planes or
pixels. Pixels outside of an image are zeros when they are read, and left out when they are written. What is written can be
``max(added + alpha * value, lower_bound)``.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from penstock.native.calls import Code
from penstock.native.contract.tile import Tile, TileModule, tile_for
from penstock.native.destinations import RowDestination
from penstock.native.vector.pieces import advance, loop, number
from penstock.native.vector.vectors import IR, POINTER, allocate

Matrix = tuple[tuple[float, ...], ...]
# Convolution of 6 pixels with 3 taps to 4 pixels, interpolated at 0, 1, -1, 2, -2 and infinity.
INPUT: Matrix = ((4, 0, -5, 0, 1, 0), (0, -4, -4, 1, 1, 0), (0, 4, -4, -1, 1, 0), (0, -2, -1, 2, 1, 0), (0, 2, -1, -2, 1, 0), (0, 4, 0, -5, 0, 1))
FILTER: Matrix = ((1 / 4, 0, 0), (-1 / 6, -1 / 6, -1 / 6), (-1 / 6, 1 / 6, -1 / 6), (1 / 24, 1 / 12, 1 / 6), (1 / 24, -1 / 12, 1 / 6), (0, 0, 1))
OUTPUT: Matrix = ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1))


def transpose(matrix: Matrix) -> Matrix:
    """Rows as columns."""
    return tuple(zip(*matrix))


@dataclass(frozen=True)
class TransformKind:
    """A transform: of which matrix, from where, to where."""

    matrix: Matrix
    from_image: bool = False
    to_image: bool = False


IMAGES = {"input": TransformKind(INPUT, from_image=True), "filter": TransformKind(FILTER), "output": TransformKind(OUTPUT, to_image=True),
          "output gradient": TransformKind(transpose(OUTPUT), from_image=True), "filter gradient": TransformKind(transpose(FILTER))}

OPERANDS = ("source", "zeros", "added", "target")
WORDS = (
    "start", "stop", "length",  # squares, and channels of each
    "plane", "item",  # bytes from plane to plane, from square to square: of the side that has planes
    "across", "down", "image_start",  # squares along the axes of an image; the number of the first square, over all images
    "image", "line", "pixel", "height", "width",  # of the side that has an image
    "origin_y", "origin_x",  # of the first square, in pixels
    "out_plane", "out_item",  # of the target, if both sides have planes
    "added_image", "added_line", "added_pixel", "has_added", "alpha", "lower_bound",
)
DESTINATION = RowDestination.among(WORDS, width="length", steps=("image", "line", "pixel"))  # of the transform to pixels
STEP = 4  # pixels from a square to the next


class Transform:
    """The module of one transform."""

    def __init__(self, tile: Tile, kind: TransformKind) -> None:
        self.m, self.tile, self.kind = TileModule(tile), tile, kind
        self.outer, self.inner = len(kind.matrix), len(kind.matrix[0])
        module = self.m.kernel()
        b = self.b = module.b
        self.base, self.w = module.operands(OPERANDS), module.numbers(WORDS)
        self.places = allocate(b, POINTER, self.inner * self.inner)
        with loop(b, self.w["start"], self.w["stop"]) as square:
            self._square(square)
        b.ret_void()

    def _square(self, square: IR) -> None:
        b, w = self.b, self.w
        if self.kind.from_image or self.kind.to_image:
            self._locate(b.add(square, w["image_start"]))
        if self.kind.from_image:
            self._gather()
        for channel, mask in self.m.strips(b, w["length"]):
            at = b.mul(channel, number(self.tile.size))
            columns = [self._apply([self._load(i, j, square, at, mask) for i in range(self.inner)]) for j in range(self.inner)]
            for i in range(self.outer):
                for j, value in enumerate(self._apply([column[i] for column in columns])):
                    self._store(value, i, j, square, at, mask)

    def _locate(self, square: IR) -> None:
        """The first pixel of a square, and its image."""
        b, w = self.b, self.w
        line = b.udiv(square, w["across"])
        self.n = b.udiv(line, w["down"])
        self.y = b.sub(b.mul(b.urem(line, w["down"]), number(STEP)), w["origin_y"])
        self.x = b.sub(b.mul(b.urem(square, w["across"]), number(STEP)), w["origin_x"])

    def _inside(self, i: int, j: int) -> tuple[IR, IR, IR]:
        b, w = self.b, self.w
        y, x = b.add(self.y, number(i)), b.add(self.x, number(j))
        return b.and_(b.icmp_unsigned("<", y, w["height"]), b.icmp_unsigned("<", x, w["width"])), y, x

    def _gather(self) -> None:
        """Where the pixels of a square are."""
        b, w = self.b, self.w
        image = advance(b, self.base["source"], b.mul(self.n, w["image"]))
        for i in range(self.inner):
            for j in range(self.inner):
                inside, y, x = self._inside(i, j)
                place = advance(b, image, b.add(b.mul(y, w["line"]), b.mul(x, w["pixel"])))
                b.store(b.select(inside, place, self.base["zeros"]), b.gep(self.places, [number(i * self.inner + j)], source_etype=POINTER))

    def _load(self, i: int, j: int, square: IR, at: IR, mask: IR | None) -> IR:
        b, w = self.b, self.w
        index = i * self.inner + j
        if self.kind.from_image:
            place = b.load(b.gep(self.places, [number(index)], source_etype=POINTER), typ=POINTER)
        else:
            place = advance(b, self.base["source"], b.add(b.mul(number(index), w["plane"]), b.mul(square, w["item"])))
        return self.m.masked_load(b, advance(b, place, at), mask)

    def _store(self, value: IR, i: int, j: int, square: IR, at: IR, mask: IR | None) -> None:
        b, w = self.b, self.w
        if self.kind.to_image:
            inside, y, x = self._inside(i, j)
            with b.if_then(inside):
                place, added = (advance(b, self.base[name], b.add(b.mul(self.n, w[prefix + "image"]), b.add(b.mul(y, w[prefix + "line"]),
                                                                                                          b.mul(x, w[prefix + "pixel"]))))
                                for name, prefix in (("target", ""), ("added", "added_")))
                self._epilogue(value, place, added, at, mask)
            return
        names = ("plane", "item") if self.kind.from_image else ("out_plane", "out_item")
        offset = b.add(b.mul(number(i * self.outer + j), w[names[0]]), b.mul(square, w[names[1]]))
        if self.kind.from_image:
            self.m.masked_store(b, value, advance(b, self.base["target"], b.add(offset, at)), mask)
        else:
            self._epilogue(value, advance(b, self.base["target"], offset), advance(b, self.base["added"], offset), at, mask)

    def _epilogue(self, value: IR, place: IR, added: IR, at: IR, mask: IR | None) -> None:
        b = self.b
        added = b.select(b.icmp_signed("!=", self.w["has_added"], number(0)), advance(b, added, at), self.base["zeros"])
        alpha, lower_bound = (self.m.splat(b, self.m.number(b, self.w[name])) for name in ("alpha", "lower_bound"))
        value = self.m.fma(b, value, alpha, self.m.masked_load(b, added, mask))
        self.m.masked_store(b, self.m.at_least(b, value, lower_bound), advance(b, place, at), mask)

    def _apply(self, vectors: list[IR]) -> list[IR]:
        """The matrix times a column of vectors. Rows that differ in some signs only are sum and difference of two parts."""
        rows, result, done = self.kind.matrix, [None] * self.outer, set()
        for i, row in enumerate(rows):
            if i in done:
                continue
            twin = next((k for k in range(i + 1, self.outer) if k not in done and _twins(row, rows[k])), None)
            if twin is None:
                result[i] = self._combine(row, vectors)
                continue
            done.add(twin)
            even = self._combine([x if x == y else 0 for x, y in zip(row, rows[twin])], vectors)
            odd = self._combine([x if x != y else 0 for x, y in zip(row, rows[twin])], vectors)
            result[i], result[twin] = self.b.fadd(even, odd), self.b.fsub(even, odd)
        return result

    def _combine(self, row: Sequence[float], vectors: list[IR]) -> IR:
        """The sum of vectors with these factors."""
        b, total = self.b, None
        for factor, value in sorted(((factor, value) for factor, value in zip(row, vectors) if factor), key=lambda term: term[0] != 1):
            if total is None:
                total = value if factor == 1 else b.fmul(value, self._constant(factor))
            else:
                total = b.fadd(total, value) if factor == 1 else b.fsub(total, value) if factor == -1 else \
                    self.m.fma(b, value, self._constant(factor), total)
        return total

    def _constant(self, value: float) -> IR:
        return self.m.splat(self.b, ir.Constant(self.tile.scalar, value))


def _twins(row: Sequence[float], other: Sequence[float]) -> bool:
    return row != other and all(abs(x) == abs(y) for x, y in zip(row, other)) and any(x == y != 0 for x, y in zip(row, other))


def code(name: str, size: int) -> Code:
    """The kernel of one of IMAGES."""
    tile = tile_for(size)
    return Code.of(f"winograd {name} {tile}", lambda: str(Transform(tile, IMAGES[name]).m.module))
