"""Initializers: objects that, called with a shape, give the initial value of a variable.

``tf.zeros_initializer``, ``tf.glorot_uniform_initializer``, ... An initializer is called with ``dtype`` too and, for a part of a larger variable,
with ``partition_info``, which knows the shape of the whole.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.shape import as_shape
from penstock.ops.array.fill import ones, zeros
from penstock.ops.array.permute import matrix_transpose
from penstock.ops.array.shape_ops import reshape
from penstock.ops.constant import constant
from penstock.ops.linalg.decompositions import qr
from penstock.ops.linalg.diag import diag_part, eye
from penstock.ops.math.elementwise import sign
from penstock.ops.random.random import random_normal, random_uniform, truncated_normal

_TRUNCATED_STDDEV = 0.87962566103423978  # of a standard normal distribution cut off at two standard deviations


class Initializer:
    """The base of all initializers: a callable with a type of its own, used if the caller names none."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """The initializer that ``get_config`` describes."""
        return cls(**config)

    def _type(self, dtype: Any) -> DType:
        return self.dtype if dtype is None else dtypes.as_dtype(dtype)


class _FloatInitializer(Initializer):
    """For distributions: the type must be a floating point one."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)
        if not self.dtype.is_floating:
            raise ValueError(f"Expected floating point type, got {self.dtype}.")


class Zeros(Initializer):
    """``tf.zeros_initializer``."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return zeros(shape, self._type(dtype))


class Ones(Initializer):
    """``tf.ones_initializer``."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return ones(shape, self._type(dtype))


class Constant(Initializer):
    """``tf.constant_initializer``: one value everywhere, or given values in row-major order of which the last one is repeated."""

    def __init__(self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False) -> None:
        if not np.isscalar(value) and not isinstance(value, (list, tuple, np.ndarray)):
            raise TypeError(f"Invalid type for initial value: {value} (expected Python scalar, list or tuple of values, or numpy.ndarray).")
        super().__init__(dtype)
        self.value, self._verify_shape = value, verify_shape

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: bool | None = None) -> Tensor:
        verify = self._verify_shape if verify_shape is None else verify_shape
        return constant(self.value, self._type(dtype), shape, verify_shape=verify)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"value": self.value, "dtype": self.dtype.name}


class RandomUniform(Initializer):
    """``tf.random_uniform_initializer``: drawn evenly from [minval, maxval)."""

    def __init__(self, minval: Any = 0, maxval: Any = None, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, self._type(dtype), seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed, "dtype": self.dtype.name}


class RandomNormal(_FloatInitializer):
    """``tf.random_normal_initializer``: drawn from a normal distribution."""

    _draw = staticmethod(random_normal)

    def __init__(self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return self._draw(shape, self.mean, self.stddev, self._type(dtype), seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed, "dtype": self.dtype.name}


class TruncatedNormal(RandomNormal):
    """``tf.truncated_normal_initializer``: drawn from a normal distribution, never more than two standard deviations off."""

    _draw = staticmethod(truncated_normal)


class UniformUnitScaling(_FloatInitializer):
    """``tf.uniform_unit_scaling_initializer``: uniform, scaled so that a layer keeps the variance of its input."""

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)
        self.factor, self.seed = factor, seed

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        inputs = max(1.0, math.prod(float(extent) for extent in _whole_shape(shape, partition_info)[:-1]))
        limit = math.sqrt(3 / inputs) * self.factor
        return random_uniform(shape, -limit, limit, self._type(dtype), seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


class VarianceScaling(_FloatInitializer):
    """``tf.variance_scaling_initializer``: variance ``scale / n``, where n is the number of inputs, of outputs, or their mean."""

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: int | None = None,
                 dtype: Any = dtypes.float32) -> None:
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError("Invalid `mode` argument:", mode)
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Invalid `distribution` argument:", distribution)
        super().__init__(dtype)
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        fan_in, fan_out = fans(_whole_shape(shape, partition_info))
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        variance, dtype = self.scale / max(1.0, count), self._type(dtype)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(variance), dtype, seed=self.seed)
        return truncated_normal(shape, 0.0, math.sqrt(variance) / _TRUNCATED_STDDEV, dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"scale": self.scale, "mode": self.mode, "distribution": self.distribution, "seed": self.seed, "dtype": self.dtype.name}


def _whole_shape(shape: Any, partition_info: Any) -> list[int]:
    """The shape of the whole variable."""
    return [int(extent) for extent in as_shape(shape if partition_info is None else partition_info.full_shape).as_list()]  # type: ignore[arg-type]


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """How many inputs and outputs one unit of a layer with weights of this shape has.

    >>> fans([3, 3, 16, 32])
    (144, 288)
    """
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    field = math.prod(shape[:-2])  # of a convolution
    return shape[-2] * field, shape[-1] * field


class GlorotUniform(VarianceScaling):
    """``tf.glorot_uniform_initializer``, also called Xavier: what ``tf.get_variable`` uses if nothing else is said."""

    _distribution = "uniform"

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", self._distribution, seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(GlorotUniform):
    """``tf.glorot_normal_initializer``."""

    _distribution = "truncated_normal"


class Orthogonal(_FloatInitializer):
    """``tf.orthogonal_initializer``: a random matrix with orthonormal rows or columns, times ``gain``; leading axes are flattened."""

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)
        self.gain, self.seed = gain, seed

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        extents = as_shape(shape).as_list()
        if len(extents) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = math.prod(extents[:-1]), extents[-1]  # type: ignore[arg-type]
        tall = [max(rows, columns), min(rows, columns)]  # type: ignore[type-var]
        q, r = qr(random_normal(tall, dtype=self._type(dtype), seed=self.seed), full_matrices=False)
        q *= sign(diag_part(r))  # makes the distribution even over all orthogonal matrices
        if rows < columns:  # type: ignore[operator]
            q = matrix_transpose(q)
        return self.gain * reshape(q, extents)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class Identity(Initializer):
    """``tf.initializers.identity``: the identity matrix times ``gain``."""

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)
        if not self.dtype.is_floating:
            raise ValueError(f"Expected floating point type, got {self.dtype}.")
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        extents = _whole_shape(shape, partition_info)
        if len(extents) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        rows, columns = extents
        matrix = eye(rows, None if rows == columns else columns, dtype=self._type(dtype))
        if partition_info is not None:
            offset, taken = partition_info.var_offset, as_shape(shape).as_list()
            matrix = matrix[offset[0]:offset[0] + taken[0], offset[1]:offset[1] + taken[1]]
        return self.gain * matrix

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"gain": self.gain, "dtype": self.dtype.name}


def he_normal(seed: int | None = None) -> VarianceScaling:
    """``tf.initializers.he_normal``: variance ``2 / inputs``, for layers with ReLU."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """``tf.initializers.he_uniform``: variance ``2 / inputs``, for layers with ReLU."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """``tf.initializers.lecun_normal``: variance ``1 / inputs``."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """``tf.initializers.lecun_uniform``: variance ``1 / inputs``."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)
