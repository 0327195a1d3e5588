"""``tf.test.compute_gradient``: the Jacobian as `tf.gradients` builds it, beside the one from central differences."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.gradients import gradients
from penstock.graph.composite import IndexedSlices
from penstock.graph.node import Tensor
from penstock.graph.stacks import default_session
from penstock.ops.constant import constant

Jacobian = tuple[np.ndarray, np.ndarray]


def compute_gradient(x: Any, x_shape: Any, y: Tensor, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3, init_targets: Any = None,
                     extra_feed_dict: dict[Any, Any] | None = None) -> Any:
    """(theoretical, numerical) Jacobian of ``y`` with respect to ``x``, one row per element of x; a list of pairs for a list of x.

    Needs a default session. ``init_targets`` are operations to run first; without ``x_init_value`` a random x is taken.
    """
    session = default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: call it inside `with tf.Session():`")
    if init_targets is not None:
        session.run(list(init_targets) if isinstance(init_targets, (list, tuple)) else [init_targets])
    if not isinstance(x, list):
        return _jacobians(session, x, list(x_shape), y, list(y_shape), x_init_value, delta, extra_feed_dict or {})
    starts = x_init_value or [None] * len(x)
    return [_jacobians(session, each, list(shape), y, list(y_shape), start, delta, extra_feed_dict or {})
            for each, shape, start in zip(x, x_shape, starts)]


def compute_gradient_error(x: Any, x_shape: Any, y: Tensor, y_shape: Any, x_init_value: Any = None, delta: float = 1e-3, init_targets: Any = None,
                           extra_feed_dict: dict[Any, Any] | None = None) -> float:
    """The largest difference between the two Jacobians of `compute_gradient`."""
    pairs = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    error = 0.0
    for theoretical, numeric in pairs if isinstance(pairs, list) else [pairs]:
        if theoretical.size:
            error = max(error, float(np.abs(theoretical - numeric).max()))
    return error


def _jacobians(session: Any, x: Any, x_shape: list[int], y: Tensor, y_shape: list[int], start: Any, delta: float, feeds: dict[Any, Any]) -> Jacobian:
    x = getattr(x, "_ref", lambda: x)() if not isinstance(x, Tensor) else x
    numpy_type = x.dtype.base_dtype.as_numpy_dtype
    point = np.random.random_sample(x_shape) if start is None else np.asarray(start)
    if start is None and x.dtype.is_complex:
        point = point + 1j * np.random.random_sample(x_shape)
    point = point.astype(numpy_type).reshape(x_shape)
    seed = constant(np.zeros(y_shape, y.dtype.base_dtype.as_numpy_dtype), name="hook")
    gradient = gradients(y, x, seed)[0]
    if gradient is None:
        raise ValueError(f"{y.name} does not depend on {x.name} in a differentiable way")
    theoretical = _theoretical(session, x, point, seed, gradient, feeds)
    return theoretical, _numeric(session, x, point, y, delta, feeds, theoretical.dtype)


def _reals(array: np.ndarray) -> np.ndarray:
    """The elements in one row, a complex number as its two parts."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _theoretical(session: Any, x: Tensor, point: np.ndarray, seed: Tensor, gradient: Any, feeds: dict[Any, Any]) -> np.ndarray:
    """One column per element of y: the gradient where that element alone counts."""
    shape, numpy_type = seed.shape.as_list(), seed.dtype.base_dtype.as_numpy_dtype
    columns = []
    for position in range(_reals(np.zeros(shape, numpy_type)).size):
        unit = np.zeros(shape, numpy_type)
        flat = unit.reshape(-1)
        (flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat)[position] = 1
        value = session.run(gradient, {**feeds, x: point, seed: unit})
        if isinstance(gradient, IndexedSlices):
            dense = np.zeros(point.shape, value.values.dtype)
            np.add.at(dense, value.indices, value.values)
            value = dense
        columns.append(_reals(np.asarray(value)))
    rows = _reals(point).size
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), _reals(point).dtype)


def _numeric(session: Any, x: Tensor, point: np.ndarray, y: Tensor, delta: float, feeds: dict[Any, Any], dtype: np.dtype) -> np.ndarray:
    """One row per element of x: the central difference of y."""
    scale = np.asarray(2 * delta).astype(dtype)
    rows = []
    for position in range(_reals(point).size):
        values = []
        for step in (delta, -delta):
            moved = point.copy()
            flat = moved.reshape(-1)
            (flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat)[position] += step
            values.append(_reals(np.asarray(session.run(y, {**feeds, x: moved}))))
        rows.append((values[0] - values[1]) / scale)
    return np.stack(rows) if rows else np.zeros((0, _reals(np.zeros(y.shape.as_list())).size), dtype)
