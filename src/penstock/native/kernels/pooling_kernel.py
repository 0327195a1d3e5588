"""Kernels that reduce over sliding windows, vectorised over the channels.

One skeleton serves forward and backward: for each place of the result, all *taps* (places within a window) that reach a place of the source are gone
through, in row-major order.

    forward   result place o reads source place o * stride - before + tap
    backward  result place i reads source place (i + before - tap) / stride: the windows that the input i lies in

There are always three spatial axes; an image has a first one of extent 1. Arrays have their channels last and are contiguous, but for the result,
in which a place may lie ``pitch`` elements behind the one before.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType, as_dtype
from penstock.native.calls import Code
from penstock.native.destinations import RowDestination
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.elements import Elements, from_memory
from penstock.native.vector.pieces import number
from penstock.native.vector.types import NARROW, VectorValue, memory_type
from penstock.native.vector.vectors import IR, LANES, splat, vector
from penstock.native.vector.writer import Writer

_AXIS = ("size", "window", "stride", "before", "count")
NUMBERS = ("first", "last", "channels", "pitch", *[f"{name}{axis}" for axis in range(3) for name in _AXIS])
DESTINATION = RowDestination.among(NUMBERS, width="channels", steps=("pitch",), in_elements=True)
_VECTORS = 4  # per block of channels, where there are enough
TAP = dt.int16  # which tap of a window holds the maximum; -1 if none does


@dataclass
class Reach:
    """What one place reaches along one axis: taps and source places at even steps."""

    taps: IR  # how many
    tap: IR  # the first one,
    tap_step: IR
    place: IR
    place_step: IR


class Skeleton:
    """The loops around a kernel's own work."""

    def __init__(self, w: Writer, backward: bool) -> None:
        self.w, self.b, self.backward = w, w.b, backward
        self.v, self.elements = VectorBuilder(w.b), Elements(w.b)

    def axis(self, axis: int, place: IR) -> Reach:
        """What a place reaches."""
        w, b = self.w, self.b
        size, window, stride, before, _ = (getattr(w, f"{name}{axis}") for name in _AXIS)
        zero, one = number(0), number(1)
        if not self.backward:
            origin = b.sub(b.mul(place, stride), before)
            first = w.maximum(zero, b.sub(zero, origin))
            stop = w.minimum(window, b.sub(size, origin))
            return Reach(w.maximum(b.sub(stop, first), zero), first, one, b.add(origin, first), one)
        shifted = b.add(place, before)
        source, tap = b.sdiv(shifted, stride), b.srem(shifted, stride)
        beyond = w.maximum(b.sub(source, b.sub(size, one)), zero)
        source, tap = b.sub(source, beyond), b.add(tap, b.mul(beyond, stride))
        by_tap = b.sdiv(b.add(b.sub(window, tap), b.sub(stride, one)), stride)
        taps = b.select(b.icmp_signed("<", tap, window), w.minimum(by_tap, b.add(source, one)), zero)
        return Reach(w.maximum(taps, zero), tap, stride, source, number(-1))

    def run(self, body: Callable[[Reach, Reach, Reach, IR, IR, IR], None]) -> None:
        """body(three reaches, the source's place of the batch entry, the result's place, valid taps) for each place of the result."""
        w, b = self.w, self.b
        rows = b.mul(w.count0, w.count1)
        volume = b.mul(b.mul(w.size0, w.size1), w.size2)
        with w.range(w.last, w.first) as row:
            entry, within = b.udiv(row, rows), b.urem(row, rows)
            z, y = self.axis(0, b.udiv(within, w.count1)), self.axis(1, b.urem(within, w.count1))
            with w.range(w.count2) as column:
                x = self.axis(2, column)
                body(z, y, x, b.mul(entry, volume), b.add(b.mul(row, w.count2), column), b.mul(b.mul(z.taps, y.taps), x.taps))

    def taps(self, z: Reach, y: Reach, x: Reach, origin: IR, visit: Callable[[IR, IR], None]) -> None:
        """visit(tap, source place) in row-major order of the taps."""
        w, b = self.w, self.b
        with w.range(z.taps) as i, w.range(y.taps) as j:
            plane = b.add(z.place, b.mul(i, z.place_step))
            row = b.add(b.mul(plane, w.size1), b.add(y.place, b.mul(j, y.place_step)))
            start = b.add(origin, b.add(b.mul(row, w.size2), x.place))
            tap = b.add(b.mul(b.add(z.tap, b.mul(i, z.tap_step)), w.window1), b.add(y.tap, b.mul(j, y.tap_step)))
            tap = b.add(b.mul(tap, w.window2), x.tap)
            with w.range(x.taps) as k:
                visit(b.add(tap, b.mul(k, x.tap_step)), b.add(start, b.mul(k, x.place_step)))

    def channels(self, block: Callable[[IR, int, IR, IR], None]) -> None:
        """block(first channel, vectors, whether whole, how many channels are left): first several vectors at a time, then one by one."""
        w, b = self.w, self.b
        wide = number(LANES * _VECTORS)
        most = b.mul(b.udiv(w.channels, wide), wide)
        with w.range(most, 0, LANES * _VECTORS) as channel:
            block(channel, _VECTORS, ir.Constant(ir.IntType(1), 1), b.sub(w.channels, channel))
        with w.range(w.channels, most, LANES) as channel:
            left = b.sub(w.channels, channel)
            block(channel, 1, b.icmp_signed(">=", left, number(LANES)), left)

    def load(self, pointer: IR, place: IR, channel: IR, vectors: int, dtype: DType, whole: IR, left: IR) -> list[VectorValue]:
        """Some vectors of one place's channels; narrow floats as float32."""
        w, b = self.w, self.b
        at = w.item(pointer, b.add(b.mul(place, w.channels), channel), memory_type(dtype))
        if vectors > 1:
            vectors_read = [self.elements.load_whole(b, w.item(at, k * LANES, memory_type(dtype)), None, dtype) for k in range(vectors)]
            values = [from_memory(self.v, value, dtype) for value in vectors_read]
        else:
            values = self.elements.load(self.v, [(at, None, dtype)], whole, left)
        return [VectorValue(value.ir, dt.float32) if dtype in NARROW else value for value in values]

    def store(self, values: Sequence[VectorValue], pointer: IR, place: IR, channel: IR, dtype: DType, whole: IR, left: IR) -> None:
        """Some vectors of one place's channels of the result."""
        w, b = self.w, self.b
        at = w.item(pointer, b.add(b.mul(place, w.pitch), channel), memory_type(dtype))
        for k, value in enumerate(values):
            self.elements.store(self.v, [(w.item(at, k * LANES, memory_type(dtype)), VectorValue(value.ir, dtype))], whole, left)


