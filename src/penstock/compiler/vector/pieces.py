"""The parts that kernels are made of, as LLVM IR: numbers, loops, places in memory, and what an op's ``lower`` says."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir

from penstock.compiler.fusion.nest import Step, result_types
from penstock.compiler.unsupported import Unsupported
from penstock.compiler.vector.builder import NARROW, Value, VectorBuilder, scalar_type
from penstock.compiler.vector.vectors import I8, I64, IR, vector
from penstock.graph.dtypes import DType

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


def lower(b: VectorBuilder, step: Step, operands: Sequence[Value]) -> list[Value]:
    """One step by the op's own ``lower``; its results."""
    definition, attrs = step.definition, step.attrs
    if definition.lower is None:
        raise Unsupported(f"op {definition.type} has no lowering")
    arguments = definition.arguments(operands, attrs)
    getters = definition.parameters_of(definition.lower)
    try:
        result = definition.lower(*[b if name == "b" else arguments[name] if isinstance(name, int) else attrs[name] for name in getters])
        dtypes = result_types(definition, attrs, len(definition.updates))
        return [b.typed(each, dtype) for each, dtype in zip(result if isinstance(result, tuple) else [result], dtypes, strict=True)]
    except Unsupported as reason:
        raise Unsupported(f"{definition.type}: {reason}") from None
    except NotImplementedError as reason:
        raise Unsupported(f"{definition.type}: {reason}") from reason


def try_lowering(step: Step, dtypes: Sequence[DType]) -> int:
    """How many LLVM instructions a step is; the code is thrown away. Raises Unsupported if it cannot be part of a kernel."""
    kinds = [vector(scalar_type(dtype)) for dtype in dtypes]
    function = ir.Function(ir.Module(), ir.FunctionType(VOID, kinds), "trial")
    builder = VectorBuilder(ir.IRBuilder(function.append_basic_block()))
    lower(builder, step, [Value(argument, dtype) for argument, dtype in zip(function.args, dtypes)])
    return sum(len(block.instructions) for block in function.blocks)
