"""The matrices of Winograd's convolution: of 6 pixels with 3 taps to 4 results, or with 5 taps to 2.

Pixels and taps are seen as polynomials: their product is known by its values at six points, one of them infinity. The points decide how much is lost
to rounding. At 0, 2/3, -2/3, 3/2, -3/2 and infinity it is half of what the usual integers (0, 1, -1, 2, -2) cost: no other points with small
numerators and denominators do better. Pairs of opposite points share half of their work.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

Matrix = tuple[tuple[float, ...], ...]
POINTS = tuple(Fraction(*each) for each in ((0, 1), (2, 3), (-2, 3), (3, 2), (-3, 2)))
SIDE = len(POINTS) + 1  # pixels of a square of the image


def _monic(roots: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the product of all (x - root), that of 1 first."""
    result = [Fraction(1)]
    for root in roots:
        result = [high - root * low for high, low in zip([Fraction(0), *result], [*result, Fraction(0)])]
    return result


def _row(values: Sequence[Fraction], length: int) -> tuple[float, ...]:
    return tuple(float(value) for value in values) + (0.0,) * (length - len(values))


def _others(point: Fraction) -> list[Fraction]:
    return [other for other in POINTS if other != point]


def _input() -> Matrix:
    return (*(_row(_monic(_others(point)), SIDE) for point in POINTS), _row(_monic(POINTS), SIDE))


def _filter(taps: int) -> Matrix:
    scales = [math.prod((point - other for other in _others(point)), start=Fraction(1)) for point in POINTS]
    return (*(_row([point ** power / scale for power in range(taps)], taps) for point, scale in zip(POINTS, scales)), (0.0,) * (taps - 1) + (1.0,))


def _output(step: int) -> Matrix:
    return tuple((*(float(point ** power) for point in POINTS), float(power == step - 1)) for power in range(step))


def transpose(matrix: Matrix) -> Matrix:
    """Rows as columns."""
    return tuple(zip(*matrix))


@dataclass(frozen=True)
class Scheme:
    """For filters of ``taps`` x ``taps``: squares of SIDE x SIDE pixels give squares of ``step`` x ``step`` results."""

    taps: int

    @property
    def step(self) -> int:
        """Results of a square, along an axis."""
        return SIDE - self.taps + 1

    def matrix(self, name: str) -> Matrix:
        """That of a transform, by its name in ``winograd_kernel``."""
        return _MATRICES[name](self)


_MATRICES: dict[str, Callable[[Scheme], Matrix]] = {
    "input": lambda scheme: _input(),
    "filter": lambda scheme: _filter(scheme.taps),
    "output": lambda scheme: _output(scheme.step),
    "output gradient": lambda scheme: transpose(_output(scheme.step)),
    "filter gradient": lambda scheme: transpose(_filter(scheme.taps)),
}
SCHEMES = {taps: Scheme(taps) for taps in (3, 5)}
