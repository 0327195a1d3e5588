"""Random tensors: the stateful ops, whose generators live as long as their session, and the functions on top of them.

The numbers are TensorFlow's for the same seeds: see ``ops/random/philox.py`` and ``ops/random/distributions.py``.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE, types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType, as_dtype
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.seeds import get_seed
from penstock.graph.shape import TensorShape, brackets
from penstock.graph.static import constant_value
from penstock.ops.array.shape_ops import known_shape
from penstock.ops.common import FLOATS, INDEX, REAL, fixed, like
from penstock.ops.math.elementwise import Add, Mul, Sub
from penstock.ops.random import distributions
from penstock.ops.random.philox import Philox

NO_BFLOAT16 = FLOATS - {dt.bfloat16}
COUNTS = NO_BFLOAT16 | INDEX
_SHAPE_WORDS = {"shape": (1, "shape must be a vector of {{int32,int64}}, got shape {shape}")}


def generator(ctx: Any, seed: int, seed2: int) -> Philox:
    """The generator of the running node: made in its first step, then kept for the life of the session."""
    philox = ctx.state.get("philox")
    # Two steps may meet here the first time; setdefault lets one of them win for both.
    return ctx.state.setdefault("philox", Philox.for_op(seed, seed2)) if philox is None else philox


def checked_shape(shape: Any) -> list[int]:
    """The extents in a shape vector; InvalidArgumentError if it is none."""
    shape = np.asarray(shape)
    if shape.ndim != 1:
        raise invalid_argument(_SHAPE_WORDS["shape"][1].format(shape=brackets(shape.shape)))
    for extent in shape.tolist():
        if extent < 0:
            raise invalid_argument(f"Dimension {extent} must be >= 0")
    return shape.tolist()


def _as_given(shape):
    return known_shape(shape)


@op("RandomUniform", "shape: T -> output: dtype", seed=0, seed2=0, dtype=FLOATS, T=INDEX)
class RandomUniform:
    """Floats drawn evenly from [0, 1)."""

    rank_words = _SHAPE_WORDS
    stateful = True
    draws = "_DrawUniform"
    shape = _as_given
    gradient = None

    def kernel(shape, ctx, seed, seed2, dtype):
        return distributions.uniform(generator(ctx, seed, seed2), checked_shape(shape), dtype.np)


@op("RandomUniformInt", "shape: T, minval: Tout, maxval: Tout -> output: Tout", seed=0, seed2=0, Tout=INDEX, T=INDEX)
class RandomUniformInt:
    """Integers drawn evenly from [minval, maxval)."""

    ranks = {"minval": 0, "maxval": 0}
    rank_words = _SHAPE_WORDS
    stateful = True
    draws = "_DrawUniformInt"
    shape = _as_given
    gradient = None

    def kernel(shape, minval, maxval, ctx, seed, seed2, Tout):
        check_range(minval, maxval)
        return distributions.uniform_int(generator(ctx, seed, seed2), checked_shape(shape), minval, maxval, Tout.np)


def check_range(minval: Any, maxval: Any) -> None:
    """InvalidArgumentError unless minval and maxval are scalars with a number in between."""
    for name, value in (("minval", minval), ("maxval", maxval)):
        if np.ndim(value):
            raise invalid_argument(f"{name} must be 0-D, got shape {brackets(np.shape(value))}")
    if minval >= maxval:
        raise invalid_argument(f"Need minval < maxval, got {minval} >= {maxval}")


@op("RandomStandardNormal", "shape: T -> output: dtype", seed=0, seed2=0, dtype=FLOATS, T=INDEX)
class RandomStandardNormal:
    """Numbers drawn from the normal distribution with mean 0 and standard deviation 1."""

    rank_words = _SHAPE_WORDS
    stateful = True
    draws = "_DrawNormal"
    shape = _as_given
    gradient = None

    def kernel(shape, ctx, seed, seed2, dtype):
        return distributions.normal(generator(ctx, seed, seed2), checked_shape(shape), dtype.np)


# The compiler takes a random op apart: one node has the generator, the other draws from it, which can be native code.

@op("_Generator", "-> generator: resource", seed=0, seed2=0)
class Generator:
    """The generator of the random op that this node stands for."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, seed, seed2):
        return generator(ctx, seed, seed2)


@op("_DrawUniformInt", "generator: resource, shape: T, minval: Tout, maxval: Tout -> output: Tout", Tout=INDEX, T=INDEX)
class DrawUniformInt:
    """RandomUniformInt with a generator that is given."""

    ranks = {"minval": 0, "maxval": 0}
    stateful = True
    updates = ("generator",)
    gradient = None

    def shape(shape):
        return _as_given(shape)

    def kernel(generator, shape, minval, maxval, Tout):
        check_range(minval, maxval)
        return distributions.uniform_int(generator, checked_shape(shape), minval, maxval, Tout.np)

    def native(emit, generator, shape, minval, maxval, Tout):
        return emit.random.integers(generator, emit.known(shape).tolist(), minval, maxval, distributions.RESERVED_PER_OUTPUT)


