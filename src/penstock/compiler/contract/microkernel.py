"""The inner loop of all contractions: a tile of C, in registers, plus the product of a packed piece of A with a panel of B. As LLVM IR.

    C[i, j] = max(added[i, j] + alpha * sum over k of A[i, k] * B[k, j], floor)

A lies in a buffer in which every element of a tile is a fixed distance from one pointer. Either rows of A are rows of the buffer, ``STRIDE`` elements
apart ("rows"), or the buffer has, for each tile, one short row for each k ("columns"). There is a function for each way, even number of rows and
number of vectors that a tile can have; ``table`` holds their addresses.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from penstock.compiler import target
from penstock.compiler.vector.pieces import VOID, advance, number
from penstock.compiler.vector.vectors import I1, I64, IR, POINTER

DEPTH = 256  # elements of A's buffer that are used in each row
STRIDE = DEPTH + 16  # elements between its rows: not a power of two, or all rows would compete for the same lines of the cache
PAIR = 2  # tiles have an even number of rows: a function for each number would take twice as long to compile
I32 = ir.IntType(32)
_LINE = 64  # bytes that a cache fetches at once


class _Literal(ir.Constant):  # type: ignore[misc]
    """A constant vector in LLVM's short notation: llvmlite would spell out each element."""

    def __init__(self, kind: ir.Type, text: str) -> None:
        self._text = text
        super().__init__(kind, None)

    def get_reference(self) -> str:
        return self._text


def zeros(kind: ir.Type) -> ir.Constant:
    """Zero in every lane."""
    return _Literal(kind, "zeroinitializer")


