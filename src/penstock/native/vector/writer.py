"""Writing a kernel by hand: ``kernel(words)`` in LLVM IR, with its operands and numbers loaded, loops, and vectors of any width.

    w = Writer(["source", "target"], ["count"])
    def double(index, lanes):
        x = w.load(w.item(w.source, index, FLOAT), FLOAT, lanes)
        w.store(w.b.fadd(x, x), w.item(w.target, index, FLOAT), FLOAT)
    w.strips(w.count, double)
    text = w.finish()
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir

from penstock.native.unsupported import Unsupported
from penstock.native.vector.kernel import Kernel
from penstock.native.vector.pieces import advance, loop, maximum, minimum, number
from penstock.native.vector.vectors import I1, I32, I64, IR, LANES, POINTER, VOID, broadcast, declare, intrinsic, prefetch, width

FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()


def element(dtype: np.dtype) -> ir.Type:
    """The LLVM type of an element that is computed with; narrow floats and complex numbers have none."""
    if dtype.kind == "f" and dtype.itemsize in (4, 8):
        return FLOAT if dtype.itemsize == 4 else DOUBLE
    if dtype.kind in "iub":
        return ir.IntType(8 * dtype.itemsize)
    raise Unsupported(f"no native arithmetic for {dtype}")


def word(itemsize: int) -> ir.Type:
    """The LLVM type of an element that is only moved."""
    if itemsize not in (1, 2, 4, 8, 16):
        raise Unsupported(f"elements of {itemsize} bytes")
    return ir.IntType(8 * itemsize)


def of(scalar: ir.Type, lanes: int) -> ir.Type:
    """A vector of the type, or for one lane the type itself."""
    return scalar if lanes == 1 else ir.VectorType(scalar, lanes)


def size(scalar: ir.Type) -> int:
    """In bytes."""
    return width(scalar) // 8


class Writer(Kernel):
    """One kernel while it is written. Operands (pointers) and numbers are attributes under the names they are given."""

    def __init__(self, operands: Sequence[str], numbers: Sequence[str] = ()) -> None:
        super().__init__()
        for name, value in (*self.operands(operands).items(), *self.numbers(numbers).items()):
            setattr(self, name, value)
        self.after = self.rest

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the kernel has no operand or number {name}")

    def finish(self) -> str:
        """Ends the function; the module as text."""
        self.b.ret_void()
        return str(self.module)

    # --- memory ------------------------------------------------------------------------------------------------------

    def at(self, pointer: IR, offset: IR | int) -> IR:
        """A pointer moved by bytes."""
        return advance(self.b, pointer, number(offset) if isinstance(offset, int) else offset)

    def item(self, pointer: IR, index: IR | int, scalar: ir.Type) -> IR:
        """A pointer moved by elements."""
        return self.b.gep(pointer, [number(index) if isinstance(index, int) else index], source_etype=scalar)

    def load(self, pointer: IR, scalar: ir.Type, lanes: int = 1) -> IR:
        """Elements that follow each other; nothing is assumed but the alignment of one element."""
        return self.b.load(pointer, align=size(scalar), typ=of(scalar, lanes))

    def store(self, value: IR, pointer: IR, scalar: ir.Type) -> None:
        """Writes what ``load`` reads."""
        self.b.store(value, pointer, align=size(scalar))

    def copy_bytes(self, target: IR, source: IR, count: IR) -> None:
        """memcpy."""
        self.b.call(self.declare("llvm.memcpy.p0.p0.i64", VOID, [POINTER, POINTER, I64, I1]), [target, source, count, ir.Constant(I1, 0)])

    def clear_bytes(self, target: IR, count: IR) -> None:
        """memset to 0."""
        kinds = [POINTER, ir.IntType(8), I64, I1]
        self.b.call(self.declare("llvm.memset.p0.i64", VOID, kinds), [target, ir.Constant(ir.IntType(8), 0), count, ir.Constant(I1, 0)])

    def prefetch(self, pointer: IR, write: bool) -> None:
        """Asks for a cache line that is needed soon; any address is allowed."""
        prefetch(self.b, pointer, write)

    def declare(self, name: str, result: ir.Type, parameters: Sequence[ir.Type]) -> ir.Function:
        """An intrinsic or a function of the C library."""
        return declare(self.module, name, result, parameters)

    def variable(self, kind: ir.Type, start: IR) -> IR:
        """A place on the stack that becomes a register; made in the first block, so that loops do not make it again."""
        with self.b.goto_entry_block():
            place = self.b.alloca(kind)
            place.type = POINTER
        self.b.store(start, place)
        return place

    # --- loops -------------------------------------------------------------------------------------------------------

    def range(self, stop: IR, start: IR | int = 0, step: IR | int = 1) -> Any:
        """``with w.range(n) as i:``"""
        return loop(self.b, number(start) if isinstance(start, int) else start, number(stop) if isinstance(stop, int) else stop, step)

    def strips(self, count: IR, body: Callable[[IR, int], None], lanes: int = LANES, unroll: int = 1) -> None:
        """body(index, lanes) for all elements: whole vectors first (``unroll`` of them at a time), then the rest one by one."""
        b, start = self.b, number(0)
        for step in (lanes * unroll, lanes, 1) if unroll > 1 else (lanes, 1):
            stop = b.sub(count, b.and_(b.sub(count, start), number(step - 1))) if step > 1 else count
            with self.range(stop, start, step) as index:
                for k in range(max(step // lanes, 1)):
                    body(b.add(index, number(k * lanes)) if k else index, min(step, lanes))
            start = stop

    @contextmanager
    def walk(self, rank: IR, table: IR, strides: int) -> Iterator[list[IR]]:
        """Every index over ``rank`` axes: the table has per axis its extent and ``strides`` strides. Yields the offsets, in bytes."""
        b = self.b
        total = self.variable(I64, number(1))
        entry = number(8 * (1 + strides))
        with self.range(rank) as axis:
            b.store(b.mul(b.load(total, typ=I64), b.load(self.at(table, b.mul(axis, entry)), typ=I64)), total)
        left, offsets = self.variable(I64, number(0)), [self.variable(I64, number(0)) for _ in range(strides)]
        with self.range(b.load(total, typ=I64)) as index:
            b.store(index, left)
            for place in offsets:
                b.store(number(0), place)
            with self.range(rank) as step:
                row = self.at(table, b.mul(b.sub(b.sub(rank, number(1)), step), entry))
                remaining, extent = b.load(left, typ=I64), b.load(row, typ=I64)
                coordinate = b.urem(remaining, extent)
                b.store(b.udiv(remaining, extent), left)
                for k, place in enumerate(offsets):
                    stride = b.load(self.at(row, 8 * (1 + k)), typ=I64)
                    b.store(b.add(b.load(place, typ=I64), b.mul(coordinate, stride)), place)
            yield [b.load(place, typ=I64) for place in offsets]

    def minimum(self, x: IR, y: IR) -> IR:
        """The smaller of two signed integers."""
        return minimum(self.b, x, y)

    def maximum(self, x: IR, y: IR) -> IR:
        """The larger of two signed integers."""
        return maximum(self.b, x, y)

    # --- vectors -----------------------------------------------------------------------------------------------------

    def splat(self, scalar: ir.Type, value: Any, lanes: int) -> IR:
        """A constant in every lane."""
        constant = ir.Constant(scalar, value)
        return constant if lanes == 1 else ir.Constant(of(scalar, lanes), [constant] * lanes)

    def broadcast(self, value: IR, lanes: int) -> IR:
        """A scalar in every lane."""
        return value if lanes == 1 else broadcast(self.b, value, lanes)

    def intrinsic(self, name: str, *operands: IR) -> IR:
        """``llvm.NAME`` for operands of one type."""
        return intrinsic(self.b, name, *operands)

    def shuffle(self, x: IR, y: IR, lanes: Sequence[int]) -> IR:
        """Lanes of x and, counted on, of y."""
        return self.b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes)))