class _Drawing:
    """What ops share that draw from a generator that is given."""

    stateful = True
    updates = ("generator",)
    shape = _as_given
    gradient = None

    def kernel(generator, shape, dtype, _numpy):
        return _numpy(generator, checked_shape(shape), dtype.np)

    def native(emit, generator, shape, dtype, _how):
        return emit.random.draw(generator, emit.known(shape).tolist(), np.dtype(dtype.np), _how, distributions.RESERVED_PER_OUTPUT)


_DRAWING = "generator: resource, shape: T -> output: dtype"


@op("_DrawUniform", _DRAWING, dtype=FLOATS, T=INDEX)
class DrawUniform(_Drawing):
    """RandomUniform with a generator that is given."""

    _numpy, _how = distributions.uniform, "uniform"


@op("_DrawNormal", _DRAWING, dtype=FLOATS, T=INDEX)
class DrawNormal(_Drawing):
    """RandomStandardNormal with a generator that is given."""

    _numpy, _how = distributions.normal, "normal"


@op("_DrawTruncated", _DRAWING, dtype=FLOATS, T=INDEX)
class DrawTruncated(_Drawing):
    """TruncatedNormal with a generator that is given."""

    _numpy, _how = distributions.truncated_normal, "truncated"


@op("TruncatedNormal", "shape: T -> output: dtype", seed=0, seed2=0, dtype=FLOATS, T=INDEX)
class TruncatedNormal:
    """Standard normal numbers, drawn again where they fall outside of (-2, 2)."""

    rank_words = _SHAPE_WORDS
    stateful = True
    draws = "_DrawTruncated"
    shape = _as_given
    gradient = None

    def kernel(shape, ctx, seed, seed2, dtype):
        return distributions.truncated_normal(generator(ctx, seed, seed2), checked_shape(shape), dtype.np)


@op("RandomShuffle", "value: T -> output: T", seed=0, seed2=0, T=TYPE)
class RandomShuffle:
    """The slices along the first axis, in random order."""

    stateful = True
    shape = like("value")
    gradient = None

    def kernel(value, ctx, seed, seed2):
        return distributions.shuffle(generator(ctx, seed, seed2), np.asarray(value))


@op("Multinomial", "logits: T, num_samples: int32 -> output: output_dtype", seed=0, seed2=0, T=REAL,
    output_dtype=types(dt.int32, dt.int64, default=dt.int64))
class Multinomial:
    """For each row of unnormalised log-probabilities, ``num_samples`` class indices."""

    rank_words = {"num_samples": (0, "num_samples should be a scalar, got shape {shape}")}
    stateful = True
    gradient = None

    def shape(logits, num_samples):
        return samples_shape(logits, num_samples)

    def kernel(logits, num_samples, ctx, seed, seed2, output_dtype):
        check_logits(logits, num_samples)
        return distributions.multinomial(generator(ctx, seed, seed2), logits, int(num_samples), output_dtype.np)


def samples_shape(logits: Tensor, num_samples: Tensor) -> TensorShape:
    """[batch, num_samples] as far as both are known."""
    rows = logits.shape.with_rank(2)[0]
    num_samples.shape.assert_has_rank(0)
    count = constant_value(num_samples)
    if count is not None and count < 0:
        raise ValueError(f"Dimension size, given by scalar input 1, must be non-negative but is {count}")
    return TensorShape([rows, None if count is None else int(count)])


def check_logits(logits: np.ndarray, num_samples: Any) -> None:
    """InvalidArgumentError unless classes can be drawn from these logits."""
    if np.ndim(logits) != 2:
        raise invalid_argument(f"logits should be a matrix, got shape {brackets(np.shape(logits))}")
    if np.ndim(num_samples):
        raise invalid_argument(f"num_samples should be a scalar, got shape {brackets(np.shape(num_samples))}")
    if num_samples < 0:
        raise invalid_argument(f"num_samples should be nonnegative, got {num_samples}")
    if logits.shape[0] and num_samples and not logits.shape[1]:
        raise invalid_argument(f"num_classes should be positive, got {logits.shape[1]}")


def _counts(shape, rate, ctx, seed, seed2, dtype):
    return distributions.poisson(generator(ctx, seed, seed2), checked_shape(shape), np.asarray(rate), dtype.np)


def _samples_per_rate(shape, rate):
    return known_shape(shape).concatenate(rate.shape)


@op("RandomPoisson", "shape: S, rate: dtype -> output: dtype", seed=0, seed2=0, S=INDEX, dtype=NO_BFLOAT16)
class RandomPoisson:
    """``shape`` counts with the Poisson distribution for each rate; the old form of RandomPoissonV2."""

    stateful = True
    shape = _samples_per_rate
    kernel = _counts
    gradient = None


