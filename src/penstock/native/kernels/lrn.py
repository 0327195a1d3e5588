"""Local response normalization: kernels over rows of channels.

The squares of a row are put into a scratch row with zeros at both ends; the sum over neighbours is then a sum of shifted vectors.
"""
from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.native.calls import Array, Code
from penstock.native.kernels.axes import split_work
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.elements import Elements, lanes_below
from penstock.native.vector.pieces import number
from penstock.native.vector.types import VectorValue
from penstock.native.vector.vectors import IR, LANES, splat, vector
from penstock.native.vector.writer import DOUBLE, FLOAT, Writer

_NUMBERS = ("first", "last", "channels", "radius", "space", "bias", "alpha", "beta")
_TOGETHER = 8  # rows: what one pass has stored is in the cache, not on its way there, when the next one loads it
_ROOTS = {0.5: "half", 0.75: "three quarters", 1.0: "one"}  # powers that square roots give


def lrn(emit: Any, source: Array, radius: int, bias: float, alpha: float, beta: float) -> Array:
    """source / (bias + alpha * sum of squares of the neighbours) ** beta."""
    result = emit.empty(source.shape, source.dtype)
    _call(emit, "forward", [emit.contiguous(source)], result, radius, bias, alpha, beta)
    return result


def lrn_gradient(emit: Any, grad: Array, source: Array, output: Array, radius: int, bias: float, alpha: float, beta: float) -> Array:
    """The gradient of ``lrn``."""
    if not grad.shape == source.shape == output.shape:
        emit.unsupported("the shapes do not fit")
    result = emit.empty(source.shape, source.dtype)
    _call(emit, "gradient", [emit.contiguous(each) for each in (grad, source, output)], result, radius, bias, alpha, beta)
    return result


