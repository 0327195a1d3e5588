"""Dropout: a random mask and a scale, composed in TensorFlow's order, so that equal seeds give equal numbers."""
from __future__ import annotations

import numbers

from penstock.graph.convert import convert_to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import shape
from penstock.ops.random.random import random_uniform


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """``tf.nn.dropout``: sets elements to 0 with probability ``rate`` and scales the others by 1 / (1 - rate).

    ``keep_prob`` is 1 - rate. ``noise_shape`` broadcasts against x: elements that share an entry of it are dropped
    together.
    """
    if keep_prob is None and rate is None:
        raise ValueError("You must provide a rate to dropout.")
    if keep_prob is not None:
        if rate is not None:
            raise ValueError("Cannot specify both 'keep_prob' and 'rate'")
        if isinstance(keep_prob, (list, tuple, str)):
            raise ValueError(f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})")
        rate = 1 - keep_prob if not isinstance(keep_prob, numbers.Real) else 1.0 - keep_prob
    return dropout_v2(x, rate, noise_shape=noise_shape, seed=seed, name=name)


def dropout_v2(x, rate, noise_shape=None, seed=None, name=None):
    """Dropout with ``rate``, the probability that an element is set to 0."""
    if isinstance(rate, numbers.Real):
        if not 0 <= rate < 1:
            raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}")
    with name_scope(name, "dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError("x has to be a floating point tensor since it's going to be scaled. "
                             f"Got a {x.dtype} tensor instead.")
        if isinstance(rate, numbers.Real) and rate == 0:  # without any operation, as seeds of those that follow depend on their number
            return x
        rate = _rate_tensor(rate, x)
        if constant_value(rate) == 0:
            return x
        uniform = random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype.base_dtype)
        scale = 1 / (1 - rate)
        kept = uniform >= rate
        result = x * scale * cast(kept, x.dtype.base_dtype)
        result.set_shape(x.shape)
        return result


def _rate_tensor(rate, x):
    rate = convert_to_tensor(rate, dtype=x.dtype.base_dtype, name="rate")
    if rate.shape.ndims not in (None, 0):
        raise ValueError(f"rate must be a scalar, not {rate}")
    return rate


def _noise_shape(x, noise_shape):
    """The shape of the random numbers: None in it means the extent of x."""
    if noise_shape is None:
        return shape(x)
    if isinstance(noise_shape, Tensor):
        return noise_shape
    wanted = TensorShape(noise_shape).extents
    if x.shape.extents is not None and len(wanted) == len(x.shape.extents):
        wanted = tuple(known if extent is None else extent for extent, known in zip(wanted, x.shape.extents))
    return list(noise_shape) if None in wanted else wanted
