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

from penstock.native.calls import ARRAY_DATA
from penstock.native.unsupported import Unsupported
from penstock.native.vector.pieces import VOID, advance, loop, number
from penstock.native.vector.vectors import I1, I64, IR, LANES, POINTER, declared, width

FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
I32 = ir.IntType(32)


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


class Writer:
    """One kernel while it is written. Operands (pointers) and numbers are attributes under the names they are given."""

    def __init__(self, operands: Sequence[str], numbers: Sequence[str] = ()) -> None:
        self.module = ir.Module()
        function = ir.Function(self.module, ir.FunctionType(VOID, [POINTER]), "kernel")
        self.b = b = ir.IRBuilder(function.append_basic_block("entry"))
        self.words = function.args[0]
        for position, name in enumerate(operands):
            cell = b.load(b.gep(self.words, [number(position)], source_etype=I64), typ=POINTER)
            setattr(self, name, b.load(advance(b, cell, number(ARRAY_DATA)), typ=POINTER))
        for position, name in enumerate(numbers, len(operands)):
            setattr(self, name, b.load(b.gep(self.words, [number(position)], source_etype=I64), typ=I64))
        self.after = b.gep(self.words, [number(len(operands) + len(numbers))], source_etype=I64)  # the words that have no names

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
        flags = [ir.Constant(I32, int(write)), ir.Constant(I32, 3), ir.Constant(I32, 1)]
        self.b.call(self.declare("llvm.prefetch.p0", VOID, [POINTER, I32, I32, I32]), [pointer, *flags])

    def declare(self, name: str, result: ir.Type, parameters: Sequence[ir.Type]) -> ir.Function:
        """An intrinsic or a function of the C library."""
        return declared(self.module, name, result, parameters)

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

    def least(self, x: IR, y: IR) -> IR:
        """The smaller of two signed integers."""
        return self.b.select(self.b.icmp_signed("<", x, y), x, y)

    def most(self, x: IR, y: IR) -> IR:
        """The larger of two signed integers."""
        return self.b.select(self.b.icmp_signed(">", x, y), x, y)

    # --- vectors -----------------------------------------------------------------------------------------------------

    def same(self, scalar: ir.Type, value: Any, lanes: int) -> IR:
        """A constant in every lane."""
        constant = ir.Constant(scalar, value)
        return constant if lanes == 1 else ir.Constant(of(scalar, lanes), [constant] * lanes)

    def spread(self, value: IR, lanes: int) -> IR:
        """A scalar in every lane."""
        if lanes == 1:
            return value
        kind = ir.VectorType(value.type, lanes)
        first = self.b.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(I32, 0))
        return self.b.shuffle_vector(first, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))

    def intrinsic(self, name: str, *operands: IR) -> IR:
        """``llvm.NAME`` for operands of one type."""
        kind = operands[0].type
        scalar, prefix = (kind.element, f"v{kind.count}") if isinstance(kind, ir.VectorType) else (kind, "")
        suffix = f"{prefix}{'i' if isinstance(scalar, ir.IntType) else 'f'}{8 * size(scalar)}"
        return self.b.call(self.declare(f"llvm.{name}.{suffix}", kind, [kind] * len(operands)), operands)

    def shuffle(self, x: IR, y: IR, lanes: Sequence[int]) -> IR:
        """Lanes of x and, counted on, of y."""
        return self.b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes)))
