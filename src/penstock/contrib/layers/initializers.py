"""Initializers of ``tf.contrib.layers``: random numbers whose variance depends on how many inputs and outputs a weight connects."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes
from penstock.ops.random.random import random_uniform, truncated_normal

MODES = ("FAN_IN", "FAN_OUT", "FAN_AVG")


def variance_scaling_initializer(factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None,
                                 dtype: Any = dtypes.float32) -> Callable[..., Any]:
    """An initializer whose values have the variance ``factor / n``; ``mode`` says what n counts: inputs, outputs, or the mean of both."""
    if not dtype.is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in MODES:
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]", mode)

    def _initializer(shape: Any, dtype: Any = dtype, partition_info: Any = None) -> Any:
        if not dtype.is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        number = _connections(shape, mode)
        if uniform:
            limit = math.sqrt(3.0 * factor / number)
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / number), dtype, seed=seed)  # 1.3: what truncation takes away
    return _initializer


def _connections(shape: Any, mode: str) -> float:
    extents = [float(int(extent)) for extent in shape]
    window = math.prod(extents[:-2])
    inputs = window * (extents[-2] if len(extents) > 1 else extents[-1] if extents else 1.0)
    outputs = window * (extents[-1] if extents else 1.0)
    return {"FAN_IN": inputs, "FAN_OUT": outputs, "FAN_AVG": (inputs + outputs) / 2.0}[mode]


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: Any = dtypes.float32) -> Callable[..., Any]:
    """Glorot's initializer: it keeps the scale of values and of gradients about the same in all layers."""
    return variance_scaling_initializer(factor=1.0, mode="FAN_AVG", uniform=uniform, seed=seed, dtype=dtype)


xavier_initializer_conv2d = xavier_initializer
