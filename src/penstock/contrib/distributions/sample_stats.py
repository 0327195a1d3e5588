"""Statistics of samples: percentiles, and moving means and variances of what comes one after the other."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.shapes import dimension_size, pad, rank_of, rotate_transpose, static_or_tensor
from penstock.ops.signal.transforms import fft, ifft

_INTERPOLATIONS = ("lower", "higher", "nearest")


def percentile(x: Any, q: Any, axis: Any = None, interpolation: str | None = None, keep_dims: bool = False, validate_args: bool = False,
               name: str | None = None) -> tf.Tensor:
    """``tf.contrib.distributions.percentile``: the element of ``x`` below which ``q`` percent of the elements along some axes lie."""
    interpolation = "nearest" if interpolation is None else interpolation
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(f"Argument 'interpolation' must be in {set(_INTERPOLATIONS)}. Found {interpolation}")
    with tf.name_scope(name, "percentile", [x, q]):
        x, q = tf.convert_to_tensor(x, name="x"), tf.cast(tf.convert_to_tensor(q, name="q"), tf.float64)
        if q.shape.ndims not in (None, 0):
            raise ValueError(f"Expected argument 'q' to have ndims = 0. Found tensor {q}")
        if validate_args:
            checks = [tf.assert_rank(q, 0), tf.assert_greater_equal(q, np.float64(0.0)), tf.assert_less_equal(q, np.float64(100.0))]
            with tf.control_dependencies(checks):
                q = tf.identity(q)
        axes = None if axis is None else sorted(_static_axes(axis, x))
        samples = tf.reshape(x, [-1]) if axes is None else _with_samples_last(x, axes)
        from_the_top = 1.0 - q / 100.0  # samples stand in the order from the largest to the smallest
        place = (tf.cast(_count(samples), tf.float64) - 1.0) * from_the_top
        place = {"lower": tf.ceil, "higher": tf.floor, "nearest": tf.round}[interpolation](place)
        count = _count(samples)
        index = tf.clip_by_value(tf.cast(place, tf.int32), 0, count - 1)
        result = tf.top_k(samples, k=_count(samples), sorted=True)[0][..., index]
        if not keep_dims:
            return result
        for each in axes if axes is not None else range(x.shape.ndims or 0):
            result = tf.expand_dims(result, each)
        return result


def _count(samples: tf.Tensor) -> tf.Tensor:
    """How many samples there are along the last axis."""
    return tf.shape(samples)[-1]


def _static_axes(axis: Any, x: tf.Tensor) -> list[int]:
    given = tf.convert_to_tensor(axis, dtype=tf.int32, name="axis")
    tf.assert_integer(given)
    value = tf.constant_value(given)
    if value is None or x.shape.ndims is None:
        raise ValueError("Expected argument 'axis' to be statically available, and the rank of 'x' to be known.")
    axes = [int(each) + x.shape.ndims if each < 0 else int(each) for each in np.atleast_1d(value)]
    if any(not 0 <= each < x.shape.ndims for each in axes):
        raise ValueError(f"axis {axis} is out of range for a tensor of rank {x.shape.ndims}")
    return axes


def _with_samples_last(x: tf.Tensor, axes: list[int]) -> tf.Tensor:
    """``x`` with some of its axes as one, behind the others."""
    others = [axis for axis in range(x.shape.rank) if axis not in axes]
    rotated = tf.transpose(x, [*others, *axes])
    extents = [x.shape.as_list()[axis] for axis in others]
    flat = tf.reshape(rotated, tf.concat([tf.shape(rotated)[:len(others)], [-1]], axis=0) if None in extents else [*extents, -1])
    flat.set_shape([*extents, None])
    return flat


# --- moving statistics -----------------------------------------------------------------------------------------------

def _float_type(variable: Any, name: str) -> Any:
    dtype = variable.dtype.base_dtype
    if not dtype.is_floating:
        raise TypeError(f"{name}.base_dtype({dtype.name}) does not have float type `dtype`.")
    return dtype


def assign_moving_mean_variance(mean_var: Any, variance_var: Any, value: Any, decay: Any, name: str | None = None) -> tuple[Any, Any]:
    """``tf.contrib.distributions.assign_moving_mean_variance``: updates both; the variance is that about the mean before."""
    with tf.name_scope(name, "assign_moving_mean_variance", [variance_var, mean_var, value, decay]):
        with tf.colocate_with(variance_var), tf.colocate_with(mean_var):
            dtype = _float_type(mean_var, "mean_var")
            if dtype != variance_var.dtype.base_dtype:
                raise TypeError(f"mean_var.base_dtype({dtype.name}) != variance_var.base_dtype({variance_var.dtype.base_dtype.name})")
            value, decay = tf.convert_to_tensor(value, dtype=dtype, name="value"), tf.convert_to_tensor(decay, dtype=dtype, name="decay")
            delta = value - mean_var
            with tf.control_dependencies([delta]):
                mean = tf.assign_add(mean_var, (1.0 - decay) * delta)
                variance = tf.assign_sub(variance_var, (1.0 - decay) * (variance_var - decay * tf.square(delta)))
            return mean, variance


def assign_log_moving_mean_exp(log_mean_exp_var: Any, log_value: Any, decay: Any, name: str | None = None) -> Any:
    """``tf.contrib.distributions.assign_log_moving_mean_exp``: updates the logarithm of the moving mean of exp(log_value)."""
    with tf.name_scope(name, "assign_log_moving_mean_exp", [log_mean_exp_var, log_value, decay]), tf.colocate_with(log_mean_exp_var):
        dtype = _float_type(log_mean_exp_var, "log_mean_exp_var")
        log_value, decay = tf.convert_to_tensor(log_value, dtype=dtype, name="log_value"), tf.convert_to_tensor(decay, dtype=dtype, name="decay")
        delta = log_value - log_mean_exp_var  # a sum onto the variable, so that several may be under way
        change = tf.stack([tf.log(decay) * tf.ones_like(delta), delta + tf.log1p(-decay)])
        return log_mean_exp_var.assign_add(tf.reduce_logsumexp(change, axis=0))


def moving_mean_variance(value: Any, decay: Any, collections: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """``tf.contrib.distributions.moving_mean_variance``: `assign_moving_mean_variance` of variables that it makes, which begin with 0."""
    with tf.variable_scope(name, "moving_mean_variance", [value, decay]):
        value = tf.convert_to_tensor(value, name="value")
        dtype = _float_type(value, "value")
        variables = [tf.get_variable(label, shape=value.shape, dtype=dtype, initializer=tf.zeros_initializer(), trainable=False,
                                     collections=collections) for label in ("moving_variance", "moving_mean")]
        return assign_moving_mean_variance(variables[1], variables[0], value, decay)


# --- correlations ----------------------------------------------------------------------------------------------------

def auto_correlation(x: Any, axis: int = -1, max_lags: Any = None, center: bool = True, normalize: bool = True,
                     name: str = "auto_correlation") -> tf.Tensor:
    """``tf.contrib.distributions.auto_correlation``: along an axis, the mean of x[i] * conj(x[i + m]) for lags m from 0 to ``max_lags``."""
    with tf.name_scope(name, values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        if not x.dtype.is_complex and not x.dtype.is_floating:
            raise TypeError(f"Argument x must have either float or complex dtype found: {x.dtype}")
        rank = rank_of(x)
        shift = rank - 1 - (rank + axis if axis < 0 else axis)
        rotated = rotate_transpose(x, shift)
        if center:
            rotated -= tf.reduce_mean(rotated, axis=-1, keepdims=True)
        length = dimension_size(rotated, -1)
        products = _sums_of_products(rotated, length)
        lags = length - 1 if max_lags is None else static_or_tensor(tf.minimum(length - 1, tf.convert_to_tensor(max_lags, name="max_lags")))
        products = products[..., :lags + 1]
        if rotated.shape.ndims is not None:
            products.set_shape([*rotated.shape.as_list()[:-1], lags + 1 if isinstance(lags, (int, np.integer)) else None])
        means = products / tf.cast(length - tf.range(lags + 1), x.dtype)
        if normalize:
            means /= means[..., :1]
        return rotate_transpose(means, -shift)


def _sums_of_products(x: tf.Tensor, length: Any) -> tf.Tensor:
    """The sum of x[i] * conj(x[i + m]) along the last axis, for each m: by Fourier transforms of twice the length, which is a power of two."""
    room = tf.pow(np.float64(2.0), tf.ceil(tf.log(tf.cast(length, tf.float64) * 2) / np.log(2.0)))
    padded = pad(x, axis=-1, back=True, count=tf.cast(room - tf.cast(length, tf.float64), tf.int32))
    if not x.dtype.is_complex:
        padded = tf.complex(padded, x.dtype.real_dtype.as_numpy_dtype(0.0))
    transformed = fft(padded)
    return tf.cast(ifft(transformed * tf.conj(transformed)), x.dtype)