def _working(dtype: DType) -> DType:
    return dt.float32 if dtype in NARROW else dtype


def _variable_for(w: Writer, value: VectorValue) -> tuple[IR, DType]:
    """A variable that starts with this value."""
    return w.variable(value.ir.type, value.ir), value.dtype


def _get(w: Writer, place: tuple[IR, DType], kind: Any) -> VectorValue:
    return VectorValue(w.b.load(place[0], typ=kind), place[1])


# --- the kernels -----------------------------------------------------------------------------------------------------

def pool_code(how: str, dtype: np.dtype) -> Code:
    """``max``, ``mean``: operands source, result. ``argmax``: source, taps. ``sum`` (backward): source, result.

    ``share``: source, result, both of the pooled shape: each element divided by the size of its window. ``pick`` (backward): source, taps, result.
    """
    return Code.of(f"pool {how} {dtype}", lambda: _BUILDERS[how](how, as_dtype(dtype)))


def _build_reduction(how: str, dtype: DType) -> str:
    """max, mean and sum."""
    w = Writer(["source", "result"], NUMBERS)
    s, kind = Skeleton(w, how == "sum"), vector(_scalar(dtype))
    start = s.v.typed(_lowest(dtype) if how == "max" else 0, _working(dtype))

    def place(z: Reach, y: Reach, x: Reach, origin: IR, target: IR, taps: IR) -> None:
        def block(channel: IR, vectors: int, whole: IR, left: IR) -> None:
            sums = [_variable_for(w, start) for _ in range(vectors)]

            def visit(tap: IR, source: IR) -> None:
                for sum_, value in zip(sums, s.load(w.source, source, channel, vectors, dtype, whole, left)):
                    joined = (s.v.maximum if how == "max" else s.v.add)(_get(w, sum_, kind), value)
                    w.b.store(joined.ir, sum_[0])

            s.taps(z, y, x, origin, visit)
            values = [_get(w, sum_, kind) for sum_ in sums]
            if how == "mean":
                values = [s.v.div(value, _count(s, taps, dtype)) for value in values]
            s.store(values, w.result, target, channel, dtype, whole, left)

        s.channels(block)

    s.run(place)
    return w.finish()


