"""Prints the polynomial tables of ``src/penstock/native/vector/polynomials.py``: interpolation at Chebyshev points, in 90 digits.

Interpolation there is within a small factor of the best polynomial, so one degree more than a minimax fit would need is enough. Each table is
printed with the largest error that it makes before rounding.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, getcontext

getcontext().prec = 90
D = Decimal
ONE, TWO = D(1), D(2)
Function = Callable[[Decimal], Decimal]


def series(first: Decimal, ratio: Callable[[int], Decimal]) -> Decimal:
    """first * (1 + ratio(1) + ratio(1) * ratio(2) + ...)."""
    total = term = first
    index = 1
    while term and abs(term) > abs(total) * D(10) ** -88:
        term *= ratio(index)
        total += term
        index += 1
    return total


def atan(x: Decimal) -> Decimal:
    """The arc tangent, for small x."""
    total, power, index = D(0), x, 0
    while abs(power) > D(10) ** -90:
        total += power / (2 * index + 1) * (-1) ** index
        power *= x * x
        index += 1
    return total


PI = 16 * atan(ONE / 5) - 4 * atan(ONE / 239)


def erf_over_x(x: Decimal) -> Decimal:
    """erf(x) / x."""
    return TWO / PI.sqrt() * (-x * x).exp() * series(ONE, lambda n: 2 * x * x / (2 * n + 1))


def scaled_erfc(x: Decimal) -> Decimal:
    """exp(x ** 2) * erfc(x)."""
    if x < 9:
        return (x * x).exp() * (ONE - x * erf_over_x(x))
    fraction = x
    for n in range(400, 0, -1):
        fraction = x + D(n) / 2 / fraction
    return ONE / fraction / PI.sqrt()


def exp_rest(r: Decimal) -> Decimal:
    """(exp(r) - 1 - r) / r ** 2."""
    return series(ONE / 2, lambda n: r / (n + 2))


def log_rest(z: Decimal) -> Decimal:
    """(log(1 + f) / s - 2) / z, where s = f / (2 + f) and z = s ** 2: 2/3 + 2/5 z + 2/7 z**2 + ..."""
    total, power, index = D(0), TWO, 3
    while power > D(10) ** -90:
        total += power / index
        power, index = power * z, index + 2
    return total


def sin_rest(z: Decimal) -> Decimal:
    """(sin(r) / r - 1) / z, where z = r ** 2."""
    return series(-ONE / 6, lambda n: -z / ((2 * n + 2) * (2 * n + 3)))


def cos_rest(z: Decimal) -> Decimal:
    """(cos(r) - 1 + z / 2) / z ** 2, where z = r ** 2."""
    return series(ONE / 24, lambda n: -z / ((2 * n + 3) * (2 * n + 4)))


def erfc_rest(shift: Decimal) -> Function:
    """exp(x ** 2) * erfc(x) * (1 + 2 x) as a function of t = (x - shift) / (x + shift)."""
    def function(t: Decimal) -> Decimal:
        x = shift * (1 + t) / (1 - t)
        return scaled_erfc(x) * (1 + 2 * x)
    return function


def fit(function: Function, low: Decimal, high: Decimal, degree: int) -> tuple[list[Decimal], float]:
    """Coefficients (constant term first) and the largest relative error."""
    nodes = [(low + high) / 2 + (high - low) / 2 * D(math.cos(math.pi * (i + 0.5) / (degree + 1))) for i in range(degree + 1)]
    table = [function(node) for node in nodes]
    for order in range(1, degree + 1):  # divided differences
        for i in range(degree, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - order])
    result = [table[degree]]
    for i in range(degree - 1, -1, -1):  # Newton's form, multiplied out
        result = [D(0), *result]
        for j in range(len(result) - 1):
            result[j] -= nodes[i] * result[j + 1]
        result[0] += table[i]
    worst = 0.0
    for i in range(201):
        x = low + (high - low) * i / 200
        exact = function(x)
        value = D(0)
        for coefficient in reversed(result):
            value = value * x + coefficient
        worst = max(worst, float(abs((value - exact) / exact)))
    return result, worst


def show(name: str, function: Function, low: float, high: float, degrees: tuple[int, int]) -> None:
    """Prints one entry: the table for float32, the table for float64."""
    for bits, degree in zip((32, 64), degrees):
        coefficients, error = fit(function, D(low), D(high), degree)
        print(f"{name}_{bits} = (  # relative error {error:.0e}")
        line = "   "
        for value in coefficients:
            text = f" {float(value)!r},"
            if len(line) + len(text) > 118:
                print(line)
                line = "   "
            line += text
        print(line.rstrip(",") + ")")


def shifted(x: float, shift: float) -> float:
    """Where ``erfc_rest`` is evaluated for x."""
    return (x - shift) / (x + shift)


if __name__ == "__main__":
    half = math.log(2) / 2 * 1.001
    show("EXP", exp_rest, -half, half, (5, 10))
    show("LOG", log_rest, 0.0, 0.0295, (3, 7))
    show("SIN", sin_rest, 0.0, 0.6169, (3, 6))
    show("COS", cos_rest, 0.0, 0.6169, (3, 6))
    show("ERF", lambda z: erf_over_x(z.sqrt()), 0.0, 1.0, (7, 12))
    show("ERFC", erfc_rest(D("2.5")), shifted(0.5, 2.5), shifted(28.0, 2.5), (10, 20))
