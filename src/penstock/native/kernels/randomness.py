"""Random numbers: Philox4x32-10 on sixteen counters at once, bit for bit as in ``ops/random/philox.py``. What ``emit.random`` is.

A generator is an array of three 64-bit words: key, lower and upper half of the counter. Every block of four 32-bit words depends on the key and the
block's own counter alone, so parts of an array are filled independently of each other.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir

from penstock.graph import dtypes as dt
from penstock.native.calls import Array, Code, Unsupported
from penstock.native.kernels.axes import split_work
from penstock.native.vector.builder import VectorBuilder, divide_lanes
from penstock.native.vector.pieces import number
from penstock.native.vector.types import VectorValue
from penstock.native.vector.vectors import I32, I64, IR, LANES, allocate, splat, vector
from penstock.native.vector.writer import DOUBLE, FLOAT, Writer, element

_MANY = 1 << 14  # elements from which on several threads pay
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_WORDS = 4 * LANES  # that the blocks of all lanes have
_REGION = 256  # blocks that four truncated normals have to choose from
Convert = Callable[[Writer, list[IR]], list[IR]]  # vectors of words, in the order of memory, to as many elements


class Randomness:
    """Draws from a generator, which is moved ahead by as many blocks as the NumPy kernels reserve."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def draw(self, generator: Array, shape: Sequence[int], dtype: np.dtype, how: str, reserved: int) -> Array:
        """An array of "uniform", "normal" or "truncated" (normal) numbers; ``reserved``: how many blocks are set aside for each."""
        code = Code.of(f"philox {how} {dtype}", _builder(how, dtype))
        result = self._fresh(shape, dtype)
        self.emit.call(code, [generator, result], self._parts(result), f"random {how}", flops=result.size * 30)
        self._ahead(generator, result.size * reserved)
        return result

    def integers(self, generator: Array, shape: Sequence[int], low: Array, high: Array, reserved: int) -> Array:
        """Integers from ``low`` on, below ``high``."""
        dtype = low.dtype
        result = self._fresh(shape, dtype)
        code = Code.of(f"philox integers {dtype}", lambda: _build_integers(dtype))
        parts = self._parts(result) or [[0, 0, 0]]  # the bounds are checked even if no number is drawn
        self.emit.call(code, [generator, low, high, result, self.emit.status], parts, "random integers", writes=2, flops=result.size * 30)
        self._ahead(generator, result.size * reserved)
        return result

    def _fresh(self, shape: Sequence[int], dtype: np.dtype) -> Array:
        if min(shape, default=0) < 0:
            self.emit.unsupported("a negative extent")
        return self.emit.empty(shape, dtype)

    def _parts(self, result: Array) -> list[list[int]]:
        """Ranges of groups, and how many elements there are."""
        groups = -(-result.nbytes // (4 * _WORDS))
        return [[*part, result.size] for part in split_work(groups, self.emit.threads, result.size, _MANY, each=4)] if groups else []

    def _ahead(self, generator: Array, blocks: int) -> None:
        self.emit.call(Code.of("philox ahead", _build_ahead), [generator], [[blocks]], "random ahead")


def _builder(how: str, dtype: np.dtype) -> Callable[[], str]:
    """What writes the kernel. Raises Unsupported."""
    if how == "truncated" and dtype == np.float32:
        return _build_truncated
    convert = _CONVERSIONS.get((how, dtype.name))
    if convert is None:
        raise Unsupported(f"{how} random numbers of type {dtype}")
    return partial(_build, convert, dtype)


def _build_ahead() -> str:
    w = Writer(["generator"], ["blocks"])
    b = w.b
    low, high = (w.item(w.generator, k, I64) for k in (1, 2))
    before = w.load(low, I64)
    after = b.add(before, w.blocks)
    w.store(after, low, I64)
    w.store(b.add(w.load(high, I64), b.zext(b.icmp_unsigned("<", after, before), I64)), high, I64)
    return w.finish()


def _build(convert: Convert, dtype: np.dtype) -> str:
    return _build_kernel(Writer(["generator", "result"], ["first", "last", "size"]), convert, dtype)


def _build_integers(dtype: np.dtype) -> str:
    """The remainder of a word, or of two, divided by the number of integers; fails if that is none."""
    w = Writer(["generator", "low", "high", "result", "status"], ["first", "last", "size"])
    b, kind = w.b, element(dtype)
    low, high = w.load(w.low, kind), w.load(w.high, kind)
    with b.if_then(b.icmp_signed(">=", low, high)):
        b.store(number(1), w.status)
        b.ret_void()
    base, span = w.broadcast(low, LANES), w.broadcast(b.sub(high, low), LANES)

    def convert(w: Writer, words: list[IR]) -> list[IR]:
        drawn = words
        if kind == I64:
            drawn = [b.or_(b.zext(lower, vector(I64)), b.shl(b.zext(upper, vector(I64)), splat(I64, 32))) for lower, upper in _pairs(w, words)]
        return [b.add(b.sub(each, b.mul(divide_lanes(b, each, span, False), span)), base) for each in drawn]

    return _build_kernel(w, convert, dtype)


def _build_kernel(w: Writer, convert: Convert, dtype: np.dtype) -> str:
    """The kernel, from where all operands are at hand."""
    b, kind = w.b, element(dtype)
    spare = allocate(b, kind, _WORDS)
    draw, start_of = _blocks_of(w)
    per_group = _WORDS * 4 // dtype.itemsize
    with w.range(w.last, w.first) as group:
        values = convert(w, _in_order(w, draw(start_of(group))))
        start = b.mul(group, number(per_group))
        left = b.sub(w.size, start)
        whole = b.icmp_signed(">=", left, number(per_group))
        place = w.item(w.result, start, kind)
        target = b.select(whole, place, spare)
        for k, value in enumerate(values):
            w.store(value, w.item(target, k * LANES, kind), kind)
        with b.if_then(b.not_(whole)):
            w.copy_bytes(place, spare, b.mul(left, number(dtype.itemsize)))
    return w.finish()


def _build_truncated() -> str:
    """Normals within (-2, 2): four outputs, a lane here, have a region of the stream to themselves, and take the first in it that are in bounds."""
    w = Writer(["generator", "result"], ["first", "last", "size"])
    b, v = w.b, VectorBuilder(w.b)
    spare, drawn, counts = (allocate(b, kind, length) for kind, length in ((FLOAT, _WORDS), (FLOAT, _WORDS), (I64, LANES)))
    draw, start_of = _blocks_of(w)
    with w.range(w.last, w.first) as group:
        for lane in range(LANES):
            w.store(number(0), w.item(counts, lane, I64), I64)
        regions = b.mul(start_of(group), splat(I64, _REGION))
        depth, short = w.variable(I64, number(0)), w.variable(I64, number(LANES))
        again, done = b.append_basic_block("again"), b.append_basic_block("done")
        b.branch(again)
        b.position_at_end(again)
        at = b.load(depth, typ=I64)
        units = _unit_float(w, draw(b.add(regions, w.broadcast(at, LANES))))
        for k, value in enumerate((*_box_muller(v, *units[:2]), *_box_muller(v, *units[2:]))):
            w.store(value, w.item(drawn, k * LANES, FLOAT), FLOAT)
        with w.range(LANES) as lane:
            _take(w, lane, spare, drawn, counts, short)
        b.store(b.add(at, number(1)), depth)
        b.cbranch(b.icmp_signed(">", b.load(short, typ=I64), number(0)), again, done)
        b.position_at_end(done)
        start = b.mul(group, number(_WORDS))
        w.copy_bytes(w.item(w.result, start, FLOAT), spare, b.mul(w.minimum(b.sub(w.size, start), number(_WORDS)), number(4)))
    return w.finish()


def _take(w: Writer, lane: IR, spare: IR, drawn: IR, counts: IR, short: IR) -> None:
    """What a lane has drawn goes to its outputs, as far as it is in bounds and they are not complete; ``short`` counts lanes that are not."""
    b = w.b
    place = w.item(counts, lane, I64)
    before = w.load(place, I64)
    count = before
    for k in range(4):
        value = w.load(w.item(drawn, b.add(lane, number(k * LANES)), FLOAT), FLOAT)
        inside = b.fcmp_ordered("<", w.intrinsic("fabs", value), ir.Constant(FLOAT, 2.0))
        wanted = b.and_(inside, b.icmp_signed("<", count, number(4)))
        at = w.item(spare, b.add(b.mul(lane, number(4)), w.minimum(count, number(3))), FLOAT)
        w.store(b.select(wanted, value, w.load(at, FLOAT)), at, FLOAT)
        count = b.add(count, b.zext(wanted, I64))
    w.store(count, place, I64)
    complete = b.and_(b.icmp_signed("<", before, number(4)), b.icmp_signed("==", count, number(4)))
    b.store(b.sub(b.load(short, typ=I64), b.zext(complete, I64)), short)


def _blocks_of(w: Writer) -> tuple[Callable[[IR], list[IR]], Callable[[IR], IR]]:
    """(the words of blocks at some distances from the generator's place, the distances of the blocks of a group)."""
    b = w.b
    key, low, high = (w.load(w.item(w.generator, k, I64), I64) for k in range(3))
    key_words = [b.trunc(key, I32), b.trunc(b.lshr(key, number(32)), I32)]
    lanes = ir.Constant(vector(I64), list(range(LANES)))

    def draw(blocks: IR) -> list[IR]:
        lower = b.add(w.broadcast(low, LANES), blocks)
        upper = b.add(w.broadcast(high, LANES), b.zext(b.icmp_unsigned("<", lower, blocks), vector(I64)))
        return _philox(w, lower, upper, key_words)

    return draw, lambda group: b.add(w.broadcast(b.mul(group, number(LANES)), LANES), lanes)


def _philox(w: Writer, low: IR, high: IR, key: list[IR]) -> list[IR]:
    """Ten rounds; the four words of each lane's block."""
    b = w.b
    words = [b.trunc(part, vector(I32)) for half in (low, high) for part in (half, b.lshr(half, splat(I64, 32)))]
    for turn in range(_ROUNDS):
        round_key = [w.broadcast(b.add(part, ir.Constant(I32, step * turn & 0xFFFFFFFF)), LANES) for part, step in zip(key, _KEY_STEPS)]
        products = [b.mul(b.zext(word, vector(I64)), splat(I64, factor)) for word, factor in zip(words[::2], _MULTIPLIERS)]
        lows = [b.trunc(product, vector(I32)) for product in products]
        highs = [b.trunc(b.lshr(product, splat(I64, 32)), vector(I32)) for product in products]
        words = [b.xor(b.xor(highs[1], words[1]), round_key[0]), lows[1], b.xor(b.xor(highs[0], words[3]), round_key[1]), lows[0]]
    return words


def _in_order(w: Writer, words: list[IR]) -> list[IR]:
    """Block after block, as they lie in memory."""
    low = [lane for k in range(LANES // 2) for lane in (k, LANES + k)]
    high = [lane + LANES // 2 for lane in low]
    even, odd = ([w.shuffle(x, y, lanes) for lanes in (low, high)] for x, y in ((words[0], words[2]), (words[1], words[3])))
    return [w.shuffle(x, y, lanes) for x, y in zip(even, odd) for lanes in (low, high)]


# --- from words to numbers -------------------------------------------------------------------------------------------

def _unit_float(w: Writer, words: list[IR]) -> list[IR]:
    """The lower 23 bits as the significand of a number in [1, 2), less 1."""
    b = w.b
    bits = [b.or_(b.and_(each, splat(I32, 0x7FFFFF)), splat(I32, 0x3F800000)) for each in words]
    return [b.fsub(b.bitcast(each, vector(FLOAT)), splat(FLOAT, 1.0)) for each in bits]


def _pairs(w: Writer, words: list[IR]) -> list[tuple[IR, IR]]:
    """The first and the second word of each pair, in vectors of their own."""
    return [(w.shuffle(x, y, range(0, 2 * LANES, 2)), w.shuffle(x, y, range(1, 2 * LANES, 2))) for x, y in zip(words[::2], words[1::2])]


def _unit_double(w: Writer, words: list[IR]) -> list[IR]:
    """Two words per number, the first one the upper."""
    b, result = w.b, []
    for upper, lower in _pairs(w, words):
        top = b.shl(b.zext(b.or_(b.and_(upper, splat(I32, 0xFFFFF)), splat(I32, 0x3FF00000)), vector(I64)), splat(I64, 32))
        bits = b.or_(top, b.zext(lower, vector(I64)))
        result.append(b.fsub(b.bitcast(bits, vector(DOUBLE)), splat(DOUBLE, 1.0)))
    return result


def _interleave(w: Writer, pairs: Sequence[tuple[IR, IR]]) -> list[IR]:
    """What ``_pairs`` has taken apart."""
    low = [lane for k in range(LANES // 2) for lane in (k, LANES + k)]
    return [w.shuffle(x, y, lanes) for x, y in pairs for lanes in (low, [lane + LANES // 2 for lane in low])]


def _box_muller(v: VectorBuilder, first: IR, second: IR) -> tuple[IR, IR]:
    """Two normals from two numbers in [0, 1). Those of float32 go through functions of float64 and are rounded, as in the NumPy kernel."""
    kind = dt.float32 if first.type.element == FLOAT else dt.float64

    def rounded(function: Callable[[VectorValue], VectorValue], x: VectorValue) -> VectorValue:
        return v.cast(function(v.cast(x, dt.float64)), kind)

    radius = v.sqrt(v.mul(rounded(v.log, v.maximum(VectorValue(first, kind), 1e-7)), -2.0))
    angle = rounded(lambda x: v.mul(x, 2 * math.pi), VectorValue(second, kind))
    sines, cosines = (v.mul(rounded(function, angle), radius).ir for function in (v.sin, v.cos))
    return sines, cosines


def _normal_float(w: Writer, words: list[IR]) -> list[IR]:
    v = VectorBuilder(w.b)
    return _interleave(w, [_box_muller(v, *pair) for pair in _pairs(w, _unit_float(w, words))])


def _normal_double(w: Writer, words: list[IR]) -> list[IR]:
    v = VectorBuilder(w.b)
    return _interleave(w, [_box_muller(v, *pair) for pair in _pairs(w, _unit_double(w, words))])


_CONVERSIONS: dict[tuple[str, str], Convert] = {
    ("uniform", "float32"): _unit_float, ("uniform", "float64"): _unit_double, ("normal", "float32"): _normal_float,
    ("normal", "float64"): _normal_double}
