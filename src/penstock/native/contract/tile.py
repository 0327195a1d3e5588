"""What the kernels of contractions share: the tile of C that a CPU's registers hold, and a module with the vectors of that tile. LLVM IR."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from llvmlite import ir

from penstock.native.machine import target
from penstock.native.vector.kernel import Kernel
from penstock.native.vector.pieces import loop, number
from penstock.native.vector.vectors import I32, IR, VOID, allocate, broadcast, intrinsic, masked_load, masked_store

DEPTH = 256  # elements of A's buffer that are used in each row
STRIDE = DEPTH + 16  # elements between its rows: not a power of two, or all rows would compete for the same lines of the cache
PAIR = 2  # tiles have an even number of rows: a function for each number would take twice as long to compile
LINE = 64  # bytes that a cache fetches at once


@dataclass(frozen=True)
class Tile:
    """The registers of a CPU as a tile: ``rows`` of up to ``vectors`` vectors of ``lanes`` elements of ``size`` bytes.

    Elements are floats, integers, or words of ``packed`` integers, whose products are added up as integers of 32 bits: two of 16 bits, or four of 8.
    """

    size: int
    lanes: int
    rows: int
    vectors: int = 2
    integer: bool = False
    packed: int = 1

    @property
    def columns(self) -> int:
        """Elements in a full row."""
        return self.vectors * self.lanes

    @property
    def scalar(self) -> ir.Type:
        """LLVM's type of an element."""
        if self.integer:
            return ir.IntType(8 * self.size)
        return ir.FloatType() if self.size == 4 else ir.DoubleType()

    @property
    def lowest(self) -> ir.Constant:
        """What no element is below."""
        return ir.Constant(self.scalar, -(1 << (8 * self.size - 1)) if self.integer else float("-inf"))

    @property
    def highest(self) -> ir.Constant:
        """What no element is above."""
        return ir.Constant(self.scalar, (1 << (8 * self.size - 1)) - 1 if self.integer else float("inf"))

    @property
    def vector(self) -> ir.VectorType:
        """LLVM's type of a vector."""
        return ir.VectorType(self.scalar, self.lanes)

    @property
    def line(self) -> int:
        """Bytes of whole vectors that hold one element for each row."""
        return -(-self.rows // self.lanes) * self.lanes * self.size

    @property
    def masks(self) -> bool:
        """True if the CPU has registers for masks: then partial vectors cost no more than whole ones. Before AVX-512 their stores are slow."""
        return self.lanes * self.size == 64

    @property
    def buffer_rows(self) -> int:
        """How many rows of A a buffer holds: a multiple of the tile's. It is to stay in the second-level cache, which is larger with wide vectors."""
        return -(-(2 * DEPTH if self.masks else DEPTH) // self.rows) * self.rows


def tile_for(size: int, integer: bool = False, packed: int = 1) -> Tile:
    """The tile of this CPU for elements of this size."""
    if target.has("avx512f") and (packed == 1 or target.has("avx512bw")):
        return Tile(size, 64 // size, 14, integer=integer, packed=packed)
    if target.has("avx2"):
        return Tile(size, 32 // size, 6, integer=integer, packed=packed)
    return Tile(size, 16 // size, 6 if target.triple().startswith(("x86", "i686")) else 12, integer=integer, packed=packed)


class TileModule:
    """What the builders of contractions share: a module for one tile, with its functions and intrinsics."""

    def __init__(self, tile: Tile) -> None:
        self.tile, self.module = tile, ir.Module()

    def function(self, name: str, parameters: Sequence[ir.Type], inline: bool = False) -> tuple[ir.Function, ir.IRBuilder]:
        """A new function of the module, and a builder at its start."""
        function = ir.Function(self.module, ir.FunctionType(VOID, parameters), name)
        function.linkage = "internal"
        function.attributes.add("alwaysinline" if inline else "noinline")
        function.attributes.add("nounwind")
        return function, ir.IRBuilder(function.append_basic_block("entry"))

    def kernel(self) -> Kernel:
        """The function that is called from outside."""
        return Kernel(self.module, ("noinline", "nounwind"))

    def fma(self, b: ir.IRBuilder, x: IR, y: IR, z: IR) -> IR:
        """x * y + z, fused where the CPU can do that."""
        return intrinsic(b, "fmuladd", x, y, z)

    def splat(self, b: ir.IRBuilder, value: IR) -> IR:
        """A scalar in every lane."""
        return broadcast(b, value, self.tile.lanes)

    def load(self, b: ir.IRBuilder, pointer: IR) -> IR:
        """A vector."""
        return b.load(pointer, align=self.tile.size, typ=self.tile.vector)

    def store(self, b: ir.IRBuilder, value: IR, pointer: IR) -> None:
        """Stores a vector."""
        b.store(value, pointer, align=self.tile.size)

    def first_lanes(self, b: ir.IRBuilder, count: IR) -> IR:
        """A mask of the lanes before ``count``."""
        lanes = ir.Constant(ir.VectorType(I32, self.tile.lanes), list(range(self.tile.lanes)))
        return b.icmp_signed("<", lanes, self.splat(b, b.trunc(count, I32)))

    def strips(self, b: ir.IRBuilder, length: IR) -> Iterator[tuple[IR, IR | None]]:
        """A loop over some elements: the index of each vector's first one, and the mask of its lanes that exist, or None for all of them.

        What is written for one item is the body; where masks are slow, there are two of them.
        """
        if self.tile.masks:
            with loop(b, number(0), length, self.tile.lanes) as index:
                yield index, self.first_lanes(b, b.sub(length, index))
            return
        whole = b.and_(length, number(-self.tile.lanes))
        with loop(b, number(0), whole, self.tile.lanes) as index:
            yield index, None
        with b.if_then(b.icmp_signed("<", whole, length)):
            yield whole, self.first_lanes(b, b.sub(length, whole))

    def masked_load(self, b: ir.IRBuilder, pointer: IR, mask: IR | None) -> IR:
        """A vector with zeros where the mask is false; nothing is read there."""
        return self.load(b, pointer) if mask is None else masked_load(b, pointer, mask, self.tile.vector, self.tile.size)

    def masked_store(self, b: ir.IRBuilder, value: IR, pointer: IR, mask: IR | None) -> None:
        """Stores where the mask is true."""
        if mask is None:
            self.store(b, value, pointer)
        else:
            masked_store(b, value, pointer, mask, self.tile.size)

    def add(self, b: ir.IRBuilder, x: IR, y: IR) -> IR:
        """x + y; integers wrap around."""
        return b.add(x, y) if self.tile.integer else b.fadd(x, y)

    def between(self, b: ir.IRBuilder, value: IR, lower_bound: IR, upper_bound: IR) -> IR:
        """The nearest value between the bounds, in each lane; NaN stays NaN."""
        compare = b.icmp_signed if self.tile.integer else b.fcmp_ordered
        value = b.select(compare("<", value, lower_bound), lower_bound, value)
        return b.select(compare(">", value, upper_bound), upper_bound, value)

    def times_rate(self, b: ir.IRBuilder, alpha: IR, rate: IR, has_rate: IR) -> IR:
        """``alpha`` times the number at the address ``rate``, if there is one."""
        one = allocate(b, self.tile.scalar, 1)
        b.store(ir.Constant(self.tile.scalar, 1.0), one)
        return b.fmul(alpha, b.load(b.select(b.icmp_signed("!=", has_rate, number(0)), rate, one), align=self.tile.size, typ=self.tile.scalar))

    def number(self, b: ir.IRBuilder, word: IR) -> IR:
        """The number of the element type in the lower bits of a word."""
        bits = word if self.tile.size == 8 else b.trunc(word, I32)
        return bits if self.tile.integer else b.bitcast(bits, self.tile.scalar)
