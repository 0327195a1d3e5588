"""What integrators require of times and values."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf


def assert_increasing(t: tf.Tensor) -> Any:
    """A context in which all ops wait until it is clear that times increase."""
    return tf.control_dependencies([tf.Assert(tf.reduce_all(t[1:] > t[:-1]), ["`t` must be monotonic increasing"])])


def check_types(y0: tf.Tensor, t: tf.Tensor, dt: tf.Tensor | None = None) -> None:
    """TypeError unless all of them are floats; values may be complex."""
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise TypeError("`y0` must have a floating point or complex floating point dtype")
    if not t.dtype.is_floating:
        raise TypeError("`t` must have a floating point dtype")
    if dt is not None and not dt.dtype.is_floating:
        raise TypeError("`dt` must have a floating point dtype")