@dataclass(frozen=True)
class Tile:
    """The registers of a CPU as a tile: ``rows`` of up to ``vectors`` vectors of ``lanes`` elements of ``size`` bytes."""

    size: int
    lanes: int
    rows: int
    vectors: int = 2

    @property
    def columns(self) -> int:
        """Elements in a full row."""
        return self.vectors * self.lanes

    @property
    def scalar(self) -> ir.Type:
        """LLVM's type of an element."""
        return ir.FloatType() if self.size == 4 else ir.DoubleType()

    @property
    def vector(self) -> ir.VectorType:
        """LLVM's type of a vector."""
        return ir.VectorType(self.scalar, self.lanes)

    @property
    def line(self) -> int:
        """Bytes of whole vectors that hold one element for each row."""
        return -(-self.rows // self.lanes) * self.lanes * self.size

    @property
    def buffer_rows(self) -> int:
        """How many rows of A a buffer holds: a multiple of the tile's. It is to stay in the second-level cache, which is larger with wide vectors."""
        return -(-(2 * DEPTH if self.lanes * self.size == 64 else DEPTH) // self.rows) * self.rows


@functools.cache
def tile_for(size: int) -> Tile:
    """The tile of this CPU for elements of this size."""
    features = target.features().split(",")
    if "+avx512f" in features:
        return Tile(size, 64 // size, 14)
    if "+avx2" in features:
        return Tile(size, 32 // size, 6)
    return Tile(size, 16 // size, 6 if target.triple().startswith(("x86", "i686")) else 12)


class Module:
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

    def intrinsic(self, name: str, result: ir.Type, parameters: Sequence[ir.Type]) -> ir.Function:
        """An intrinsic, declared once."""
        found = self.module.globals.get(name)
        return ir.Function(self.module, ir.FunctionType(result, parameters), name) if found is None else found

    def fma(self, b: ir.IRBuilder, x: IR, y: IR, z: IR) -> IR:
        """x * y + z, fused where the CPU can do that."""
        kind = self.tile.vector
        return b.call(self.intrinsic(f"llvm.fmuladd.{self._suffix}", kind, [kind] * 3), [x, y, z])

    def splat(self, b: ir.IRBuilder, value: IR) -> IR:
        """A scalar in every lane."""
        kind = ir.VectorType(value.type, self.tile.lanes)
        nothing = _Literal(kind, "poison")
        lane = b.insert_element(nothing, value, ir.Constant(I32, 0))
        return b.shuffle_vector(lane, nothing, zeros(ir.VectorType(I32, self.tile.lanes)))

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

    def masked_load(self, b: ir.IRBuilder, pointer: IR, mask: IR) -> IR:
        """A vector with zeros where the mask is false; nothing is read there."""
        kind = self.tile.vector
        function = self.intrinsic(f"llvm.masked.load.{self._suffix}.p0", kind, [POINTER, I32, ir.VectorType(I1, self.tile.lanes), kind])
        return b.call(function, [pointer, ir.Constant(I32, self.tile.size), mask, zeros(kind)])

    def masked_store(self, b: ir.IRBuilder, value: IR, pointer: IR, mask: IR) -> None:
        """Stores where the mask is true."""
        kind = self.tile.vector
        function = self.intrinsic(f"llvm.masked.store.{self._suffix}.p0", VOID, [kind, POINTER, I32, ir.VectorType(I1, self.tile.lanes)])
        b.call(function, [value, pointer, ir.Constant(I32, self.tile.size), mask])

    def at_least(self, b: ir.IRBuilder, value: IR, floor: IR) -> IR:
        """The larger one of each lane; NaN stays NaN."""
        return b.select(b.fcmp_ordered("<", value, floor), floor, value)

    def number(self, b: ir.IRBuilder, word: IR) -> IR:
        """The number of the element type in the lower bits of a word."""
        return b.bitcast(word if self.tile.size == 8 else b.trunc(word, I32), self.tile.scalar)

    @property
    def _suffix(self) -> str:
        return f"v{self.tile.lanes}f{self.tile.size * 8}"


def minimum(b: ir.IRBuilder, x: IR, y: IR) -> IR:
    """The smaller integer."""
    return b.select(b.icmp_signed("<", x, y), x, y)


def maximum(b: ir.IRBuilder, x: IR, y: IR) -> IR:
    """The larger integer."""
    return b.select(b.icmp_signed(">", x, y), x, y)


class _Pointed:
    """A function known by its address: llvmlite wants to see its type."""

    def __init__(self, pointer: IR, function_type: ir.FunctionType) -> None:
        self.type, self.function_type, self.get_reference = pointer.type, function_type, pointer.get_reference


class MicroKernels:
    """The functions ``micro(a, b, b_step, added, added_step, c, c_step, k, alpha, floor)``; steps are in bytes."""

    def __init__(self, module: Module) -> None:
        self.m, self.tile = module, module.tile
        scalar = self.tile.scalar
        self.parameters = [POINTER, POINTER, I64, POINTER, I64, POINTER, I64, I64, scalar, scalar]
        heights = range(PAIR, self.tile.rows + 1, PAIR)
        self.functions = [self._micro(columns, rows, vectors) for columns in (False, True) for vectors in range(1, self.tile.vectors + 1)
                          for rows in heights]
        self.table = self._table()

    def choose(self, b: ir.IRBuilder, columns: IR, rows: IR, vectors: IR) -> IR:
        """The function for a tile of this size; ``columns`` is how A lies in its buffer, as 0 or 1."""
        width = b.add(b.mul(columns, number(self.tile.vectors)), b.sub(vectors, number(1)))
        index = b.add(b.mul(width, number(self.tile.rows // PAIR)), b.sub(b.udiv(rows, number(PAIR)), number(1)))
        return b.load(b.gep(self.table, [index], source_etype=POINTER), typ=POINTER)

    def call(self, b: ir.IRBuilder, function: IR, arguments: Sequence[IR]) -> None:
        """Calls one of them by its address."""
        b.call(_Pointed(function, self.functions[0].function_type), arguments)

    def _table(self) -> IR:
        kind = ir.ArrayType(POINTER, len(self.functions))
        table = ir.GlobalVariable(self.m.module, kind, "micro_kernels")
        table.linkage, table.global_constant = "internal", True
        table.initializer = ir.Constant(kind, self.functions)
        return table

    def _micro(self, columns: bool, rows: int, vectors: int) -> ir.Function:
        function, b = self.m.function(f"micro_{'columns' if columns else 'rows'}_{rows}x{vectors}", self.parameters)
        a, panel, b_step, added, added_step, c, c_step, depth, alpha, floor = function.args
        size = self.tile.size
        self.row, self.step = (size, self.tile.line) if columns else (STRIDE * size, size)  # bytes to the next row of the tile, to the next k
        self._ask_for(b, c, c_step, rows, vectors)
        state, whole = [a, panel, *[zeros(self.tile.vector)] * (rows * vectors)], number(0)
        if columns:  # by measurement: two at a time are a fifth faster, which they are not for rows
            whole = b.and_(depth, number(-2))
            state = self._loop(b, number(0), whole, 2, state, b_step, rows)
        state = self._loop(b, whole, depth, 1, state, b_step, rows)
        self._finish(b, state[2:], vectors, (added, added_step, c, c_step), self.m.splat(b, alpha), self.m.splat(b, floor))
        b.ret_void()
        return function

    def _ask_for(self, b: ir.IRBuilder, c: IR, c_step: IR, rows: int, vectors: int) -> None:
        """The cache is to have the tile of C when its sums are there."""
        prefetch = self.m.intrinsic("llvm.prefetch.p0", VOID, [POINTER, I32, I32, I32])
        for row in range(rows):
            for offset in range(0, vectors * self.tile.lanes * self.tile.size, _LINE):
                b.call(prefetch, [advance(b, c, number(offset)), *(ir.Constant(I32, each) for each in (0, 3, 1))])
            c = advance(b, c, c_step) if row + 1 < rows else c

    def _loop(self, b: ir.IRBuilder, start: IR, stop: IR, unroll: int, state: list[IR], b_step: IR, rows: int) -> list[IR]:
        """for k in range(start, stop, unroll). The state is the two pointers and the tile."""
        before = b.block
        head, body, done = (b.append_basic_block(name) for name in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        index, phis = b.phi(I64), [b.phi(value.type) for value in state]
        b.cbranch(b.icmp_signed("<", index, stop), body, done)
        b.position_at_end(body)
        after = self._steps(b, unroll, phis, b_step, rows)
        following = b.add(index, number(unroll))
        b.branch(head)
        for phi, first, again in [(index, start, following), *zip(phis, state, after)]:
            phi.add_incoming(first, before)
            phi.add_incoming(again, body)
        b.position_at_end(done)
        return list(phis)

    def _steps(self, b: ir.IRBuilder, unroll: int, state: list[IR], b_step: IR, rows: int) -> list[IR]:
        a, panel, *sums = state
        vectors = len(sums) // rows
        for k in range(unroll):
            right = [self.m.load(b, advance(b, panel, number(v * self.tile.lanes * self.tile.size))) for v in range(vectors)]
            panel = advance(b, panel, b_step)
            for i in range(rows):
                place = advance(b, a, number(i * self.row + k * self.step))
                left = self.m.splat(b, b.load(place, align=self.tile.size, typ=self.tile.scalar))
                for v in range(vectors):
                    sums[i * vectors + v] = self.m.fma(b, left, right[v], sums[i * vectors + v])
        return [advance(b, a, number(unroll * self.step)), panel, *sums]

    def _finish(self, b: ir.IRBuilder, sums: list[IR], vectors: int, places: tuple[IR, IR, IR, IR], alpha: IR, floor: IR) -> None:
        added, added_step, c, c_step = places
        for index, total in enumerate(sums):
            row, v = divmod(index, vectors)
            if row and not v:
                added, c = advance(b, added, added_step), advance(b, c, c_step)
            offset = number(v * self.tile.lanes * self.tile.size)
            value = self.m.fma(b, total, alpha, self.m.load(b, advance(b, added, offset)))
            self.m.store(b, self.m.at_least(b, value, floor), advance(b, c, offset))
