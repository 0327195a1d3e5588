"""``odeint_fixed``: integrators whose steps are given."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.integrate.checks import assert_increasing, check_types

Derivative = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def _midpoint(func: Derivative, t: tf.Tensor, dt: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    size = tf.cast(dt, y.dtype)
    return size * func(y + func(y, t) * size / 2, t + dt / 2)


def _rk4(func: Derivative, t: tf.Tensor, dt: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    size, middle = tf.cast(dt, y.dtype), t + dt / 2
    k1 = func(y, t)
    k2 = func(y + size * k1 / 2, middle)
    k3 = func(y + size * k2 / 2, middle)
    k4 = func(y + size * k3, t + dt)
    return tf.add_n([k1, 2 * k2, 2 * k3, k4]) * (size / 6)


_METHODS = {"midpoint": _midpoint, "rk4": _rk4}


def odeint_fixed(func: Derivative, y0: Any, t: Any, dt: Any = None, method: str = "rk4", name: str | None = None) -> tf.Tensor:
    """``tf.contrib.integrate.odeint_fixed``: the solution of ``dy/dt = func(y, t)`` at the times ``t``, in steps of at most ``dt``."""
    with tf.name_scope(name, "odeint_fixed", [y0, t, dt]):
        t = tf.convert_to_tensor(t, preferred_dtype=tf.float64, name="t")
        y0 = tf.convert_to_tensor(y0, name="y0")
        intervals = t[1:] - t[:-1]
        dt = tf.convert_to_tensor(intervals if dt is None else dt, preferred_dtype=tf.float64, name="dt")
        counts = tf.ceil(intervals / dt)
        dt = intervals / counts
        check_types(y0, t, dt)
        if t.shape.ndims != 1 or dt.shape.ndims != 1:
            raise ValueError("t must be a 1D tensor")
        if method not in _METHODS:
            raise ValueError(f"method not supported: {method}")
        with assert_increasing(t), tf.name_scope(method):
            return _integrate(_METHODS[method], func, y0, t, dt, tf.cast(counts, tf.int32))


def _integrate(method: Callable[..., tf.Tensor], func: Derivative, y0: tf.Tensor, t: tf.Tensor, dt: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    def interval(solution: Any, y: tf.Tensor, now: tf.Tensor, number: tf.Tensor) -> tuple[Any, tf.Tensor, tf.Tensor, tf.Tensor]:
        def step(y: tf.Tensor, now: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            change = tf.cast(method(func, now, dt[number - 1], y), y.dtype)
            return y + change, now + dt[number - 1], count + 1

        y, now, _ = tf.while_loop(lambda y, now, count: count < counts[number - 1], step, (y, now, 0))
        return solution.write(number, y), y, now, number + 1

    times = tf.size(t)
    solution = tf.TensorArray(y0.dtype, times).write(0, y0)
    solution, _, _, _ = tf.while_loop(lambda solution, y, now, number: number < times, interval, (solution, y0, t[0], 1))
    result = solution.stack()
    result.set_shape(t.shape.concatenate(y0.shape))
    return result