def _call(emit: Any, what: str, inputs: list[Array], result: Array, radius: int, bias: float, alpha: float, beta: float) -> None:
    if result.dtype != np.float32 or radius < 0:
        emit.unsupported(f"local response normalization of {result.dtype}")
    if not result.size:
        return
    channels = result.shape[-1]
    rows = result.size // channels
    radius = min(radius, channels)
    parts = split_work(rows, emit.threads, result.size)
    width = -(-(channels + 2 * radius + 2 * LANES) // LANES) * LANES
    scratch = emit.empty([len(parts), 2, _TOGETHER, width], np.float32)
    words = [int.from_bytes(struct.pack("<d", value), "little", signed=True) for value in (bias, alpha, beta)]
    power = _ROOTS.get(beta, "any")
    emit.call(Code.of(f"lrn {what} {power}", lambda: _build(what, power)), [*inputs, scratch, result],
              [[start, stop, channels, radius, part * 2 * _TOGETHER * width * 4, *words] for part, (start, stop) in enumerate(parts)],
              f"lrn {what}", writes=2, flops=result.size * (2 * radius + 4))


class _Row:
    """What is done to a row, vector by vector."""

    def __init__(self, w: Writer) -> None:
        self.w, self.b = w, w.b
        self.v, self.elements = VectorBuilder(w.b), Elements(w.b)
        b = w.b
        self.bias, self.alpha, self.beta = (VectorValue(w.broadcast(b.fptrunc(b.bitcast(bits, DOUBLE), FLOAT), LANES), dt.float32)
                                            for bits in (w.bias, w.alpha, w.beta))
        self.width = b.mul(b.udiv(b.add(b.add(w.channels, b.mul(w.radius, number(2))), number(3 * LANES - 1)), number(LANES)), number(LANES))

    def each(self, body: Callable[[IR, IR, IR], None]) -> None:
        """body(channel, whole, left) for each vector of channels."""
        w, b = self.w, self.b
        with w.range(w.channels, 0, LANES) as channel:
            left = b.sub(w.channels, channel)
            body(channel, b.icmp_signed(">=", left, number(LANES)), left)

    def load(self, row: IR, channel: IR, whole: IR, left: IR) -> VectorValue:
        """Channels; zeros behind the last."""
        return self.elements.load(self.v, [(self.w.item(row, channel, FLOAT), None, dt.float32)], whole, left)[0]

    def keep(self, scratch: IR, channel: IR, value: VectorValue, left: IR) -> None:
        """Into a scratch row, behind its leading zeros; zeros behind the last channel."""
        w, b = self.w, self.b
        inside = b.select(lanes_below(b, left), value.ir, splat(FLOAT, 0.0))
        w.store(inside, w.item(scratch, b.add(channel, w.radius), FLOAT), FLOAT)

    def neighbours(self, scratch: IR, channel: IR) -> VectorValue:
        """The sum over those at most ``radius`` away."""
        w, b = self.w, self.b
        start = w.item(scratch, channel, FLOAT)
        total = w.variable(vector(FLOAT), splat(FLOAT, 0.0))
        with w.range(b.add(b.mul(w.radius, number(2)), number(1))) as k:
            b.store(b.fadd(b.load(total, typ=vector(FLOAT)), w.load(w.item(start, k, FLOAT), FLOAT, LANES)), total)
        return VectorValue(b.load(total, typ=vector(FLOAT)), dt.float32)

    def store(self, row: IR, channel: IR, value: VectorValue, whole: IR, left: IR) -> None:
        """Channels of a row."""
        self.elements.store(self.v, [(self.w.item(row, channel, FLOAT), value)], whole, left)

    def norm(self, scratch: IR, channel: IR) -> VectorValue:
        """bias + alpha * sum of squares, which are in the scratch row."""
        return self.v.add(self.bias, self.v.mul(self.alpha, self.neighbours(scratch, channel)))

    def over_power(self, value: VectorValue, norm: VectorValue, power: str) -> VectorValue:
        """value / norm ** beta."""
        v = self.v
        if power == "any":
            return v.mul(value, v.pow(norm, v.neg(self.beta)))
        if power == "one":
            return v.div(value, norm)
        root = v.sqrt(norm)
        return v.div(value, root if power == "half" else v.mul(root, v.sqrt(root)))


def _build(what: str, power: str) -> str:
    inputs = ["source"] if what == "forward" else ["grad", "source", "output"]
    w = Writer([*inputs, "scratch", "result"], _NUMBERS)
    b, r = w.b, _Row(w)
    space = w.at(w.scratch, w.space)
    w.clear_bytes(space, b.mul(r.width, number(8 * _TOGETHER)))
    passes = (_squares, _forward) if what == "forward" else (_squares, _couple, _backward)
    with w.range(w.last, w.first, _TOGETHER) as block:
        stop = w.minimum(b.add(block, number(_TOGETHER)), w.last)
        for each in passes:
            with w.range(stop, block) as row:
                place = {name: w.item(getattr(w, name), b.mul(row, w.channels), FLOAT) for name in (*inputs, "result")}
                slot = b.sub(row, block)
                place["first"], place["second"] = (w.item(space, b.mul(b.add(slot, number(k * _TOGETHER)), r.width), FLOAT) for k in range(2))
                r.each(partial(each, r, place, power))
    return w.finish()


def _squares(r: _Row, place: dict[str, IR], power: str, channel: IR, whole: IR, left: IR) -> None:
    x = r.load(place["source"], channel, whole, left)
    r.keep(place["first"], channel, r.v.mul(x, x), left)


def _forward(r: _Row, place: dict[str, IR], power: str, channel: IR, whole: IR, left: IR) -> None:
    x = r.load(place["source"], channel, whole, left)
    r.store(place["result"], channel, r.over_power(x, r.norm(place["first"], channel), power), whole, left)


def _couple(r: _Row, place: dict[str, IR], power: str, channel: IR, whole: IR, left: IR) -> None:
    """The direct part of the gradient, and what neighbours give each other."""
    g, y = (r.load(place[name], channel, whole, left) for name in ("grad", "output"))
    norm = r.norm(place["first"], channel)
    r.keep(place["second"], channel, r.v.div(r.v.mul(g, y), norm), left)
    r.store(place["result"], channel, r.over_power(g, norm, power), whole, left)


def _backward(r: _Row, place: dict[str, IR], power: str, channel: IR, whole: IR, left: IR) -> None:
    v = r.v
    direct, x = (r.load(place[name], channel, whole, left) for name in ("result", "source"))
    twice = v.mul(v.mul(2.0, r.alpha), r.beta)
    r.store(place["result"], channel, v.sub(direct, v.mul(v.mul(twice, x), r.neighbours(place["second"], channel))), whole, left)
