"""Numeric gradients in float64, by central differences along random directions.

A wrong element of a gradient shows in almost every direction, so two directions per input cost four runs however large the input is. If they
disagree, the gradient is worked out element by element for the message.

Complex values follow TensorFlow: the gradient g of a real loss with respect to a complex z is such that d(loss) = Re(conj(g) * dz).
"""
from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[[list[np.ndarray]], float]
STEP = 1e-5
_SMALL = 64  # elements up to which a failing gradient is printed in full


def inner(a: Any, b: Any) -> float:
    """Re(conj(a) . b)."""
    return float(np.sum(np.real(np.conj(a) * b)))


def check(function: Function, values: list[np.ndarray], gradients: list[np.ndarray | None], names: list[str], tolerance: float, label: str) -> None:
    """AssertionError, naming the input, if ``gradients`` are not those of ``function`` at ``values``."""
    random = np.random.RandomState(zlib.crc32(label.encode()))
    for index, (gradient, name) in enumerate(zip(gradients, names)):
        if not values[index].size:
            continue
        for _ in range(2):
            direction = _direction(random, values[index])
            numeric = _slope(function, values, index, direction)
            symbolic = 0.0 if gradient is None else inner(gradient, direction)
            if abs(numeric - symbolic) > tolerance * max(1.0, abs(numeric), abs(symbolic)):
                raise AssertionError(_explain(function, values, index, gradient, name, label, numeric, symbolic))


def _direction(random: Any, value: np.ndarray) -> np.ndarray:
    direction = random.standard_normal(value.shape)
    return direction + 1j * random.standard_normal(value.shape) if value.dtype.kind == "c" else direction


def _slope(function: Function, values: list[np.ndarray], index: int, direction: np.ndarray) -> float:
    def at(step: float) -> float:
        return function([value + step * direction if i == index else value for i, value in enumerate(values)])
    return (at(STEP) - at(-STEP)) / (2 * STEP)


def _explain(function: Function, values: list[np.ndarray], index: int, gradient: Any, name: str, label: str, numeric: float,
             symbolic: float) -> str:
    text = f"{label}: the gradient of {name} is wrong: along one direction the slope is {numeric:.8g}, the symbolic gradient says "
    text += f"{symbolic:.8g}" if gradient is not None else "None (not differentiable)"
    if values[index].size <= _SMALL and values[index].dtype.kind == "f":
        units = np.eye(values[index].size).reshape(-1, *values[index].shape)
        full = np.array([_slope(function, values, index, unit) for unit in units]).reshape(values[index].shape)
        text += f"\nnumeric:\n{full}\nsymbolic:\n{gradient}"
    return text
