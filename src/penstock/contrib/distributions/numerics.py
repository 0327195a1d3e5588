"""Formulas that stay accurate where the obvious one does not."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf


def log_combinations(n: Any, counts: Any, name: str = "log_combinations") -> tf.Tensor:
    """The logarithm of the multinomial coefficient: in how many orders ``n`` draws give these ``counts``."""
    with tf.name_scope(name, values=[n, counts]):
        n = tf.convert_to_tensor(n, name="n")
        counts = tf.convert_to_tensor(counts, name="counts")
        orders = tf.lgamma(n + 1)
        return orders - tf.reduce_sum(tf.lgamma(counts + 1), axis=[-1])


def softplus_inverse(x: Any, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.distributions.softplus_inverse``: log(exp(x) - 1). Where a float cannot tell it from its limits, log(x) or x, it is those."""
    with tf.name_scope(name, "softplus_inverse", values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        threshold = np.log(np.finfo(x.dtype.as_numpy_dtype).eps) + 2.0
        is_small, is_large = tf.less(x, np.exp(threshold)), tf.greater(x, -threshold)
        small, large = tf.log(x), x
        x = tf.where_v2(tf.logical_or(is_small, is_large), tf.ones_like(x), x)  # keeps infinities out of the gradient
        y = x + tf.log(-tf.expm1(-x))
        return tf.where_v2(is_small, small, tf.where_v2(is_large, large, y))


def reduce_weighted_logsumexp(logx: Any, w: Any = None, axis: Any = None, keep_dims: bool = False, return_sign: bool = False,
                              name: str | None = None) -> Any:
    """``tf.contrib.distributions.reduce_weighted_logsumexp``: log(abs(sum(w exp(logx)))), and the sign of the sum if asked for."""
    with tf.name_scope(name, "reduce_weighted_logsumexp", [logx, w]):
        logx = tf.convert_to_tensor(logx, name="logx")
        if w is None:
            result = tf.reduce_logsumexp(logx, axis=axis, keepdims=keep_dims)
            return (result, tf.ones_like(result)) if return_sign else result
        w = tf.convert_to_tensor(w, dtype=logx.dtype, name="w")
        terms = logx + tf.log(tf.abs(w))
        largest = tf.reduce_max(terms, axis=axis, keepdims=True)
        largest = tf.where_v2(tf.is_inf(largest), tf.zeros_like(largest), largest)
        total = tf.reduce_sum(tf.sign(w) * tf.exp(terms - largest), axis=axis, keepdims=keep_dims)
        if not keep_dims:
            largest = tf.squeeze(largest, axis)
        sign = tf.sign(total)
        result = largest + tf.log(sign * total)
        return (result, sign) if return_sign else result
