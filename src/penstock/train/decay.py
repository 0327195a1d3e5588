"""Learning rates that change with the step: each is a tensor computed from the global step."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.array.select import where
from penstock.ops.constant import identity
from penstock.ops.math.compare import equal, less_equal
from penstock.ops.math.division import div
from penstock.ops.math.elementwise import add, minimum, multiply
from penstock.ops.math.powers import exp, log, pow, sqrt
from penstock.ops.math.rounding import ceil, floor
from penstock.ops.math.trigonometry import cos
from penstock.ops.random.random import random_normal


def _schedule(decay: Callable[..., Tensor]) -> Callable[..., Any]:
    """In imperative style, where a tensor does not follow the global step, a learning rate is a function that optimizers call."""
    @functools.wraps(decay)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return functools.partial(decay, *args, **kwargs) if default_graph().imperative else decay(*args, **kwargs)

    return decorated


def _step(global_step: Any, dtype: Any) -> Tensor:
    if global_step is None:
        raise ValueError("global_step is required for a learning rate that decays.")
    return cast(global_step, dtype)


@_schedule
def exponential_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
                      name: str | None = None) -> Tensor:
    """``learning_rate * decay_rate ** (global_step / decay_steps)``; with ``staircase`` the exponent is rounded down."""
    with name_scope(name, "ExponentialDecay", [learning_rate, global_step, decay_steps, decay_rate]) as scope:
        rate = to_tensor(learning_rate, name="learning_rate")
        past = div(_step(global_step, rate.dtype), cast(decay_steps, rate.dtype))
        return multiply(rate, pow(cast(decay_rate, rate.dtype), floor(past) if staircase else past), name=scope)


@_schedule
def natural_exp_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
                      name: str | None = None) -> Tensor:
    """``learning_rate * exp(-decay_rate * global_step / decay_steps)``."""
    with name_scope(name, "ExponentialDecay", [learning_rate, global_step, decay_rate]) as scope:
        rate = to_tensor(learning_rate, name="learning_rate")
        past = div(_step(global_step, rate.dtype), cast(decay_steps, rate.dtype))
        return multiply(rate, exp(multiply(-cast(decay_rate, rate.dtype), floor(past) if staircase else past)), name=scope)


@_schedule
def inverse_time_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False,
                       name: str | None = None) -> Tensor:
    """``learning_rate / (1 + decay_rate * global_step / decay_steps)``."""
    with name_scope(name, "InverseTimeDecay", [learning_rate, global_step, decay_rate]) as scope:
        rate = to_tensor(learning_rate, name="learning_rate")
        past = div(_step(global_step, rate.dtype), cast(decay_steps, rate.dtype))
        return div(rate, add(cast(1, rate.dtype), multiply(cast(decay_rate, rate.dtype), floor(past) if staircase else past)), name=scope)


@_schedule
def polynomial_decay(learning_rate: Any, global_step: Any, decay_steps: Any, end_learning_rate: Any = 0.0001, power: Any = 1.0, cycle: bool = False,
                     name: str | None = None) -> Tensor:
    """From ``learning_rate`` to ``end_learning_rate`` in ``decay_steps`` along a polynomial; with ``cycle`` it starts again, ever longer."""
    with name_scope(name, "PolynomialDecay", [learning_rate, global_step, decay_steps, end_learning_rate, power]) as scope:
        rate = to_tensor(learning_rate, name="learning_rate")
        end, steps, now = cast(end_learning_rate, rate.dtype), cast(decay_steps, rate.dtype), _step(global_step, rate.dtype)
        default_graph().imply(3 if cycle else 1)
        if cycle:
            periods = where(equal(now, cast(0, rate.dtype)), ones_like(now), ceil(now / steps))
            steps = multiply(steps, periods)
        else:
            now = minimum(now, steps)
        return add(multiply(rate - end, pow(1 - now / steps, cast(power, rate.dtype))), end, name=scope)


@_schedule
def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Tensor:
    """``values[0]`` up to ``boundaries[0]``, ``values[1]`` from there up to ``boundaries[1]``, and so on."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with name_scope(name, "PiecewiseConstant", [x, boundaries, values]) as scope:
        x = to_tensor(x)
        limits = [to_tensor(limit) for limit in boundaries]
        levels = [to_tensor(level) for level in values]
        for limit in limits:
            if limit.dtype.base_dtype is not x.dtype.base_dtype and not (
                    limit.dtype.base_dtype.is_integer and x.dtype.base_dtype.is_integer):
                raise ValueError(f"Boundaries ({limit.dtype}) must have the same dtype as x ({x.dtype}).")
        if len({level.dtype.base_dtype for level in levels}) > 1:
            raise ValueError(f"Values must have elements all with the same dtype ({[level.dtype.name for level in levels]}).")
        # TensorFlow's is a case of conditionals inside of each other, each with Switches for the values of those inside.
        count = len(limits)
        default_graph().imply(count * count + 9 * count + 24)
        result = levels[-1]
        for limit, level in zip(reversed(limits), reversed(levels[:-1])):
            result = where(less_equal(x, cast(limit, x.dtype.base_dtype)), level, result)
        return identity(result, name=scope)


