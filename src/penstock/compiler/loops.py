"""The loops around a fused body, as LLVM IR: ``module_for(body)`` gives the text of a module with one function, ``kernel(words)``.

The space is cut into outer, middle and inner axes (``layout`` does that, and writes the words). The inner axis is run through in blocks. In a
block every operand is a plain array of whole vectors: what is not (broadcast or strided inputs, the rest at the end of an axis) is copied
to a small buffer first, so that there is one inner loop, always vectorised, that never touches memory beyond an array. Three kinds:

    map       for outer: for block of inner: compute                                       outputs are written in place
    rows      for outer: for middle: for block of inner: compute, fold the block            one result per outer index
    columns   for outer: for block of inner: for middle: compute, accumulate                one result per outer and inner index
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from penstock.compiler.folding import Fold
from penstock.compiler.fusion_body import Body, Instruction, Unsupported
from penstock.compiler.vector_builder import NARROW, Value, VectorBuilder, scalar_type
from penstock.compiler.vectors import I8, I64, IR, LANES, POINTER, allocate, splat, vector
from penstock.graph.dtypes import DType

BLOCK = 512  # elements per block: the buffers of a body with ten operands fit into the first cache
SYMBOL = "kernel"
ARRAY_DATA = object.__basicsize__  # where an array object holds the address of its elements
VOID = ir.VoidType()

# The words after the array objects; tables of strides follow.
WORDS = ("outer_start", "outer_stop", "middle_start", "middle_stop", "inner_start", "inner_stop", "inner", "count", "partial", "outer_rank",
         "middle_rank")


def number(value: int) -> ir.Constant:
    """A 64-bit integer."""
    return ir.Constant(I64, value)


def advance(b: ir.IRBuilder, pointer: IR, offset: IR) -> IR:
    """A pointer moved by bytes."""
    return b.gep(pointer, [offset], source_etype=I8)


@contextmanager
def loop(b: ir.IRBuilder, start: IR, stop: IR, step: int = 1) -> Iterator[IR]:
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
    index.add_incoming(b.add(index, number(step)), b.block)
    b.branch(head)
    b.position_at_end(done)


def memory_type(dtype: DType) -> ir.Type:
    """The LLVM type of an element in memory."""
    scalar = scalar_type(dtype)
    return ir.IntType(16) if dtype in NARROW else I8 if dtype.is_bool else scalar


def module_for(body: Body) -> str:
    """The module, as text. Raises Unsupported."""
    return str(_Module(body).module)


def lower(b: VectorBuilder, instruction: Instruction, operands: list[Value]) -> Value:
    """One instruction by the op's own ``lower``."""
    definition, attrs = instruction.definition, instruction.attrs
    if definition.lower is None or len(definition.outputs) != 1 or definition.outputs[0].is_list:
        raise Unsupported(f"op {definition.type} has no lowering")
    arguments = definition.arguments(operands, attrs)
    getters = definition._parameters(definition.lower)
    try:
        result = definition.lower(*[b if name == "b" else arguments[name] if isinstance(name, int) else attrs[name] for name in getters])
        return b.typed(result, instruction.dtype)
    except Unsupported as reason:
        raise Unsupported(f"{definition.type}: {reason}") from None
    except NotImplementedError as reason:
        raise Unsupported(f"{definition.type}: {reason}") from reason


