"""Numbers in text. What is read is the plain form, of which the value is exact in few operations; the rest is left to Python."""
from __future__ import annotations

from penstock.codec.language import native
from penstock.codec.primitives import cell, load8, load64, store64, store_float64, to_float

_EXACT = 1 << 53  # integers below this are exact as float64,
_POWER = 22  # and so are powers of ten up to this
_DIGITS = 18  # of an integer, of whatever digits it is


@native
def read_digits(at, end, value):
    """Reads up to 18 digits into ``value``, as the lower digits of what is there; returns the address behind them."""
    number = load64(value)
    last = at + _DIGITS
    while at < end and at < last and load8(at) >= b"0" and load8(at) <= b"9":
        number = number * 10 + load8(at) - b"0"
        at += 1
    store64(value, number)
    return at


@native
def read_integer(at, end, value):
    """Reads an integer that takes all of the text; returns 1, or 0 if it is not plain."""
    negative = 0
    if at < end and (load8(at) == b"-" or load8(at) == b"+"):
        negative = load8(at) == b"-"
        at += 1
    start = at
    store64(value, 0)
    at = read_digits(at, end, value)
    if at == start or at != end:
        return 0
    if negative:
        store64(value, -load64(value))
    return 1


@native
def read_exponent(at, end, value):
    """Reads the exponent behind an ``e``; returns 1, or 0 if it is not plain."""
    if end - at > 4:
        return 0
    return read_integer(at, end, value)


@native
def read_float(at, end, value):
    """Reads a float64 that takes all of the text; returns 1, or 0 if it is not plain, or cannot be made without rounding twice."""
    negative = 0
    if at < end and (load8(at) == b"-" or load8(at) == b"+"):
        negative = load8(at) == b"-"
        at += 1
    digits = cell()
    store64(digits, 0)
    start = at
    at = read_digits(at, end, digits)
    count = at - start
    power = 0
    if at < end and load8(at) == b".":
        at += 1
        start = at
        if count < _DIGITS:
            room = at + _DIGITS - count
            at = read_digits(at, end if end < room else room, digits)
        power = start - at
        count += at - start
    if count == 0:
        return 0
    if at < end and (load8(at) == b"e" or load8(at) == b"E"):
        exponent = cell()
        if read_exponent(at + 1, end, exponent) == 0:
            return 0
        power += load64(exponent)
        at = end
    if at != end or load64(digits) >= _EXACT or power > _POWER or power < -_POWER:
        return 0
    scale = 1.0
    for _ in range(power if power > 0 else -power):
        scale = scale * 10.0
    number = to_float(load64(digits))
    number = number * scale if power > 0 else number / scale
    store_float64(value, -number if negative else number)
    return 1
