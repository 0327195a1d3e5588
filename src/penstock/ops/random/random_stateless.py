"""Random tensors that are pure functions of their ``seed`` input: the same two numbers give the same tensor, in every step."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import as_dtype
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.shape_ops import INDEX_32, INDEX_64, known_shape
from penstock.ops.common import FLOATS, INDEX, REAL, shape_text
from penstock.ops.math.elementwise import Add, Mul, Sub
from penstock.ops.random import distributions
from penstock.ops.random.philox import Philox
from penstock.ops.random.random import check_logits, check_range, checked_shape, samples_shape, shape_tensor, uniform_range

FLOAT_DEFAULT = types(*FLOATS, default=dt.float32)


def _generator(seed: np.ndarray) -> Philox:
    if np.shape(seed) != (2,):
        raise invalid_argument(f"seed must have shape [2], not {shape_text(seed)}")
    return Philox.stateless(int(seed[0]), int(seed[1]))


def _shape(shape, seed):
    _check_seed(seed)
    return known_shape(shape)


def _check_seed(seed: Tensor) -> None:
    if seed.shape.with_rank(1).extent(0) not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {seed.shape[0]}")


@op("StatelessRandomUniform", "shape: T, seed: Tseed -> output: dtype", dtype=FLOAT_DEFAULT, T=INDEX_32, Tseed=INDEX_64)
class StatelessRandomUniform:
    """Floats drawn evenly from [0, 1)."""

    shape = _shape
    gradient = None

    def kernel(shape, seed, dtype):
        return distributions.uniform(_generator(seed), checked_shape(shape), dtype.np)


@op("StatelessRandomUniformInt", "shape: T, seed: Tseed, minval: dtype, maxval: dtype -> output: dtype", dtype=INDEX, T=INDEX, Tseed=INDEX_64)
class StatelessRandomUniformInt:
    """Integers drawn evenly from [minval, maxval)."""

    gradient = None

    def shape(shape, seed, minval, maxval):
        minval.shape.assert_has_rank(0)
        maxval.shape.assert_has_rank(0)
        return _shape(shape, seed)

    def kernel(shape, seed, minval, maxval, dtype):
        check_range(minval, maxval)
        return distributions.uniform_int(_generator(seed), checked_shape(shape), minval, maxval, dtype.np)


@op("StatelessRandomNormal", "shape: T, seed: Tseed -> output: dtype", dtype=FLOAT_DEFAULT, T=INDEX_32, Tseed=INDEX_64)
class StatelessRandomNormal:
    """Standard normal numbers."""

    shape = _shape
    gradient = None

    def kernel(shape, seed, dtype):
        return distributions.normal(_generator(seed), checked_shape(shape), dtype.np)


@op("StatelessTruncatedNormal", "shape: T, seed: Tseed -> output: dtype", dtype=FLOAT_DEFAULT, T=INDEX_32, Tseed=INDEX_64)
class StatelessTruncatedNormal:
    """Standard normal numbers within (-2, 2)."""

    shape = _shape
    gradient = None

    def kernel(shape, seed, dtype):
        return distributions.truncated_normal(_generator(seed), checked_shape(shape), dtype.np)


@op("StatelessMultinomial", "logits: T, num_samples: int32, seed: Tseed -> output: output_dtype", T=REAL, Tseed=INDEX_64, output_dtype=INDEX_64)
class StatelessMultinomial:
    """For each row of unnormalised log-probabilities, ``num_samples`` class indices."""

    gradient = None

    def shape(logits, num_samples, seed):
        _check_seed(seed)
        return samples_shape(logits, num_samples)

    def kernel(logits, num_samples, seed, output_dtype):
        check_logits(logits, num_samples)
        return distributions.multinomial(_generator(seed), logits, int(num_samples), output_dtype.np)


def stateless_random_uniform(shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dt.float32,
                             name: str | None = None) -> Tensor:
    """``tf.random.stateless_uniform``: numbers drawn evenly from [minval, maxval), decided by ``seed`` (two integers) alone."""
    dtype, maxval = uniform_range(dtype, maxval)
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        shape, low, high = shape_tensor(shape), to_tensor(minval, dtype, "min"), to_tensor(maxval, dtype, "max")
        if dtype.is_integer:
            return StatelessRandomUniformInt(shape, seed, low, high, name=scope)
        unit = StatelessRandomUniform(shape, seed, dtype=dtype)
        return Add(Mul(unit, Sub(high, low, name="sub"), name="mul"), low, name=scope)


def stateless_random_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dt.float32, name: str | None = None) -> Tensor:
    """``tf.random.stateless_normal``: normal numbers, decided by ``seed`` (two integers) alone."""
    return _scale_and_shift(StatelessRandomNormal, "stateless_random_normal", shape, seed, mean, stddev, dtype, name)


def stateless_truncated_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dt.float32,
                               name: str | None = None) -> Tensor:
    """``tf.random.stateless_truncated_normal``: normal numbers within two standard deviations, decided by ``seed`` alone."""
    return _scale_and_shift(StatelessTruncatedNormal, "stateless_truncated_normal", shape, seed, mean, stddev, dtype, name)


def _scale_and_shift(definition: Any, default_name: str, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any, name: str | None) -> Tensor:
    dtype = as_dtype(dtype)
    with name_scope(name, default_name, [shape, seed, mean, stddev]) as scope:
        shape, mean, stddev = shape_tensor(shape), to_tensor(mean, dtype, "mean"), to_tensor(stddev, dtype, "stddev")
        return Add(Mul(definition(shape, seed, dtype=dtype), stddev, name="mul"), mean, name=scope)


def stateless_multinomial(logits: Any, num_samples: Any, seed: Any, output_dtype: Any = dt.int64, name: str | None = None) -> Tensor:
    """``tf.random.stateless_multinomial``: class indices for rows of logits, decided by ``seed`` alone."""
    return _classes("stateless_multinomial", logits, num_samples, seed, output_dtype, name)


def stateless_categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any = dt.int64, name: str | None = None) -> Tensor:
    """``tf.random.stateless_categorical``: ``stateless_multinomial`` under its later name."""
    return _classes("stateless_categorical", logits, num_samples, seed, dtype, name)


def _classes(default_name: str, logits: Any, num_samples: Any, seed: Any, dtype: Any, name: str | None) -> Tensor:
    with name_scope(name, default_name, [logits, seed]):
        return StatelessMultinomial(to_tensor(logits, None, "logits"), num_samples, seed, output_dtype=dtype)
