"""``odeint``: Dormand and Prince's method of order 5, whose steps fit the tolerance, and the solution at given times by interpolation."""
from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.integrate.checks import assert_increasing, check_types

# The Butcher tableau of the method: times, weights of the stages, of the solution, of its middle, and of the error.
_ALPHA = [1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0]
_BETA: list[list[float]] = [
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
_MIDDLE = [6025192743 / 30085553152 / 2, 0, 51252292925 / 65400821598 / 2, -2691868925 / 45128329728 / 2, 187940372067 / 1594534317056 / 2,
           -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2]
_ERROR = [1951 / 21600 - 35 / 384, 0, 22642 / 50085 - 500 / 1113, 451 / 720 - 125 / 192, -12231 / 42400 - -2187 / 6784, 649 / 6300 - 11 / 84,
          1 / 60]

Derivative = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


class _State(NamedTuple):
    """After a step from t0 to t1: value, derivative, the size of the next step, and the polynomial of this one."""

    y1: Any
    f1: Any
    t0: Any
    t1: Any
    dt: Any
    coefficients: Any


class _History(NamedTuple):
    points: Any
    ratios: Any


def _weight(scale: tf.Tensor, weights: Sequence[float], values: Sequence[tf.Tensor]) -> tf.Tensor:
    return tf.add_n([scale * weight * value for weight, value in zip(weights, values) if weight != 0])


def _step(func: Derivative, y0: tf.Tensor, f0: tf.Tensor, t0: tf.Tensor, dt: tf.Tensor) -> tuple[Any, Any, Any, list[Any]]:
    """(value, derivative, error, all stages) after one step."""
    size, stages, y1 = tf.cast(dt, y0.dtype), [f0], y0
    for alpha, weights in zip(_ALPHA, _BETA):
        y1 = y0 + _weight(size, weights, stages)
        stages.append(func(y1, t0 + alpha * dt))
    return y1, stages[-1], _weight(size, _ERROR, stages), stages


def _polynomial(y0: tf.Tensor, y1: tf.Tensor, stages: list[Any], dt: tf.Tensor) -> list[tf.Tensor]:
    """The polynomial of a step."""
    dt = tf.cast(dt, y0.dtype)
    return interp_fit(y0, y1, y0 + _weight(dt, _MIDDLE, stages), stages[0], stages[-1], dt)


def interp_fit(y0: Any, y1: Any, middle: Any, f0: Any, f1: Any, dt: Any) -> list[Any]:
    """The coefficients of order 4 to 0 of the polynomial through both ends, with their derivatives, and the middle."""
    def combined(*weights: Any) -> tf.Tensor:
        return tf.add_n([weight * value for weight, value in zip(weights, (f0, f1, y0, y1, middle))])

    return [combined(-2 * dt, 2 * dt, -8, -8, 16), combined(5 * dt, -3 * dt, 18, 14, -32), combined(-4 * dt, dt, -11, -5, 16), dt * f0, y0]


def interp_evaluate(coefficients: list[Any], t0: Any, t1: Any, t: Any) -> tf.Tensor:
    """The polynomial of a step from t0 to t1 at t."""
    t0, t1, t = tf.convert_to_tensor(t0), tf.convert_to_tensor(t1), tf.convert_to_tensor(t)
    is_inside = tf.Assert(tf.logical_and(t0 <= t, t <= t1), ["invalid interpolation, fails `t0 <= t <= t1`:", t0, t, t1])
    with tf.control_dependencies([is_inside]):
        x = tf.cast((t - t0) / (t1 - t0), tf.convert_to_tensor(coefficients[0]).dtype)
    powers = [tf.constant(1, x.dtype), x]
    for _ in builtins.range(2, len(coefficients)):
        powers.append(powers[-1] * x)
    return tf.add_n([coefficient * power for coefficient, power in zip(coefficients, reversed(powers))])


def optimal_step_size(last_step: tf.Tensor, error_ratio: tf.Tensor, safety: Any = 0.9, ifactor: Any = 10.0, dfactor: Any = 0.2,
                      order: int = 5) -> tf.Tensor:
    """The size of the next step: larger by ``ifactor`` at most, or smaller by ``dfactor``."""
    exponent = tf.cast(1 / order, last_step.dtype)
    factor = tf.maximum(1 / ifactor, tf.minimum(tf.cast(error_ratio, last_step.dtype) ** exponent / safety, 1 / dfactor))
    return tf.div(last_step, factor)


def _abs_square(x: tf.Tensor) -> tf.Tensor:
    return tf.square(tf.real(x)) + tf.square(tf.imag(x)) if x.dtype.is_complex else tf.square(x)


def _append(array: Any, value: tf.Tensor) -> Any:
    return array.write(array.size(), value)


def odeint(func: Derivative, y0: Any, t: Any, rtol: Any = 1e-6, atol: Any = 1e-12, method: str | None = None, options: dict[str, Any] | None = None,
           full_output: bool = False, name: str | None = None) -> Any:
    """``tf.contrib.integrate.odeint``: the solution of ``dy/dt = func(y, t)`` with ``y(t[0]) = y0`` at the times ``t``.

    Steps shrink until the error is below ``atol + rtol * |y|``. With ``full_output`` also a dict that tells about them.
    """
    if method is not None and method != "dopri5":
        raise ValueError(f"invalid method: {method!r}")
    if options is not None and method is None:
        raise ValueError("cannot supply `options` without specifying `method`")
    with tf.name_scope(name, "odeint", [y0, t, rtol, atol]) as scope:
        y0 = tf.convert_to_tensor(y0, name="y0")
        t = tf.convert_to_tensor(t, preferred_dtype=tf.float64, name="t")
        check_types(y0, t)
        real_dtype = abs(y0).dtype
        rtol, atol = tf.convert_to_tensor(rtol, dtype=real_dtype, name="rtol"), tf.convert_to_tensor(atol, dtype=real_dtype, name="atol")
        return _integrate(func, y0, t, rtol, atol, full_output, scope, **(options or {}))


def _integrate(func: Derivative, y0: tf.Tensor, t: tf.Tensor, rtol: tf.Tensor, atol: tf.Tensor, full_output: bool, scope: str,
               first_step: Any = None, safety: Any = 0.9, ifactor: Any = 10.0, dfactor: Any = 0.2, max_num_steps: Any = 1000) -> Any:
    first = tf.convert_to_tensor(1.0 if first_step is None else first_step, dtype=t.dtype)
    factors = [tf.convert_to_tensor(each, dtype=t.dtype) for each in (safety, ifactor, dfactor)]
    most = tf.convert_to_tensor(max_num_steps, dtype=tf.int32)

    def adaptive_step(state: _State, history: _History, count: tf.Tensor) -> tuple[_State, _History, tf.Tensor]:
        y0, f0, _, t0, dt, coefficients = state
        checks = [tf.Assert(t0 + dt > t0, ["underflow in dt", dt]), tf.Assert(count < most, ["max_num_steps exceeded"]),
                  tf.Assert(tf.reduce_all(tf.is_finite(abs(y0))), ["non-finite values in state `y`", y0])]
        with tf.control_dependencies(checks):
            y1, f1, error, stages = _step(func, tf.identity(y0), f0, t0, dt)
        tolerance = atol + rtol * tf.maximum(abs(y0), abs(y1))
        ratio = tf.sqrt(tf.reduce_mean(_abs_square(error) / _abs_square(tolerance)))
        taken = tf.cond(ratio <= 1, lambda: [y1, f1, t0 + dt, *_polynomial(y0, y1, stages, dt)], lambda: [y0, f0, t0, *coefficients])
        state = _State(taken[0], taken[1], t0, taken[2], optimal_step_size(dt, ratio, *factors), list(taken[3:]))
        return state, _History(_append(history.points, t0 + dt), _append(history.ratios, ratio)), count + 1

    def solve_at(solution: Any, history: _History, state: _State, index: tf.Tensor) -> tuple[Any, _History, _State, tf.Tensor]:
        state, history, _ = tf.while_loop(lambda state, *_: t[index] > state.t1, adaptive_step, (state, history, 0))
        return solution.write(index, interp_evaluate(state.coefficients, state.t0, state.t1, t[index])), history, state, index + 1

    with assert_increasing(t):
        times = tf.size(t)
    solution = tf.TensorArray(y0.dtype, size=times).write(0, y0)
    history = _History(tf.TensorArray(t.dtype, size=0, dynamic_size=True), tf.TensorArray(rtol.dtype, size=0, dynamic_size=True))
    state = _State(y0, func(y0, t[0]), t[0], t[0], first, [y0] * 5)
    solution, history, _, _ = tf.while_loop(lambda solution, history, state, index: index < times, solve_at, (solution, history, state, 1))
    y = solution.stack(name=scope)
    y.set_shape(t.shape.concatenate(y0.shape))
    if not full_output:
        return y
    points = history.points.stack()
    return y, {"num_func_evals": 6 * tf.size(points) + 1, "integrate_points": points, "error_ratio": history.ratios.stack()}
