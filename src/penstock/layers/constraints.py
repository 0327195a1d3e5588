"""``tf.keras.constraints``: functions that a variable's new value goes through after each step of an optimizer."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.layers import settings
from penstock.layers.objects import deserialize_object, getter_of, serialize_object
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import gather_nd
from penstock.ops.math.clip import clip_by_value
from penstock.ops.math.compare import greater_equal
from penstock.ops.math.elementwise import square
from penstock.ops.math.powers import sqrt
from penstock.ops.math.reduce import reduce_sum


class Constraint:
    """``tf.keras.constraints.Constraint``: a function from a value to one that is allowed."""

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {}


def _norms(w: Any, axis: Any) -> Any:
    """The Euclidean lengths along ``axis``; rounding must not make a square negative."""
    return sqrt(clip_by_value(reduce_sum(square(w), axis=axis, keepdims=True), 0.0, np.inf))


class MaxNorm(Constraint):
    """``tf.keras.constraints.MaxNorm``: vectors along ``axis`` are at most ``max_value`` long."""

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        return w * (clip_by_value(norms, 0.0, float(self.max_value)) / (settings.epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """``tf.keras.constraints.NonNeg``: negative elements become 0."""

    def __call__(self, w: Any) -> Any:
        return w * cast(greater_equal(w, 0.0), settings.floatx())


class UnitNorm(Constraint):
    """``tf.keras.constraints.UnitNorm``: vectors along ``axis`` have the length 1."""

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return w / (settings.epsilon() + _norms(w, self.axis))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """``tf.keras.constraints.MinMaxNorm``: lengths along ``axis`` move by ``rate`` of the way into [min_value, max_value]."""

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        desired = self.rate * clip_by_value(norms, float(self.min_value), float(self.max_value)) + (1 - self.rate) * norms
        return w * (desired / (settings.epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"min_value": self.min_value, "max_value": self.max_value, "rate": self.rate, "axis": self.axis}


class RadialConstraint(Constraint):
    """``tf.keras.constraints.RadialConstraint``: all elements of a square kernel that are equally far from its centre are equal.

    Each ring has the value that stands on the diagonal, below and to the right of the centre.
    """

    def __call__(self, w: Any) -> Any:
        if w.shape.ndims != 4:
            raise ValueError(f"The weight tensor must be of rank 4, but is of shape: {w.shape}")
        size = w.shape.as_list()[0]
        return gather_nd(w, _ring_diagonal(size))


def _ring_diagonal(size: int) -> np.ndarray:
    """For each element of a ``size`` x ``size`` kernel, the indices of the element that it is equal to.

    An odd kernel has the element before the middle one in its centre, as TensorFlow has it.
    """
    start = size // 2
    rings = np.abs(2 * np.arange(size) - (size - 1)) // 2  # 0 in the middle
    ring = np.maximum(rings[:, None], rings[None, :])
    place = np.where(ring == 0, start - 1, start + ring - size % 2)
    return np.stack([place, place], axis=-1)


_OBJECTS = {"Constraint": Constraint, "MaxNorm": MaxNorm, "NonNeg": NonNeg, "UnitNorm": UnitNorm, "MinMaxNorm": MinMaxNorm,
            "RadialConstraint": RadialConstraint, "max_norm": MaxNorm, "non_neg": NonNeg, "unit_norm": UnitNorm, "min_max_norm": MinMaxNorm,
            "radial_constraint": RadialConstraint, "maxnorm": MaxNorm, "nonneg": NonNeg, "unitnorm": UnitNorm}


def serialize(constraint: Any) -> Any:
    """``tf.keras.constraints.serialize``."""
    return serialize_object(constraint)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """``tf.keras.constraints.deserialize``."""
    return deserialize_object(config, _OBJECTS, custom_objects, "constraint")


get = getter_of(deserialize, None, "constraint")
