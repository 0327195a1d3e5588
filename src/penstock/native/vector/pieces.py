"""The parts that kernels are made of, as LLVM IR: numbers, loops, places in memory."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from penstock.graph.dtypes import DType
from penstock.native.vector.builder import NARROW, scalar_type
from penstock.native.vector.vectors import I8, I64, IR

VOID = ir.VoidType()


def number(value: int) -> ir.Constant:
    """A 64-bit integer."""
    return ir.Constant(I64, value)


def advance(b: ir.IRBuilder, pointer: IR, offset: IR) -> IR:
    """A pointer moved by bytes."""
    return b.gep(pointer, [offset], source_etype=I8)


@contextmanager
def loop(b: ir.IRBuilder, start: IR, stop: IR, step: int | IR = 1) -> Iterator[IR]:
    """for index in range(start, stop, step)."""
    head, body, done = (b.append_basic_block(name) for name in ("head", "body", "done"))
    before = b.block
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(I64)
    index.add_incoming(start, before)
    b.cbranch(b.icmp_signed("<", index, stop), body, done)
    b.position_at_end(body)
    yield index
    index.add_incoming(b.add(index, number(step) if isinstance(step, int) else step), b.block)
    b.branch(head)
    b.position_at_end(done)


def memory_type(dtype: DType) -> ir.Type:
    """The LLVM type of an element in memory."""
    scalar = scalar_type(dtype)
    return ir.IntType(16) if dtype in NARROW else I8 if dtype.is_bool else scalar
