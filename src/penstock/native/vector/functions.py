"""Exponentials, logarithms, trigonometric and error functions as branch-free vector code, within a few ulp over the whole range.

Each function takes the operations of its type (``Floats``) and vectors. Polynomials are in ``polynomials``; what remains is reduction of the
argument to the interval of a polynomial, in steps whose rounding errors are made up for, and the special values.
"""
from __future__ import annotations

import math

from llvmlite import ir

from penstock.native.vector import polynomials
from penstock.native.vector.vectors import IR, Floats, vector

# log(2) and pi / 2 in parts: the first part of log(2) is so short that its multiples by an exponent are exact.
_LN2 = {32: (0.693359375, -2.12194440054690581e-4), 64: (6.93147180369123816490e-01, 1.90821492927058770002e-10)}
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_EXP_RANGE = {32: (-104.0, 89.0), 64: (-746.0, 710.0)}  # below it is 0, above infinity


def _split_exponent(f: Floats, x: IR) -> tuple[IR, IR]:
    """x = k * log(2) + r: the integer k, and exp(r) - 1."""
    shifted = f.fma(x, f.number(1 / math.log(2)), f.number(f.magic))
    multiple = f.sub(shifted, f.number(f.magic))
    high, low = _LN2[f.bits]
    r = f.fma(multiple, f.number(-low), f.fma(multiple, f.number(-high), x))
    return f.rounded_integer(shifted), f.fma(f.mul(r, r), f.polynomial(r, polynomials.EXP[f.bits]), r)


def exp(f: Floats, x: IR) -> IR:
    """e to the power of x."""
    low, high = _EXP_RANGE[f.bits]
    k, rest = _split_exponent(f, f.smaller(f.larger(x, low), high))
    # In two steps: results may be denormal, and 2**k alone may be too large.
    half = f.builder.ashr(k, f.integer(1))
    result = f.mul(f.mul(f.add(rest, f.number(1.0)), f.power_of_two(half)), f.power_of_two(f.builder.sub(k, half)))
    return f.select(f.is_nan(x), x, result)


def expm1(f: Floats, x: IR) -> IR:
    """exp(x) - 1, exact for small x."""
    k, rest = _split_exponent(f, f.smaller(f.larger(x, -50.0), _EXP_RANGE[f.bits][1]))
    half = f.power_of_two(f.builder.sub(k, f.integer(1)))  # half of 2**k, which may be too large
    result = f.fma(half, rest, f.sub(half, f.number(0.5)))
    result = f.select(f.compare("<", f.call("fabs", x), f.number(0.25)), rest, f.add(result, result))
    return f.select(f.is_nan(x), x, result)


def _log_of_normal(f: Floats, x: IR, k_offset: IR | None, correction: IR | None) -> IR:
    """log(x) + k_offset * log(2) + correction, for positive normal x."""
    bits = f.bits_of(x)
    root = 0x3F3504F3 if f.bits == 32 else 0x3FE6A09E667F3BCD  # the square root of 1/2
    k = f.builder.ashr(f.builder.sub(bits, f.integer(root)), f.integer(f.mantissa))
    m = f.from_bits(f.builder.sub(bits, f.builder.shl(k, f.integer(f.mantissa))))  # in [sqrt(1/2), sqrt(2))
    exponent = f.from_integer(k)
    if k_offset is not None:
        exponent = f.add(exponent, k_offset)
    g = f.sub(m, f.number(1.0))
    s = f.div(g, f.add(g, f.number(2.0)))
    z = f.mul(s, s)
    rest = f.mul(z, f.polynomial(z, polynomials.LOG[f.bits]))
    square = f.mul(f.mul(g, g), f.number(0.5))
    high, low = _LN2[f.bits]
    small = f.mul(exponent, f.number(low)) if correction is None else f.fma(exponent, f.number(low), correction)
    inner = f.fma(s, f.add(square, rest), small)
    return f.fma(exponent, f.number(high), f.sub(g, f.sub(square, inner)))


def _log_edges(f: Floats, x: IR, result: IR) -> IR:
    """The special values of log(x)."""
    result = f.select(f.compare("==", x, f.number(math.inf)), x, result)
    result = f.select(f.compare("==", x, f.number(0.0)), f.number(-math.inf), result)
    return f.select(f.builder.fcmp_unordered("<", x, f.number(0.0)), f.number(math.nan), result)


def log(f: Floats, x: IR) -> IR:
    """The natural logarithm."""
    tiny = f.compare("<", x, f.number(2.0 ** (1 - f.bias)))
    scale = f.mantissa + 2
    scaled = f.select(tiny, f.mul(x, f.number(2.0 ** scale)), x)
    offset = f.select(tiny, f.number(-float(scale)), f.number(0.0))
    return _log_edges(f, x, _log_of_normal(f, scaled, offset, None))


def log1p(f: Floats, x: IR) -> IR:
    """log(1 + x), exact for small x."""
    one = f.number(1.0)
    u = f.add(x, one)
    back = f.sub(u, one)
    lost = f.add(f.sub(one, f.sub(u, back)), f.sub(x, back))  # 1 + x - u, exactly
    result = _log_edges(f, u, _log_of_normal(f, u, None, f.div(lost, u)))
    return f.select(f.compare("<", f.call("fabs", x), f.number(2.0 ** -(f.mantissa + 2))), x, result)


def tanh(f: Floats, x: IR) -> IR:
    """The hyperbolic tangent."""
    a = f.call("fabs", x)
    a = f.select(f.compare(">", a, f.number(20.0)), f.number(20.0), a)
    grown = expm1(f, f.add(a, a))
    return f.call("copysign", f.div(grown, f.add(grown, f.number(2.0))), x)


