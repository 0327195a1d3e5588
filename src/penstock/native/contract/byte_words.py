"""Factors of 8 bits as words of four bytes, for CPUs that multiply four of them and add up the products in one instruction (VNNI).

That instruction takes bytes without a sign from the first factor and bytes with one from the second. So the first keeps its integers, counted from
their least one, and what stands for 0 is made good for: it adds the same to all sums of a column, which is subtracted from each. Of the second factor
0 has to stand for 0. The border of an image is filled with the integer that stands for 0.
"""
from __future__ import annotations

import numpy as np
from llvmlite import ir

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.native.calls import Code
from penstock.native.machine import target
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import I32, IR
from penstock.native.vector.writer import Writer

PACKED = 4  # bytes of a word
_LANES = 16
_I8 = ir.IntType(8)
_SIGN = -128  # the bit that tells integers from -128 on from those from 0 on


def possible() -> bool:
    """Has the CPU that instruction, for the vectors that products use?"""
    return target.has("avx512vnni") if target.has("avx512f") else target.has("avxvnni")


def first_zero(dtype: DType) -> int:
    """What is added to integers of a type to count them from 0."""
    return -int(np.iinfo(dtype.np).min)


def second_zero(dtype: DType) -> int:
    """The integer of a type that has to stand for 0 in the second factor."""
    return 128 if dtype is dt.quint8 else 0


def _shifted(w: Writer, value: IR, changes: bool, lanes: int) -> IR:
    """Bytes counted from the other one of 0 and -128."""
    return w.b.xor(value, w.splat(_I8, _SIGN, lanes) if lanes > 1 else ir.Constant(_I8, _SIGN)) if changes else value


def image_code(dtype: DType) -> Code:
    """image(source, zeros, result; start, stop, lines, height, width, used, depth, top, left, columns, pixel): lines of images, with a border.

    ``start`` and ``stop`` count lines of the result. An image of the source has ``height`` lines of ``width`` pixels, the first of which are
    ``used``, of ``depth`` bytes; of the result it has ``lines`` of ``columns`` pixels of ``pixel`` bytes."""
    return Code.of(f"byte image {dtype.name}", lambda: _build_image(dtype))


def _build_image(dtype: DType) -> str:
    w = Writer(["source", "zeros", "result"], ["start", "stop", "lines", "height", "width", "used", "depth", "top", "left", "columns", "pixel"])
    b = w.b
    zero = b.trunc(b.add(w.load(w.zeros, I32), ir.Constant(I32, first_zero(dtype))), _I8)
    length = b.mul(w.columns, w.pixel)
    with w.range(w.stop, w.start) as line:
        target_line = w.at(w.result, b.mul(line, length))
        w.strips(length, lambda index, lanes: w.store(w.broadcast(zero, lanes), w.at(target_line, index), _I8), 4 * _LANES)
        image, row = b.udiv(line, w.lines), b.sub(b.urem(line, w.lines), w.top)
        inside = b.and_(b.icmp_signed(">=", row, number(0)), b.icmp_signed("<", row, w.height))
        with b.if_then(inside):
            source = w.at(w.source, b.mul(b.mul(b.add(b.mul(image, w.height), row), w.width), w.depth))
            place = w.at(target_line, b.mul(w.left, w.pixel))
            is_whole = b.icmp_signed("==", w.depth, w.pixel)
            count = b.select(is_whole, number(1), w.used)  # pixels without a gap are copied as one
            bytes_each = b.select(is_whole, b.mul(w.used, w.depth), w.depth)
            with w.range(count) as pixel:
                origin, goal = w.at(source, b.mul(pixel, w.depth)), w.at(place, b.mul(pixel, w.pixel))

                def copy(index: IR, lanes: int, origin: IR = origin, goal: IR = goal) -> None:
                    value = _shifted(w, w.load(w.at(origin, index), _I8, lanes), dtype is dt.qint8, lanes)
                    w.store(value, w.at(goal, index), _I8)

                w.strips(bytes_each, copy, 4 * _LANES)
    return w.finish()


def words_code(first: DType, dtype: DType) -> Code:
    """words(source, zeros, result, added; start, stop, taps, rows, groups, count): four rows as one row of words, ``groups`` of them for each tap of
    ``rows``; columns from ``start`` to ``stop``. ``added``: what makes good for the 0 of the first factor, whose type is ``first``."""
    return Code.of(f"byte words {first.name} {dtype.name}", lambda: _build_words(first, dtype))


def _build_words(first: DType, dtype: DType) -> str:
    w = Writer(["source", "zeros", "result", "added"], ["start", "stop", "taps", "rows", "groups", "count"])
    b = w.b
    columns, sums = b.sub(w.stop, w.start), w.item(w.added, w.start, I32)
    w.clear_bytes(sums, b.mul(columns, number(4)))

    def row_of_words(source: IR, goal: IR, rows: int) -> None:
        def interleave(index: IR, lanes: int) -> None:
            wide = ir.VectorType(I32, lanes) if lanes > 1 else I32
            word, total = ir.Constant(wide, None), w.load(w.item(sums, index, I32), I32, lanes)
            for row in range(rows):
                byte = _shifted(w, w.load(w.at(source, b.add(index, b.mul(number(row), w.count))), _I8, lanes), dtype is dt.quint8, lanes)
                word = b.or_(word, b.shl(b.zext(byte, wide), w.splat(I32, 8 * row, lanes) if lanes > 1 else ir.Constant(I32, 8 * row)))
                total = b.add(total, b.sext(byte, wide))
            w.store(word, w.item(goal, index, I32), I32)
            w.store(total, w.item(sums, index, I32), I32)

        w.strips(columns, interleave, _LANES)

    with w.range(b.mul(w.taps, w.groups)) as group:
        tap, first_row = b.udiv(group, w.groups), b.mul(b.urem(group, w.groups), number(PACKED))
        source = w.at(w.source, b.add(b.mul(b.add(b.mul(tap, w.rows), first_row), w.count), w.start))
        goal = w.item(w.result, b.add(b.mul(group, w.count), w.start), I32)
        left = b.sub(w.rows, first_row)
        for rows in range(1, PACKED):
            with b.if_then(b.icmp_signed("==", left, number(rows))):
                row_of_words(source, goal, rows)
        with b.if_then(b.icmp_signed(">=", left, number(PACKED))):
            row_of_words(source, goal, PACKED)
    zero = b.neg(b.add(w.load(w.zeros, I32), ir.Constant(I32, first_zero(first))))

    def scale(index: IR, lanes: int) -> None:
        w.store(b.mul(w.load(w.item(sums, index, I32), I32, lanes), w.broadcast(zero, lanes)), w.item(sums, index, I32), I32)

    w.strips(columns, scale, _LANES)
    return w.finish()
