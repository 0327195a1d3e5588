"""Checks of bijectors, for tests: that forward and inverse undo each other, and that log-determinants are those of the function."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.uniform import Uniform
from penstock.graph.stacks import default_session as get_default_session


def assert_finite(array: Any) -> None:
    """All elements are finite."""
    if not np.isfinite(array).all():
        raise AssertionError(f"array was not all finite. {array[:15]}")


def assert_strictly_increasing(array: Any) -> None:
    """Each element is larger than the one before."""
    np.testing.assert_array_less(0.0, np.diff(array))


def assert_strictly_decreasing(array: Any) -> None:
    """Each element is smaller than the one before."""
    np.testing.assert_array_less(np.diff(array), 0.0)


def assert_strictly_monotonic(array: Any) -> None:
    """One of both."""
    (assert_strictly_increasing if array[0] < array[-1] else assert_strictly_decreasing)(array)


def assert_scalar_congruency(bijector: Any, lower_x: float, upper_x: float, n: int = 10000, rtol: float = 0.01, sess: Any = None) -> None:
    """On an interval, a bijector of numbers is monotonic, its inverse undoes it, and the integral of its Jacobian is the change of the length."""
    sess = sess or get_default_session()
    points = np.linspace(lower_x, upper_x, num=10).astype(np.float32 if bijector.dtype is None else bijector.dtype.as_numpy_dtype)
    lower_y, upper_y = sorted(sess.run([bijector.forward(lower_x), bijector.forward(upper_x)]))
    x, y = Uniform(lower_x, upper_x).sample(n, seed=0), Uniform(lower_y, upper_y).sample(n, seed=1)
    dx_dy = tf.exp(bijector.inverse_log_det_jacobian(y, event_ndims=0))
    dy_dx = tf.exp(bijector.forward_log_det_jacobian(bijector.inverse(y), event_ndims=0))
    values = sess.run({"forward": bijector.forward(points), "x": x, "x_again": bijector.inverse(bijector.forward(x)), "y": y,
                       "y_again": bijector.forward(bijector.inverse(y)), "dx_dy": dx_dy, "dy_dx": dy_dx,
                       "length": (upper_y - lower_y) * tf.reduce_mean(dx_dy)})
    assert_strictly_monotonic(values["forward"])
    for name in ("x", "y"):
        np.testing.assert_allclose(values[f"{name}_again"], values[name], atol=1e-5, rtol=1e-3)
    np.testing.assert_allclose(upper_x - lower_x, values["length"], atol=0, rtol=rtol)
    np.testing.assert_allclose(values["dx_dy"], 1 / values["dy_dx"], atol=1e-5, rtol=1e-3)


def assert_bijective_and_finite(bijector: Any, x: Any, y: Any, event_ndims: int | None = None, atol: float = 0, rtol: float = 1e-5,
                                sess: Any = None) -> None:
    """At these points all results are finite, and the inverse undoes the function."""
    f_x, g_y = bijector.forward(x), bijector.inverse(y)
    results = (sess or get_default_session()).run([
        bijector.inverse(f_x), bijector.forward(g_y), bijector.inverse_log_det_jacobian(f_x, event_ndims=event_ndims),
        bijector.forward_log_det_jacobian(x, event_ndims=event_ndims), bijector.inverse_log_det_jacobian(y, event_ndims=event_ndims),
        bijector.forward_log_det_jacobian(g_y, event_ndims=event_ndims), f_x, g_y])
    for array in (x, y, *results):
        assert_finite(array)
    x_again, y_again, ildj_x, fldj_x, ildj_y, fldj_y = results[:6]
    for mine, other in ((x_again, x), (y_again, y), (-ildj_x, fldj_x), (-ildj_y, fldj_y)):
        np.testing.assert_allclose(mine, other, atol=atol, rtol=rtol)
