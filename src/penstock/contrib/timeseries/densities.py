"""Logarithms of densities, as the losses of these models have them."""
from __future__ import annotations

import math
from typing import Any

from penstock.contrib import prelude as tf


def normal_log_prob(loc: Any, scale: Any, x: Any) -> Any:
    """That of a normal distribution, up to half the logarithm of the scale: TensorFlow's models are trained with this one."""
    return -0.5 * (tf.square((loc - x) / scale) + math.log(2 * math.pi) + tf.log(scale))


def cauchy_log_prob(loc: Any, scale: Any, x: Any) -> Any:
    """That of a Cauchy distribution."""
    return -math.log(math.pi) - tf.log(scale) - tf.log1p(tf.square((x - loc) / scale))


def mvn_tril_log_prob(loc: Any, scale_tril: Any, x: Any) -> Any:
    """That of normal distributions whose covariances have the factors ``scale_tril``."""
    solved = tf.matrix_triangular_solve(scale_tril, (x - loc)[..., None])
    size = tf.cast(tf.shape(scale_tril)[-1], scale_tril.dtype)
    log_determinant = tf.reduce_sum(tf.log(tf.abs(tf.matrix_diag_part(scale_tril))), -1)
    return -0.5 * (tf.reduce_sum(tf.square(solved), [-2, -1]) + size * math.log(2 * math.pi)) - log_determinant


def entropy_matched_cauchy_scale(covariance: Any) -> Any:
    """The scale of the Cauchy distribution that has the entropy of each feature's normal distribution."""
    return tf.sqrt(math.e / (8 * math.pi) * tf.matrix_diag_part(covariance))