def sigmoid(f: Floats, x: IR) -> IR:
    """1 / (1 + exp(-x)), also where exp(-x) is too large."""
    decay = exp(f, f.neg(f.call("fabs", x)))
    top = f.select(f.compare("<", x, f.number(0.0)), decay, f.number(1.0))
    return f.div(top, f.add(decay, f.number(1.0)))


def _erfc_of_positive(f: Floats, a: IR) -> IR:
    """erfc(a) for a > 0.5."""
    limit = f.number(28.0 if f.bits == 64 else 10.5)  # beyond, it is 0
    a = f.select(f.compare(">", a, limit), limit, a)
    t = f.div(f.sub(a, f.number(2.5)), f.add(a, f.number(2.5)))
    square = f.mul(a, a)
    lost = f.fma(a, a, f.neg(square))  # exp(-a * a) needs more digits of the square than one number has
    bell = exp(f, f.neg(square))
    bell = f.fma(f.neg(bell), lost, bell)
    return f.div(f.mul(bell, f.polynomial(t, polynomials.ERFC[f.bits])), f.fma(a, f.number(2.0), f.number(1.0)))


def erf(f: Floats, x: IR) -> IR:
    """The error function."""
    a = f.call("fabs", x)
    small = f.mul(x, f.polynomial(f.mul(x, x), polynomials.ERF[f.bits]))
    large = f.call("copysign", f.sub(f.number(1.0), _erfc_of_positive(f, a)), x)
    return f.select(f.compare("<", a, f.number(1.0)), small, large)


def erfc(f: Floats, x: IR) -> IR:
    """1 - erf(x), exact for large x: the tail multiplies the errors of its parts, so float32 is computed in float64."""
    if f.bits == 32:
        wide = Floats(f.builder, 64)
        return f.builder.fptrunc(erfc(wide, f.builder.fpext(x, vector(wide.scalar))), vector(f.scalar))
    a = f.call("fabs", x)
    small = f.sub(f.number(1.0), f.mul(x, f.polynomial(f.mul(x, x), polynomials.ERF[f.bits])))
    tail = _erfc_of_positive(f, a)
    large = f.select(f.compare("<", x, f.number(0.0)), f.sub(f.number(2.0), tail), tail)
    return f.select(f.compare("<", a, f.number(0.5)), small, large)


def _wave(f: Floats, x: IR, name: str, quadrant: int, precision: int, limit: float) -> IR:
    """sin (quadrant 0) or cos (1) of float64, with as many terms as the result's precision needs."""
    builder = f.builder
    shifted = f.fma(x, f.number(2 / math.pi), f.number(f.magic))
    multiple = f.neg(f.sub(shifted, f.number(f.magic)))
    k = builder.add(f.rounded_integer(shifted), f.integer(quadrant))
    r = x
    for part in _HALF_PI:
        r = f.fma(multiple, f.number(part), r)
    z = f.mul(r, r)
    sine = f.fma(f.mul(r, z), f.polynomial(z, polynomials.SIN[precision]), r)
    cosine = f.fma(f.mul(z, z), f.polynomial(z, polynomials.COS[precision]), f.fma(z, f.number(-0.5), f.number(1.0)))
    odd = builder.icmp_unsigned("!=", builder.and_(k, f.integer(1)), f.integer(0))
    negative = builder.icmp_unsigned("!=", builder.and_(k, f.integer(2)), f.integer(0))
    result = f.select(odd, cosine, sine)
    result = f.select(negative, f.neg(result), result)
    return f.rarely(f.compare(">", f.call("fabs", x), f.number(limit)), result, name, x)


def _waves(f: Floats, x: IR, name: str, quadrant: int) -> IR:
    if f.bits == 64:
        return _wave(f, x, name, quadrant, 64, 2.0 ** 20)
    wide = Floats(f.builder, 64)
    result = _wave(wide, f.builder.fpext(x, vector(wide.scalar)), name, quadrant, 32, 2.0 ** 30)
    return f.builder.fptrunc(result, vector(f.scalar))


def sin(f: Floats, x: IR) -> IR:
    """The sine."""
    return _waves(f, x, "sin", 0)


def cos(f: Floats, x: IR) -> IR:
    """The cosine."""
    return _waves(f, x, "cos", 1)


def power(f: Floats, x: IR, y: IR) -> IR:
    """x to the power of y: float32 as exp(y * log(x)) of float64; float64, which would need more digits than that, by the C library."""
    if f.bits == 64:
        return f.library("pow", x, y)
    wide, double = Floats(f.builder, 64), vector(ir.DoubleType())
    x, y = f.builder.fpext(x, double), f.builder.fpext(y, double)
    return f.builder.fptrunc(_wide_power(wide, x, y), vector(f.scalar))


def _wide_power(f: Floats, x: IR, y: IR) -> IR:
    builder, one, zero, infinity = f.builder, f.number(1.0), f.number(0.0), f.number(math.inf)
    size = f.call("fabs", x)
    result = exp(f, f.mul(y, log(f, size)))
    whole = f.compare("==", f.call("floor", y), y)
    half = f.mul(y, f.number(0.5))
    odd = builder.and_(whole, f.compare("!=", f.call("floor", half), half))
    result = f.select(odd, f.call("copysign", result, x), result)
    root_of_negative = builder.and_(f.compare("<", x, zero), builder.and_(builder.not_(whole), f.compare("<", size, infinity)))
    result = f.select(root_of_negative, f.number(math.nan), result)
    endless = f.compare("==", f.call("fabs", y), infinity)
    is_one = builder.or_(f.compare("==", x, one), builder.and_(f.compare("==", size, one), endless))
    return f.select(builder.or_(is_one, f.compare("==", y, zero)), one, result)
