"""Products and convolutions of integers of 8 bits, which are added up in 32. What ``emit.quantized`` is.

The factors become integers of 16 bits, less the one that stands for 0, in pairs that lie side by side: two products and their sum are one instruction
of a CPU, and a pair is a word of 32 bits for all that copies and cuts matrices. If the integer that stands for 0 is so far away that 16 bits do not
hold the difference, which no sensible range asks for, they become integers of 32 bits. Some CPUs take four integers of 8 bits at once, if weights
have their 0 in the middle (``byte_words.py``). Ranges are computed in the step, so the table has all of these.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir

from penstock.errors import KernelError
from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.native.calls import Array, Code
from penstock.native.contract import byte_words
from penstock.native.contract.product import PARTS, Epilogue, Product, emit, ranges
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import I32, I64, IR
from penstock.native.vector.writer import DOUBLE, FLOAT, Writer
from penstock.ops.nn.conv_shape import check_depth, conv_windows

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter
    from penstock.ops.nn.windows import Windows

Factor = tuple[Array, DType, Array, Array]  # integers, their type, and the floats that the least and the largest of them stand for
_TYPES = (dt.quint8, dt.qint8)
_FAR = 32_000  # an integer for 0 beyond which 16 bits do not hold the differences, nor 32 the sum of two products
_MANY = 1 << 15  # elements from which on several threads pay
_COLUMNS = 64  # of weights, that one thread makes words of at least
_LANES = 16
_I8, _I16 = ir.IntType(8), ir.IntType(16)
_WIDTHS = {2: _I16, 4: I32}


class Quantized:
    """Sums of products of 8 bits."""

    def __init__(self, b: Emitter) -> None:
        self.b = b

    def matmul(self, a: Factor, b: Factor, transpose_a: bool, transpose_b: bool, out_type: DType) -> tuple[Array, Array, Array]:
        """The product of two matrices, and its range."""
        self._check(a, b, out_type)
        x, y = (self._matrix(factor[0], swap) for factor, swap in ((a, transpose_a), (b, transpose_b)))
        if x.shape[1] != y.shape[0]:
            self.b.unsupported("the factors do not fit together")
        result = self.b.empty((x.shape[0], y.shape[1]), np.int32)

        def multiply(zeros: Array, packed: int) -> None:
            if packed == byte_words.PACKED:
                left = self.b.view(self._byte_image(self.b.view(x, (x.shape[0], 1, 1, x.shape[1])), a[1], zeros, (1, 1), (0, 0)),
                                   (x.shape[0], -(-x.shape[1] // packed)))
                right, added = self._byte_words(y, a[1], b[1], zeros)
            else:
                left, right, added = self._left(x, a[1], zeros, packed == 2), self._right(y, b[1], zeros, packed == 2), None
            (m, k), n = left.shape, right.shape[1]
            emit(self.b, Product(m, n, k, 4 * k, 4 * n, 4 * n, packed=packed), left, right, result, "quantized matmul", Epilogue(added))

        return result, *self._either_way(a, b, multiply)

    def conv2d(self, input: Factor, filter: Factor, strides: Sequence[int], padding: str, dilations: Sequence[int],
               out_type: DType) -> tuple[Array, Array, Array]:
        """The convolution of images with filters, and its range."""
        self._check(input, filter, out_type)
        x, f = (self.b.contiguous(each[0]) for each in (input, filter))
        try:
            w = conv_windows(x.shape, f.shape, tuple(strides), tuple(dilations), padding, "NHWC")
            check_depth(x.shape[3], *f.shape[2:])
        except KernelError as error:
            self.b.unsupported(str(error))
        if x.shape[3] != f.shape[2]:
            self.b.unsupported("a convolution of groups of channels")
        result = self.b.empty((x.shape[0], *w.output, f.shape[3]), np.int32)

        def convolve(zeros: Array, packed: int) -> None:
            if packed == byte_words.PACKED:
                self._convolve_bytes((x, input[1]), (f, filter[1]), zeros, result, w)
                return
            left, right = self._left(x, input[1], zeros, packed == 2), self._right(f, filter[1], zeros, packed == 2)
            self.b.convolve.integers(left, right, result, w, packed)

        return result, *self._either_way(input, filter, convolve)

    def _check(self, a: Factor, b: Factor, out_type: DType) -> None:
        if a[1] not in _TYPES or b[1] not in _TYPES or out_type is not dt.qint32:
            self.b.unsupported(f"products of {a[1].name} and {b[1].name} as {out_type.name}")
        if any(bound.size != 1 for factor in (a, b) for bound in factor[2:]):
            self.b.unsupported("a range is not of two numbers")
        if not a[0].size or not b[0].size:
            self.b.unsupported("there is nothing to multiply")

    def _matrix(self, array: Array, swap: bool) -> Array:
        if array.rank != 2:
            self.b.unsupported("a factor is not a matrix")
        return self.b.contiguous(self.b.view(array, array.shape[::-1], array.strides[::-1]) if swap else array)

    def _either_way(self, a: Factor, b: Factor, make: Callable[[Array, int], None]) -> tuple[Array, Array]:
        """The calls of a product by bytes, by pairs, and by integers of 32 bits, of which one will run; the range of the result."""
        zeros, near, plain = self.b.empty((2,), np.int32), self.b.empty((), np.bool_), self.b.empty((), np.bool_)
        least, most = self.b.empty((), np.float32), self.b.empty((), np.float32)
        code = Code.of(f"quantized ranges {a[1].name} {b[1].name}", lambda: _build_ranges(a[1], b[1]))
        self.b.call(code, [*a[2:], *b[2:], zeros, near, plain, least, most, self.b.status], [()], "quantized ranges", writes=6)

        def by_pairs() -> None:
            self.b.flow.choose(near, lambda: make(zeros, 2), lambda: make(zeros, 1))

        if byte_words.possible():
            self.b.flow.choose(plain, lambda: make(zeros, byte_words.PACKED), by_pairs)
        else:
            by_pairs()
        return least, most

    def _convolve_bytes(self, input: tuple[Array, DType], filter: tuple[Array, DType], zeros: Array, result: Array, w: Windows) -> None:
        """The convolution of words of four bytes, of images with their border."""
        size = tuple((count - 1) * stride + (taps - 1) * dilation + 1
                     for count, stride, taps, dilation in zip(w.output, w.strides, w.window, w.dilations))
        image = self._byte_image(*input, zeros, size, w.before)
        words, added = self._byte_words(filter[0], input[1], filter[1], zeros)
        self.b.convolve.integers(image, words, result, replace(w, size=size, before=(0, 0), after=(0, 0)), byte_words.PACKED, Epilogue(added))

    def _byte_image(self, array: Array, dtype: DType, zeros: Array, size: tuple[int, ...], before: Sequence[int]) -> Array:
        """Images as words of four bytes, of this size, with as many lines and columns ``before`` their first ones."""
        images, height, width, depth = array.shape
        words = -(-depth // byte_words.PACKED)
        result = self.b.empty((images, *size, words), np.int32)
        numbers = [size[0], height, width, min(width, size[1] - before[1]), depth, *before, size[1], byte_words.PACKED * words]
        self.b.call(byte_words.image_code(dtype), [array, zeros, result], [[*part, *numbers] for part in self._parts(images * size[0], array.size)],
                    "bytes")
        return result

    def _byte_words(self, array: Array, first: DType, dtype: DType, zeros: Array) -> tuple[Array, Array]:
        """Weights as words of four bytes, and what is to be added to each column of their products."""
        *outer, rows, count = array.shape
        groups = -(-rows // byte_words.PACKED)
        result, added = self.b.empty((*outer, groups, count), np.int32), self.b.empty((count,), np.int32)
        parts = [[*part, int(np.prod(outer)), rows, groups, count] for part in ranges(count, 1 if array.size < _MANY else self.b.threads, _COLUMNS)]
        self.b.call(byte_words.words_code(first, dtype), [array, zeros, result, added], parts, "bytes", writes=2)
        return result, added

    def _left(self, array: Array, dtype: DType, zeros: Array, pairs: bool) -> Array:
        """The integers less their zero: pairs of neighbours along the last axis as words, or one word each."""
        *outer, count = array.shape
        rows = int(np.prod(outer))
        result = self.b.empty((*outer, -(-count // 2) if pairs else count), np.int32)
        code = Code.of(f"quantized rows {dtype.name} {pairs}", lambda: _build_rows(dtype, 2 if pairs else 4))
        self.b.call(code, [array, zeros, result], [[*part, count, 0] for part in self._parts(rows, array.size)], "widen")
        return result

    def _right(self, array: Array, dtype: DType, zeros: Array, pairs: bool) -> Array:
        """The same for the other factor: a pair is of neighbours along the last axis but one."""
        *outer, rows, count = array.shape
        if not pairs:
            result = self.b.empty(array.shape, np.int32)
            code = Code.of(f"quantized rows {dtype.name} {pairs}", lambda: _build_rows(dtype, 4))
            self.b.call(code, [array, zeros, result], [[0, int(np.prod(outer)) * rows, count, 1]], "widen")
            return result
        result = self.b.empty((*outer, -(-rows // 2), count), np.int32)
        code = Code.of(f"quantized pairs {dtype.name}", lambda: _build_pairs(dtype))
        taps = int(np.prod(outer))
        groups = -(-rows // 2)
        self.b.call(code, [array, zeros, result], [[*part, rows, groups, count] for part in self._parts(taps * groups, array.size)], "widen")
        return result

    def _parts(self, rows: int, size: int) -> list[list[int]]:
        return [list(part) for part in ranges(rows, 1 if size < _MANY else self.b.threads * PARTS, 1)]


# --- kernels ---------------------------------------------------------------------------------------------------------

def _build_ranges(first: DType, second: DType) -> str:
    """The integers that stand for 0, whether both are near, and plain enough for ``byte_words``; the range of sums: as in ``ops/nn/quantized.py``,
    operation after operation."""
    w = Writer(["low_a", "high_a", "low_b", "high_b", "zeros", "near", "plain", "least", "most", "status"])
    b = w.b
    near: IR = ir.Constant(ir.IntType(1), 1)
    zero_points: list[IR] = []
    level: IR = ir.Constant(FLOAT, 1.0)
    for index, (low_at, high_at, dtype) in enumerate(((w.low_a, w.high_a, first), (w.low_b, w.high_b, second))):
        low, high = w.load(low_at, FLOAT), w.load(high_at, FLOAT)
        with b.if_then(b.not_(b.fcmp_ordered("<=", low, high))):
            b.store(number(1), w.status)
        zero = _zero_point(w, low, high, int(np.iinfo(dtype.np).min))
        w.store(b.trunc(zero, I32), w.item(w.zeros, index, I32), I32)
        zero_points.append(zero)
        near = b.and_(near, b.icmp_unsigned("<=", b.add(zero, number(_FAR)), number(2 * _FAR)))
        level = b.fmul(level, b.fdiv(b.fsub(high, low), ir.Constant(FLOAT, 255.0)))
    is_byte = b.icmp_unsigned("<=", b.add(zero_points[0], number(byte_words.first_zero(first))), number(255))
    plain = b.and_(is_byte, b.icmp_signed("==", zero_points[1], number(byte_words.second_zero(second))))
    for place, holds in ((w.near, near), (w.plain, plain)):
        w.store(b.zext(holds, _I8), place, _I8)
    for place, limit in ((w.least, np.iinfo(np.int32).min), (w.most, np.iinfo(np.int32).max)):
        w.store(b.fmul(level, ir.Constant(FLOAT, float(np.float32(limit)))), place, FLOAT)
    return w.finish()


def _zero_point(w: Writer, low: IR, high: IR, least: int) -> IR:
    b = w.b
    start, stop = b.fpext(low, DOUBLE), b.fpext(high, DOUBLE)
    scale = b.fdiv(ir.Constant(DOUBLE, 256.0), b.fmul(b.fsub(stop, start), ir.Constant(DOUBLE, 256.0 / 255.0)))
    exact = b.fmul(start, scale)
    nearest = w.intrinsic("trunc", b.fadd(exact, w.intrinsic("copysign", ir.Constant(DOUBLE, 0.5), exact)))
    whole = b.call(w.declare("llvm.fptosi.sat.i64.f64", I64, [DOUBLE]), [nearest])
    return b.select(b.fcmp_unordered("==", low, high), number(least), b.sub(number(least), whole))


def _widen(w: Writer, source: IR, zero: IR, dtype: DType, kind: ir.Type, lanes: int) -> IR:
    """Integers at a place, less their zero."""
    value = w.load(source, _I8, lanes)
    wide = ir.VectorType(kind, lanes) if lanes > 1 else kind
    value = w.b.sext(value, wide) if dtype is dt.qint8 else w.b.zext(value, wide)
    return w.b.sub(value, w.broadcast(zero, lanes))


def _zero(w: Writer, which: IR | int, kind: ir.Type) -> IR:
    zero = w.load(w.item(w.zeros, which, I32), I32)
    return w.b.trunc(zero, kind) if kind is _I16 else zero


def _build_rows(dtype: DType, size: int) -> str:
    """rows(source, zeros, result; start, stop, count, which zero): rows of integers; those of 16 bits are filled up with a 0 to whole pairs."""
    kind = _WIDTHS[size]
    w = Writer(["source", "zeros", "result"], ["start", "stop", "count", "which"])
    b = w.b
    zero = _zero(w, w.which, kind)
    padded = b.and_(b.add(w.count, number(1)), number(-2)) if size == 2 else w.count
    with w.range(w.stop, w.start) as row:
        source, target = w.at(w.source, b.mul(row, w.count)), w.at(w.result, b.mul(b.mul(row, padded), number(size)))

        def widen(index: IR, lanes: int) -> None:
            w.store(_widen(w, w.at(source, index), zero, dtype, kind, lanes), w.item(target, index, kind), kind)

        w.strips(w.count, widen, _LANES)
        if size == 2:
            with b.if_then(b.icmp_signed("<", w.count, padded)):
                w.store(ir.Constant(kind, 0), w.item(target, w.count, kind), kind)
    return w.finish()


def _build_pairs(dtype: DType) -> str:
    """pairs(source, zeros, result; start, stop, rows, groups, count): two rows as one row of words, ``groups`` of them for each tap of ``rows``."""
    w = Writer(["source", "zeros", "result"], ["start", "stop", "rows", "groups", "count"])
    b = w.b
    zero = _zero(w, 1, _I16)
    with w.range(w.stop, w.start) as group:
        tap, first = b.udiv(group, w.groups), b.mul(b.urem(group, w.groups), number(2))
        source = w.at(w.source, b.mul(b.add(b.mul(tap, w.rows), first), w.count))
        target = w.at(w.result, b.mul(b.mul(group, w.count), number(4)))
        whole = b.icmp_signed("<", b.add(first, number(1)), w.rows)

        def interleave(index: IR, lanes: int, second: bool) -> None:
            kind = ir.VectorType(_I16, lanes) if lanes > 1 else _I16
            upper = _widen(w, w.at(source, index), zero, dtype, _I16, lanes)
            lower = _widen(w, w.at(source, b.add(index, w.count)), zero, dtype, _I16, lanes) if second else ir.Constant(kind, None)
            words = ir.VectorType(I32, lanes) if lanes > 1 else I32
            shift = w.splat(I32, 16, lanes)
            value = b.or_(b.zext(upper, words), b.shl(b.zext(lower, words), shift))
            w.store(value, w.item(target, index, I32), I32)

        with b.if_else(whole) as (both, one):
            with both:
                w.strips(w.count, lambda index, lanes: interleave(index, lanes, True), _LANES)
            with one:
                w.strips(w.count, lambda index, lanes: interleave(index, lanes, False), _LANES)
    return w.finish()