def _build_share(how: str, dtype: DType) -> str:
    w = Writer(["source", "result"], NUMBERS)
    s = Skeleton(w, False)

    def place(z: Reach, y: Reach, x: Reach, origin: IR, target: IR, taps: IR) -> None:
        def block(channel: IR, vectors: int, whole: IR, left: IR) -> None:
            values = [s.v.div(value, _count(s, taps, dtype)) for value in s.load(w.source, target, channel, vectors, dtype, whole, left)]
            s.store(values, w.result, target, channel, _working(dtype), whole, left)

        s.channels(block)

    s.run(place)
    return w.finish()


def _build_argmax(how: str, dtype: DType) -> str:
    """The first tap that holds the maximum; none if there is a NaN."""
    w = Writer(["source", "winners"], NUMBERS)
    s, kind, b = Skeleton(w, False), vector(_scalar(dtype)), w.b
    index = vector(ir.IntType(16))

    def place(z: Reach, y: Reach, x: Reach, origin: IR, target: IR, taps: IR) -> None:
        first = b.add(b.mul(b.add(b.mul(z.tap, w.window1), y.tap), w.window2), x.tap)

        def block(channel: IR, vectors: int, whole: IR, left: IR) -> None:
            best = [_variable_for(w, s.v.typed(_lowest(dtype), _working(dtype))) for _ in range(vectors)]
            where = [w.variable(index, w.broadcast(b.trunc(first, ir.IntType(16)), LANES)) for _ in range(vectors)]

            def visit(tap: IR, source: IR) -> None:
                here = w.broadcast(b.trunc(tap, ir.IntType(16)), LANES)
                for kept, at, value in zip(best, where, s.load(w.source, source, channel, vectors, dtype, whole, left)):
                    old, old_at = _get(w, kept, kind), b.load(at, typ=index)
                    larger, new_at = s.v.gt(value, old).ir, here
                    if value.dtype.is_floating:  # a NaN stays, and nothing is larger than it
                        nan = s.v.is_nan(value).ir
                        new_at = b.select(nan, splat(ir.IntType(16), -1), here)
                        larger = b.or_(larger, nan)
                        larger = b.and_(larger, b.not_(s.v.is_nan(old).ir))
                    b.store(b.select(larger, value.ir, old.ir), kept[0])
                    b.store(b.select(larger, new_at, old_at), at)

            s.taps(z, y, x, origin, visit)
            s.store([VectorValue(b.load(at, typ=index), TAP) for at in where], w.winners, target, channel, TAP, whole, left)

        s.channels(block)

    s.run(place)
    return w.finish()


def _build_pick(how: str, dtype: DType) -> str:
    """Backward: the sum of the gradients of those windows whose maximum is here."""
    w = Writer(["source", "winners", "result"], NUMBERS)
    s, kind, b = Skeleton(w, True), vector(_scalar(dtype)), w.b

    def place(z: Reach, y: Reach, x: Reach, origin: IR, target: IR, taps: IR) -> None:
        def block(channel: IR, vectors: int, whole: IR, left: IR) -> None:
            sums = [_variable_for(w, s.v.typed(0, _working(dtype))) for _ in range(vectors)]

            def visit(tap: IR, source: IR) -> None:
                here = w.broadcast(b.trunc(tap, ir.IntType(16)), LANES)
                grads = s.load(w.source, source, channel, vectors, dtype, whole, left)
                winners = s.load(w.winners, source, channel, vectors, TAP, whole, left)
                for sum_, grad, winner in zip(sums, grads, winners):
                    won = VectorValue(b.icmp_signed("==", winner.ir, here), dt.bool_)
                    old = _get(w, sum_, kind)
                    b.store(s.v.select(won, s.v.add(old, grad), old).ir, sum_[0])

            s.taps(z, y, x, origin, visit)
            s.store([_get(w, sum_, kind) for sum_ in sums], w.result, target, channel, dtype, whole, left)

        s.channels(block)

    s.run(place)
    return w.finish()


def _count(s: Skeleton, taps: IR, dtype: DType) -> VectorValue:
    working = _working(dtype)
    scalar = _scalar(dtype)
    return VectorValue(s.w.broadcast(s.b.sitofp(taps, scalar), LANES), working)


def _scalar(dtype: DType) -> Any:
    return memory_type(_working(dtype))


def _lowest(dtype: DType) -> Any:
    return -np.inf if dtype.is_floating else np.iinfo(dtype.np).min


_BUILDERS: dict[str, Callable[[str, DType], str]] = {
    "max": _build_reduction, "mean": _build_reduction, "sum": _build_reduction, "share": _build_share, "argmax": _build_argmax, "pick": _build_pick}