class _Module:
    """Emits a module. Pointers to the operands' current places are kept in small arrays on the stack."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.inputs, self.outputs = body.input_dtypes, body.output_dtypes
        self.module = ir.Module()
        self.folds = [] if body.reduce is None else [Fold(body.reduce.kind, dtype) for dtype in self.outputs]
        self.compute = self._compute()
        self.stages = {size: self._stage(size) for size in sorted({dtype.size for dtype in self.inputs})}
        self.locate = self._locate()
        self._kernel()

    def _function(self, name: str, parameters: list[ir.Type], result: ir.Type = VOID) -> tuple[ir.Function, ir.IRBuilder]:
        function = ir.Function(self.module, ir.FunctionType(result, parameters), name)
        function.linkage = "internal"
        return function, ir.IRBuilder(function.append_basic_block("entry"))

    # --- the parts -----------------------------------------------------------------------------------------------------

    def _compute(self) -> ir.Function:
        """compute(inputs..., outputs..., count): the body, for a whole number of vectors in plain arrays."""
        count = len(self.inputs) + len(self.outputs)
        function, b = self._function("compute", [POINTER] * count + [I64])
        function.attributes.add("noinline")
        with loop(b, number(0), function.args[-1], LANES) as index:
            v = VectorBuilder(b)
            values = [self._load(v, b.gep(pointer, [index], source_etype=memory_type(dtype)), dtype)
                      for pointer, dtype in zip(function.args, self.inputs)]
            for instruction in self.body.instructions:
                values.append(lower(v, instruction, [values[operand] for operand in instruction.operands]))
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
        function, b = self._function(f"stage{size}", [POINTER, POINTER, I64, I64])
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
                    self._copy(b, buffer, source, b.mul(count, stride))
                with strided, loop(b, number(0), count) as index:
                    value = b.load(advance(b, source, b.mul(index, stride)), align=1, typ=element)
                    b.store(value, b.gep(buffer, [index], source_etype=element), align=1)
        rest = b.gep(buffer, [count], source_etype=element)
        b.store(splat(element, 0), rest, align=1)
        b.ret_void()
        return function

    def _locate(self) -> ir.Function:
        """locate(table, rank, index, from, to): the places of the inputs at a linear index over some axes.

        The table has for each axis its extent and the inputs' strides. The first axis needs no division.
        """
        function, b = self._function("locate", [POINTER, I64, I64, POINTER, POINTER])
        table, rank, index, origin, result = function.args
        entry = number((1 + len(self.inputs)) * 8)
        for k in range(len(self.inputs)):
            b.store(self._item(b, origin, k), b.gep(result, [number(k)], source_etype=POINTER))
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

    def _item(self, b: ir.IRBuilder, array: IR, index: int) -> IR:
        return b.load(b.gep(array, [number(index)], source_etype=POINTER), typ=POINTER)

    # --- the kernel ----------------------------------------------------------------------------------------------------

    def _kernel(self) -> None:
        function, b = self._function(SYMBOL, [POINTER])
        function.linkage = "external"
        self.b, words = b, function.args[0]
        arrays = len(self.inputs) + len(self.outputs)
        for position, name in enumerate(WORDS):
            setattr(self, name, b.load(b.gep(words, [number(arrays + position)], source_etype=I64), typ=I64))
        after = arrays + len(WORDS)
        self.strides = [b.load(b.gep(words, [number(after + k)], source_etype=I64), typ=I64) for k in range(len(self.inputs))]
        self.outer_table = b.gep(words, [number(after + len(self.inputs))], source_etype=I64)
        self.middle_table = advance(b, self.outer_table, b.mul(self.outer_rank, number((1 + len(self.inputs)) * 8)))
        data = [b.load(advance(b, b.load(b.gep(words, [number(k)], source_etype=I64), typ=POINTER), number(ARRAY_DATA)), typ=POINTER)
                for k in range(arrays)]
        self.places = [allocate(b, POINTER, max(len(self.inputs), 1)) for _ in range(3)]  # at the start, after outer, after middle
        for k in range(len(self.inputs)):
            b.store(data[k], b.gep(self.places[0], [number(k)], source_etype=POINTER))
        self.results = data[len(self.inputs):]
        self.buffers = [allocate(b, ir.IntType(dtype.size * 8), BLOCK + 2 * LANES) for dtype in self.inputs]
        self.out_buffers = [allocate(b, memory_type(dtype), BLOCK + 4 * LANES) for dtype in self.outputs]
        reduce = self.body.reduce
        emit = self._map if reduce is None else self._columns if reduce.axes == "first" else self._rows
        accumulators = [fold.allocate(b, BLOCK + 4 * LANES if reduce and reduce.axes == "first" else 1) for fold in self.folds]
        with loop(b, self.outer_start, self.outer_stop) as outer:
            b.call(self.locate, [self.outer_table, self.outer_rank, outer, self.places[0], self.places[1]])
            emit(outer, accumulators)
        b.ret_void()

    outer_start: IR
    outer_stop: IR
    middle_start: IR
    middle_stop: IR
    inner_start: IR
    inner_stop: IR
    inner: IR
    count: IR
    partial: IR
    outer_rank: IR
    middle_rank: IR

    def _map(self, outer: IR, _: Any) -> None:
        b = self.b
        origin = b.mul(outer, self.inner)
        results = [b.gep(pointer, [origin], source_etype=memory_type(dtype)) for pointer, dtype in zip(self.results, self.outputs)]
        first = self._whole_vectors(results)
        with loop(b, first, self.inner_stop, BLOCK) as begin:
            count = self._block_size(begin)
            inputs, padded, exact = self._block(self.places[1], begin, count, b.icmp_signed("==", begin, first))
            targets = [b.gep(pointer, [begin], source_etype=memory_type(dtype)) for pointer, dtype in zip(results, self.outputs)]
            written = [b.select(exact, place, buffer) for place, buffer in zip(targets, self.out_buffers)]
            b.call(self.compute, [*inputs, *written, padded])
            with b.if_then(b.not_(exact)):
                for place, buffer, dtype in zip(targets, self.out_buffers, self.outputs):
                    self._copy(b, place, buffer, b.mul(count, number(dtype.size)))

    def _copy(self, b: ir.IRBuilder, place: IR, source: IR, size: IR) -> None:
        kinds = [POINTER, POINTER, I64, ir.IntType(1)]
        name = "llvm.memcpy.p0.p0.i64"
        copy = self.module.globals.get(name) or ir.Function(self.module, ir.FunctionType(VOID, kinds), name)
        b.call(copy, [place, source, size, ir.Constant(ir.IntType(1), 0)])

    def _whole_vectors(self, results: list[IR]) -> IR:
        """If all inputs are plain arrays, computes all whole vectors at one go. Returns where the blocks have to go on."""
        b = self.b
        plain: IR = ir.Constant(ir.IntType(1), 1)
        for stride, dtype in zip(self.strides, self.inputs):
            plain = b.and_(plain, b.icmp_signed("==", stride, number(dtype.size)))
        whole = b.and_(b.sub(self.inner_stop, self.inner_start), number(-LANES))
        whole = b.select(plain, whole, number(0))
        pointers = [b.gep(pointer, [self.inner_start], source_etype=memory_type(dtype)) for pointer, dtype in
                    [(self._item(b, self.places[1], k), dtype) for k, dtype in enumerate(self.inputs)] + list(zip(results, self.outputs))]
        b.call(self.compute, [*pointers, whole])
        return b.add(self.inner_start, whole)

    def _block_size(self, begin: IR) -> IR:
        left = self.b.sub(self.inner_stop, begin)
        return self.b.select(self.b.icmp_signed("<", left, number(BLOCK)), left, number(BLOCK))

    def _block(self, places: IR, begin: IR, count: IR, first: IR) -> tuple[list[IR], IR, IR]:
        """Pointers to the inputs' elements as plain arrays; their number as whole vectors; whether it is just ``count``."""
        b = self.b
        padded = b.and_(b.add(count, number(LANES - 1)), number(-LANES))
        exact = b.icmp_signed("==", padded, count)
        pointers = []
        for k, (dtype, buffer, stride) in enumerate(zip(self.inputs, self.buffers, self.strides)):
            source = advance(b, self._item(b, places, k), b.mul(begin, stride))
            direct = b.and_(exact, b.icmp_signed("==", stride, number(dtype.size)))
            filled = b.and_(b.not_(first), b.icmp_signed("==", stride, number(0)))  # a broadcast input fills its buffer once
            with b.if_then(b.not_(b.or_(direct, filled))):
                b.call(self.stages[dtype.size], [buffer, source, stride, count])
            pointers.append(b.select(direct, source, buffer))
        return pointers, padded, exact

    def _rows(self, outer: IR, accumulators: list[IR]) -> None:
        b = self.b
        for fold, accumulator in zip(self.folds, accumulators):
            fold.start(b, accumulator, row=True)
        with loop(b, self.middle_start, self.middle_stop) as middle:
            b.call(self.locate, [self.middle_table, self.middle_rank, middle, self.places[1], self.places[2]])
            with loop(b, self.inner_start, self.inner_stop, BLOCK) as begin:
                count = self._block_size(begin)
                inputs, padded, _ = self._block(self.places[2], begin, count, b.icmp_signed("==", begin, self.inner_start))
                b.call(self.compute, [*inputs, *self.out_buffers, padded])
                for fold, accumulator, buffer in zip(self.folds, accumulators, self.out_buffers):
                    fold.add_block(b, accumulator, buffer, count)
        for fold, accumulator, result in zip(self.folds, accumulators, self.results):
            fold.finish(b, accumulator, result, outer, self.count, self.partial, row=True)

    def _columns(self, outer: IR, accumulators: list[IR]) -> None:
        b = self.b
        true = ir.Constant(ir.IntType(1), 1)
        origin = b.mul(outer, self.inner)
        with loop(b, self.inner_start, self.inner_stop, BLOCK) as begin:
            count = self._block_size(begin)
            for fold, accumulator in zip(self.folds, accumulators):
                with loop(b, number(0), number(BLOCK)) as index:
                    fold.start(b, b.gep(accumulator, [index], source_etype=fold.wide), row=False)
            with loop(b, self.middle_start, self.middle_stop) as middle:
                b.call(self.locate, [self.middle_table, self.middle_rank, middle, self.places[1], self.places[2]])
                inputs, padded, _ = self._block(self.places[2], begin, count, true)
                b.call(self.compute, [*inputs, *self.out_buffers, padded])
                for fold, accumulator, buffer in zip(self.folds, accumulators, self.out_buffers):
                    with loop(b, number(0), padded, LANES) as index:
                        fold.add_vector(b, accumulator, buffer, index)
            for fold, accumulator, result in zip(self.folds, accumulators, self.results):
                with loop(b, number(0), count) as index:
                    place = b.add(b.add(origin, begin), index)
                    fold.finish(b, b.gep(accumulator, [index], source_etype=fold.wide), result, place, self.count, self.partial, row=False)
