"""The parts that kernels are made of, as LLVM IR: the body over plain arrays, copies to buffers, and where inputs are at an index."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir

from penstock.compiler.fusion_body import Body, Instruction, Unsupported
from penstock.compiler.nest import Step, result_types
from penstock.compiler.vector_builder import NARROW, Value, VectorBuilder, scalar_type
from penstock.compiler.vectors import I8, I64, IR, LANES, POINTER, splat, vector
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


def lower(b: VectorBuilder, step: Step | Instruction, operands: Sequence[Value]) -> list[Value]:
    """One step by the op's own ``lower``; its results."""
    definition, attrs = step.definition, step.attrs
    if definition.lower is None:
        raise Unsupported(f"op {definition.type} has no lowering")
    arguments = definition.arguments(operands, attrs)
    getters = definition._parameters(definition.lower)
    try:
        result = definition.lower(*[b if name == "b" else arguments[name] if isinstance(name, int) else attrs[name] for name in getters])
        dtypes = result_types(definition, attrs, len(definition.updates))
        return [b.typed(each, dtype) for each, dtype in zip(result if isinstance(result, tuple) else [result], dtypes, strict=True)]
    except Unsupported as reason:
        raise Unsupported(f"{definition.type}: {reason}") from None
    except NotImplementedError as reason:
        raise Unsupported(f"{definition.type}: {reason}") from reason


def try_lowering(instruction: Step | Instruction, dtypes: Sequence[DType]) -> int:
    """How many LLVM instructions a step is; the code is thrown away. Raises Unsupported if it cannot be part of a kernel."""
    kinds = [vector(scalar_type(dtype)) for dtype in dtypes]
    function = ir.Function(ir.Module(), ir.FunctionType(VOID, kinds), "trial")
    builder = VectorBuilder(ir.IRBuilder(function.append_basic_block()))
    lower(builder, instruction, [Value(argument, dtype) for argument, dtype in zip(function.args, dtypes)])
    return sum(len(block.instructions) for block in function.blocks)


