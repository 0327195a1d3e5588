"""Reading and writing vectors of elements, as LLVM IR: whole ones, and the rest at the end of an axis, without touching memory beyond an array."""
from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from penstock.graph.dtypes import DType
from penstock.native.machine import target
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.pieces import advance, loop, minimum, number
from penstock.native.vector.types import NARROW, VectorValue, memory_type
from penstock.native.vector.vectors import I8, I32, I64, IR, LANES, POINTER, VOID, allocate, broadcast, masked_load, masked_store, splat, vector

_LANE_NUMBERS = ir.Constant(ir.VectorType(I32, LANES), list(range(LANES)))


def from_memory(v: VectorBuilder, value: IR, dtype: DType) -> VectorValue:
    """Elements as they are computed with."""
    if dtype in NARROW:
        value = v.widen(value, dtype)
    elif dtype.is_bool:
        value = v.builder.icmp_unsigned("!=", value, splat(I8, 0))
    return VectorValue(value, dtype)


def to_memory(v: VectorBuilder, value: VectorValue) -> IR:
    """Elements as they are stored."""
    if value.dtype.is_bool:
        return v.builder.zext(value.ir, vector(I8))
    return v.narrow(value.ir, value.dtype) if value.dtype in NARROW else value.ir


def load_uniform(v: VectorBuilder, pointer: IR, dtype: DType) -> VectorValue:
    """One element, in all lanes."""
    b = v.builder
    return from_memory(v, broadcast(b, b.load(pointer, align=dtype.size, typ=memory_type(dtype))), dtype)


def store_lane(v: VectorBuilder, value: VectorValue, pointer: IR) -> None:
    """The first lane."""
    element = v.builder.extract_element(to_memory(v, value), ir.Constant(I32, 0))
    v.builder.store(element, pointer, align=value.dtype.size)


def lanes_below(b: ir.IRBuilder, count: IR) -> IR:
    """A mask of the first ``count`` lanes; ``count`` may be any positive number."""
    count = minimum(b, count, number(LANES))
    return b.icmp_signed("<", _LANE_NUMBERS, broadcast(b, b.trunc(count, I32)))


class Elements:
    """Vectors of a function's arrays. Partial vectors go through masks, or a small buffer where the CPU has no masks for the type."""

    def __init__(self, entry: ir.IRBuilder) -> None:
        self._module = entry.module
        self._buffer = allocate(entry, I64, LANES)
        for lane in range(0, LANES, LANES // 2):  # what lies beyond the rest must be some number, and always the same
            entry.store(ir.Constant(ir.VectorType(I64, LANES // 2), [0] * (LANES // 2)),
                        entry.gep(self._buffer, [number(lane)], source_etype=I64), align=8)

    def load(self, v: VectorBuilder, places: Sequence[tuple[IR, IR | None, DType]], whole: IR, count: IR) -> list[VectorValue]:
        """One vector from each place: a pointer, the stride in bytes (None: element after element), the type."""
        b = v.builder
        if not places:
            return []
        full, part, done = (b.append_basic_block(name) for name in ("whole", "rest", "loaded"))
        b.cbranch(whole, full, part)
        b.position_at_end(full)
        complete = [self.load_whole(b, *place) for place in places]
        b.branch(done)
        b.position_at_end(part)
        mask = lanes_below(b, count)
        partial = [self._load_rest(b, *place, mask, count) for place in places]
        after_rest = b.block
        b.branch(done)
        b.position_at_end(done)
        values = []
        for one, other, (_, _, dtype) in zip(complete, partial, places):
            value = b.phi(one.type)
            value.add_incoming(one, full)
            value.add_incoming(other, after_rest)
            values.append((value, dtype))
        return [from_memory(v, value, dtype) for value, dtype in values]

    def load_whole(self, b: ir.IRBuilder, pointer: IR, stride: IR | None, dtype: DType) -> IR:
        """A vector of which no lane is missing, as it lies in memory."""
        kind = memory_type(dtype)
        if stride is None:
            return b.load(pointer, align=dtype.size, typ=vector(kind))
        value: IR = ir.Constant(vector(kind), ir.Undefined)
        for lane in range(LANES):
            element = b.load(advance(b, pointer, b.mul(stride, number(lane))), align=dtype.size, typ=kind)
            value = b.insert_element(value, element, ir.Constant(I32, lane))
        return value

    def _load_rest(self, b: ir.IRBuilder, pointer: IR, stride: IR | None, dtype: DType, mask: IR, count: IR) -> IR:
        kind = memory_type(dtype)
        if stride is None and target.has_masks(dtype.size):
            return masked_load(b, pointer, mask, vector(kind), dtype.size)
        step = number(dtype.size) if stride is None else stride
        b.call(self._copy(dtype.size), [self._buffer, number(dtype.size), pointer, step, count])
        return b.load(self._buffer, align=8, typ=vector(kind))

    def store(self, v: VectorBuilder, places: Sequence[tuple[IR, VectorValue]], whole: IR, count: IR) -> None:
        """One vector to each place."""
        b = v.builder
        elements = [(pointer, to_memory(v, value), value.dtype) for pointer, value in places]
        if not elements:
            return
        with b.if_else(whole) as (full, part):
            with full:
                for pointer, value, dtype in elements:
                    b.store(value, pointer, align=dtype.size)
            with part:
                mask = lanes_below(b, count)
                for pointer, value, dtype in elements:
                    if target.has_masks(dtype.size):
                        masked_store(b, value, pointer, mask, dtype.size)
                    else:
                        b.store(value, self._buffer, align=8)
                        size = number(dtype.size)
                        b.call(self._copy(dtype.size), [pointer, size, self._buffer, size, count])

    def _copy(self, size: int) -> ir.Function:
        """copy(to, its stride, from, its stride, count): some elements."""
        name = f"copy{size}"
        existing = self._module.globals.get(name)
        if existing is not None:
            return existing
        function = ir.Function(self._module, ir.FunctionType(VOID, [POINTER, I64, POINTER, I64, I64]), name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        b = ir.IRBuilder(function.append_basic_block("entry"))
        to, to_stride, source, stride, count = function.args
        with loop(b, number(0), count) as index:
            element = b.load(advance(b, source, b.mul(index, stride)), align=1, typ=ir.IntType(8 * size))
            b.store(element, advance(b, to, b.mul(index, to_stride)), align=1)
        b.ret_void()
        return function