@op("RandomPoissonV2", "shape: S, rate: R -> output: dtype", seed=0, seed2=0, S=INDEX, R=types(*COUNTS, default=dt.float64),
    dtype=types(*COUNTS, default=dt.int64))
class RandomPoissonV2:
    """``shape`` counts with the Poisson distribution for each rate."""

    stateful = True
    shape = _samples_per_rate
    kernel = _counts
    gradient = None


# --- the functions ---------------------------------------------------------------------------------------------------

def shape_tensor(shape: Any) -> Tensor:
    """A shape argument as an integer tensor; plain numbers, and the empty shape, become int32."""
    plain = isinstance(shape, (tuple, list)) and all(isinstance(item, int) for item in shape)
    return to_tensor(shape, dt.int32 if plain else None, "shape")


def uniform_range(dtype: Any, maxval: Any) -> tuple[DType, Any]:
    """The type and the upper end of uniform numbers; floats end at 1 unless said otherwise."""
    dtype = as_dtype(dtype)
    if dtype not in FLOATS | INDEX:
        raise ValueError(f"Invalid dtype {dtype!r}")
    if maxval is None and dtype.is_integer:
        raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
    return dtype, 1 if maxval is None else maxval


def random_uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dt.float32, seed: int | None = None,
                   name: str | None = None) -> Tensor:
    """``tf.random_uniform``: numbers drawn evenly from [minval, maxval); ``maxval`` is 1 for floats and must be given for integers."""
    dtype, maxval = uniform_range(dtype, maxval)
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        shape, low, high = shape_tensor(shape), to_tensor(minval, dtype, "min"), to_tensor(maxval, dtype, "max")
        seed1, seed2 = get_seed(seed)
        if dtype.is_integer:
            return RandomUniformInt(shape, low, high, seed=seed1, seed2=seed2, name=scope)
        unit = RandomUniform(shape, dtype=dtype, seed=seed1, seed2=seed2)
        return Add(Mul(unit, Sub(high, low, name="sub"), name="mul"), low, name=scope)


def random_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dt.float32, seed: int | None = None,
                  name: str | None = None) -> Tensor:
    """``tf.random_normal``: numbers drawn from a normal distribution."""
    return _scale_and_shift(RandomStandardNormal, "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dt.float32, seed: int | None = None,
                     name: str | None = None) -> Tensor:
    """``tf.truncated_normal``: as ``random_normal``, but never more than two standard deviations off the mean."""
    return _scale_and_shift(TruncatedNormal, "truncated_normal", shape, mean, stddev, dtype, seed, name)


def _scale_and_shift(definition: Any, default_name: str, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: int | None,
                     name: str | None) -> Tensor:
    dtype = as_dtype(dtype)
    with name_scope(name, default_name, [shape, mean, stddev]) as scope:
        shape, mean, stddev = shape_tensor(shape), to_tensor(mean, dtype, "mean"), to_tensor(stddev, dtype, "stddev")
        seed1, seed2 = get_seed(seed)
        standard = definition(shape, dtype=dtype, seed=seed1, seed2=seed2)
        return Add(Mul(standard, stddev, name="mul"), mean, name=scope)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """``tf.random_shuffle``: ``value`` with its slices along the first axis in random order."""
    seed1, seed2 = get_seed(seed)
    return RandomShuffle(value, seed=seed1, seed2=seed2, name=name)


def multinomial(logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None, output_dtype: Any = None) -> Tensor:
    """``tf.multinomial``: ``num_samples`` class indices for each row of unnormalised log-probabilities."""
    return _classes("multinomial", logits, num_samples, output_dtype, seed, name)


def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None) -> Tensor:
    """``tf.random.categorical``: ``multinomial`` under its later name."""
    return _classes("categorical", logits, num_samples, dtype, seed, name)


def _classes(default_name: str, logits: Any, num_samples: Any, dtype: Any, seed: int | None, name: str | None) -> Tensor:
    with name_scope(name, default_name, [logits]):
        logits = to_tensor(logits, None, "logits")
        seed1, seed2 = get_seed(seed)
        return Multinomial(logits, num_samples, seed=seed1, seed2=seed2, output_dtype=dtype)


def random_poisson(lam: Any, shape: Any, dtype: Any = dt.float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """``tf.random_poisson``: ``shape`` counts with the Poisson distribution for each rate in ``lam``."""
    with name_scope(name, "random_poisson", [lam, shape]):
        shape = to_tensor(shape, dt.int32 if not isinstance(shape, Tensor) else None, "shape")
        seed1, seed2 = get_seed(seed)
        return RandomPoissonV2(shape, lam, dtype=dtype, seed=seed1, seed2=seed2)


def random_poisson_v2(shape: Any, lam: Any, dtype: Any = dt.float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """``random_poisson`` with the arguments in the order of TensorFlow 2."""
    return random_poisson(lam, shape, dtype, seed, name)
