"""The parts that kernels are made of, as LLVM IR: numbers, loops, places in memory."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from penstock.native.vector.vectors import I8, I64, IR


def number(value: int) -> ir.Constant:
    """A 64-bit integer."""
    return ir.Constant(I64, value)


def advance(b: ir.IRBuilder, pointer: IR, offset: IR) -> IR:
    """A pointer moved by bytes."""
    return b.gep(pointer, [offset], source_etype=I8)


def minimum(b: ir.IRBuilder, x: IR, y: IR) -> IR:
    """The smaller of two signed integers."""
    return b.select(b.icmp_signed("<", x, y), x, y)


def maximum(b: ir.IRBuilder, x: IR, y: IR) -> IR:
    """The larger of two signed integers."""
    return b.select(b.icmp_signed(">", x, y), x, y)


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