@_schedule
def cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None) -> Tensor:
    """Half a cosine from ``learning_rate`` down to ``alpha`` times it."""
    with name_scope(name, "CosineDecay", [learning_rate, global_step]):
        rate = to_tensor(learning_rate, name="learning_rate")
        done = minimum(_step(global_step, rate.dtype), cast(decay_steps, rate.dtype)) / cast(decay_steps, rate.dtype)
        default_graph().imply(-2)
        return multiply(rate, (1 - alpha) * _half_cosine(done) + alpha)


def _half_cosine(done: Tensor) -> Tensor:
    return 0.5 * (1.0 + cos(math.pi * done))


@_schedule
def cosine_decay_restarts(learning_rate: Any, global_step: Any, first_decay_steps: Any, t_mul: Any = 2.0, m_mul: Any = 1.0, alpha: Any = 0.0,
                          name: str | None = None) -> Tensor:
    """Cosine decay that starts again: each period ``t_mul`` times as long, from a rate ``m_mul`` times as high."""
    with name_scope(name, "SGDRDecay", [learning_rate, global_step]):
        rate = to_tensor(learning_rate, name="initial_learning_rate")
        dtype = rate.dtype
        first, longer, lower = cast(first_decay_steps, dtype), cast(t_mul, dtype), cast(m_mul, dtype)
        done = _step(global_step, dtype) / first
        equal_periods = equal(longer, cast(1.0, dtype))
        default_graph().imply(5)
        safe = where(equal_periods, cast(2.0, dtype), longer)  # the branch that is not taken must not divide by zero
        growing = floor(log(1.0 - done * (1.0 - safe)) / log(safe))
        past = (1.0 - pow(safe, growing)) / (1.0 - safe)
        period = where(equal_periods, floor(done), growing)
        done = where(equal_periods, done - floor(done), (done - past) / pow(safe, growing))
        return multiply(rate, (1 - alpha) * pow(lower, period) * _half_cosine(done) + alpha)


@_schedule
def linear_cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, num_periods: float = 0.5, alpha: float = 0.0, beta: float = 0.001,
                        name: str | None = None) -> Tensor:
    """A line down to zero, times a cosine of ``num_periods``."""
    with name_scope(name, "LinearCosineDecay", [learning_rate, global_step]):
        return _linear_cosine(learning_rate, global_step, decay_steps, num_periods, alpha, beta, None)


@_schedule
def noisy_linear_cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, initial_variance: float = 1.0, variance_decay: float = 0.55,
                              num_periods: float = 0.5, alpha: float = 0.0, beta: float = 0.001, name: str | None = None) -> Tensor:
    """``linear_cosine_decay`` with noise that gets smaller with the steps."""
    with name_scope(name, "NoisyLinearCosineDecay", [learning_rate, global_step]):
        return _linear_cosine(learning_rate, global_step, decay_steps, num_periods, alpha, beta, (initial_variance, variance_decay))


def _linear_cosine(learning_rate: Any, global_step: Any, decay_steps: Any, num_periods: float, alpha: float, beta: float,
                   noise: tuple[float, float] | None) -> Tensor:
    rate = to_tensor(learning_rate, name="learning_rate")
    steps = cast(decay_steps, rate.dtype)
    now = minimum(_step(global_step, rate.dtype), steps)
    linear = (steps - now) / steps
    default_graph().imply(4 if noise is None else 2)
    if noise is not None:
        deviation = sqrt(noise[0] / pow(1.0 + now, cast(noise[1], rate.dtype)))
        linear = add(linear, multiply(deviation, random_normal(linear.shape, dtype=rate.dtype)))
    cosine = 0.5 * (1.0 + cos(math.pi * 2.0 * num_periods * now / steps))
    return multiply(rate, (alpha + linear) * cosine + beta)