class Pieces:
    """A module with the functions that the loops of a kernel call."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.inputs, self.outputs = body.input_dtypes, body.output_dtypes
        self.module = ir.Module()
        self.compute = self._compute()
        self.stages = {size: self._stage(size) for size in sorted({dtype.size for dtype in self.inputs})}
        self.locate = self._locate()
        self.staged_rows = {size: self._stage_rows(size) for size in self.stages}

    def function(self, name: str, parameters: list[ir.Type], result: ir.Type = VOID) -> tuple[ir.Function, ir.IRBuilder]:
        function = ir.Function(self.module, ir.FunctionType(result, parameters), name)
        function.linkage = "internal"
        return function, ir.IRBuilder(function.append_basic_block("entry"))

    def _compute(self) -> ir.Function:
        """compute(inputs..., outputs..., count): the body, for a whole number of vectors in plain arrays."""
        count = len(self.inputs) + len(self.outputs)
        function, b = self.function("compute", [POINTER] * count + [I64])
        function.attributes.add("noinline")
        with loop(b, number(0), function.args[-1], LANES) as index:
            v = VectorBuilder(b)
            values = [self._load(v, b.gep(pointer, [index], source_etype=memory_type(dtype)), dtype)
                      for pointer, dtype in zip(function.args, self.inputs)]
            for instruction in self.body.instructions:
                values += lower(v, instruction, [values[operand] for operand in instruction.operands])
            for pointer, output in zip(function.args[len(self.inputs):], self.body.outputs):
                element = self._to_memory(v, values[output])
                b.store(element, b.gep(pointer, [index], source_etype=element.type.element), align=1)
        b.ret_void()
        return function

    def _load(self, v: VectorBuilder, pointer: IR, dtype: DType) -> Value:
        value = v.builder.load(pointer, align=1, typ=vector(memory_type(dtype)))
        if dtype in NARROW:
            value = v.widen(value, dtype)
        elif dtype.is_bool:
            value = v.builder.icmp_unsigned("!=", value, splat(I8, 0))
        return Value(value, dtype)

    def _to_memory(self, v: VectorBuilder, value: Value) -> IR:
        if value.dtype.is_bool:
            return v.builder.zext(value.ir, vector(I8))
        return v.narrow(value.ir, value.dtype) if value.dtype in NARROW else value.ir

    def _stage(self, size: int) -> ir.Function:
        """stage(buffer, source, stride, count): copies elements that are ``stride`` bytes apart, and zeros after them."""
        function, b = self.function(f"stage{size}", [POINTER, POINTER, I64, I64])
        buffer, source, stride, count = function.args
        element = ir.IntType(size * 8)
        with b.if_else(b.icmp_signed("==", stride, number(0))) as (fixed, moving):
            with fixed:
                lane = b.insert_element(splat(element, 0), b.load(source, align=1, typ=element), ir.Constant(ir.IntType(32), 0))
                value = b.shuffle_vector(lane, lane, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))
                with loop(b, number(0), count, LANES) as index:
                    b.store(value, b.gep(buffer, [index], source_etype=element), align=1)
            with moving, b.if_else(b.icmp_signed("==", stride, number(size))) as (plain, strided):
                with plain:
                    self.copy(b, buffer, source, b.mul(count, stride))
                with strided, loop(b, number(0), count) as index:
                    value = b.load(advance(b, source, b.mul(index, stride)), align=1, typ=element)
                    b.store(value, b.gep(buffer, [index], source_etype=element), align=1)
        rest = b.gep(buffer, [count], source_etype=element)
        b.store(splat(element, 0), rest, align=1)
        b.ret_void()
        return function

    def _stage_rows(self, size: int) -> ir.Function:
        """stage_rows(buffer, source, row stride, stride, rows, count): copies rows one after the other."""
        function, b = self.function(f"stage_rows{size}", [POINTER, POINTER, I64, I64, I64, I64])
        buffer, source, row_stride, stride, rows, count = function.args
        length = b.mul(count, number(size))
        plain = b.and_(b.icmp_signed("==", stride, number(size)), b.icmp_signed("==", row_stride, length))
        with b.if_else(plain) as (together, apart):
            with together:
                b.call(self.stages[size], [buffer, source, stride, b.mul(rows, count)])
            with apart, loop(b, number(0), rows) as row:
                target = advance(b, buffer, b.mul(row, length))
                b.call(self.stages[size], [target, advance(b, source, b.mul(row, row_stride)), stride, count])
        b.ret_void()
        return function

    def _locate(self) -> ir.Function:
        """locate(table, rank, index, from, to): the places of the inputs at a linear index over some axes.

        The table has for each axis its extent and the inputs' strides. The first axis needs no division.
        """
        function, b = self.function("locate", [POINTER, I64, I64, POINTER, POINTER])
        table, rank, index, origin, result = function.args
        entry = number((1 + len(self.inputs)) * 8)
        for k in range(len(self.inputs)):
            b.store(self.item(b, origin, k), b.gep(result, [number(k)], source_etype=POINTER))
        left, place = b.alloca(I64), b.alloca(I64)
        b.store(index, left)
        with loop(b, number(0), rank) as step:
            axis = b.sub(b.sub(rank, number(1)), step)
            row = advance(b, table, b.mul(axis, entry))
            remaining = b.load(left, typ=I64)
            b.store(remaining, place)
            with b.if_then(b.icmp_signed(">", axis, number(0))):
                extent = b.load(row, typ=I64)
                b.store(b.urem(remaining, extent), place)
                b.store(b.udiv(remaining, extent), left)
            coordinate = b.load(place, typ=I64)
            for k in range(len(self.inputs)):
                stride = b.load(advance(b, row, number(8 * (1 + k))), typ=I64)
                slot = b.gep(result, [number(k)], source_etype=POINTER)
                b.store(advance(b, b.load(slot, typ=POINTER), b.mul(coordinate, stride)), slot)
        b.ret_void()
        return function

    def item(self, b: ir.IRBuilder, array: IR, index: int) -> IR:
        return b.load(b.gep(array, [number(index)], source_etype=POINTER), typ=POINTER)

    def copy(self, b: ir.IRBuilder, place: IR, source: IR, size: IR) -> None:
        kinds = [POINTER, POINTER, I64, ir.IntType(1)]
        name = "llvm.memcpy.p0.p0.i64"
        copy = self.module.globals.get(name) or ir.Function(self.module, ir.FunctionType(VOID, kinds), name)
        b.call(copy, [place, source, size, ir.Constant(ir.IntType(1), 0)])
