"""Activations, dropout and normalisation: functions of ``tf.keras.backend``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.layers import activations
from penstock.ops.array.fill import ones, zeros
from penstock.ops.array.pack import stack
from penstock.ops.array.shape_ops import reshape
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.ops.math import trigonometry
from penstock.ops.nn import activations as nn
from penstock.ops.nn import dropout as dropouts
from penstock.ops.nn import nn_ops, normalization
from penstock.ops.nn import softmax as softmaxes


def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Any:
    """``tf.keras.backend.relu``."""
    return activations.relu(x, alpha, max_value, threshold)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """``tf.keras.backend.elu``."""
    return activations.elu(x, alpha)


def softmax(x: Any, axis: int = -1) -> Any:
    """``tf.keras.backend.softmax``."""
    return softmaxes.softmax(x, axis=axis)


def softplus(x: Any) -> Any:
    """``tf.keras.backend.softplus``."""
    return nn.softplus(x)


def softsign(x: Any) -> Any:
    """``tf.keras.backend.softsign``."""
    return nn.softsign(x)


def sigmoid(x: Any) -> Any:
    """``tf.keras.backend.sigmoid``."""
    return trigonometry.sigmoid(x)


def hard_sigmoid(x: Any) -> Any:
    """``tf.keras.backend.hard_sigmoid``."""
    return activations.hard_sigmoid(x)


def tanh(x: Any) -> Any:
    """``tf.keras.backend.tanh``."""
    return trigonometry.tanh(x)


def dropout(x: Any, level: Any, noise_shape: Any = None, seed: int | None = None) -> Any:
    """``tf.keras.backend.dropout``."""
    return dropouts.dropout(x, noise_shape=noise_shape, seed=int(np.random.randint(10_000_000)) if seed is None else seed, rate=level)


def in_top_k(predictions: Any, targets: Any, k: int) -> Any:
    """``tf.keras.backend.in_top_k``."""
    return nn_ops.in_top_k(predictions, targets, k)


def batch_normalization(x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3) -> Any:
    """``tf.keras.backend.batch_normalization``."""
    return normalization.batch_normalization(x, mean, var, beta, gamma, epsilon)


def normalize_batch_in_training(x: Any, gamma: Any, beta: Any, reduction_axes: Any, epsilon: float = 1e-3) -> tuple[Any, Any, Any]:
    """``tf.keras.backend.normalize_batch_in_training``: (the normalised batch, its mean, its variance)."""
    rank = x.shape.ndims
    if rank == 4 and sorted(reduction_axes) in ([0, 1, 2], [0, 2, 3]):
        first = sorted(reduction_axes) == [0, 2, 3]
        channels = [x.shape.as_list()[1 if first else 3]]
        scale, offset = ones(channels) if gamma is None else reshape(gamma, [-1]), zeros(channels) if beta is None else reshape(beta, [-1])
        return normalization.fused_batch_norm(x, scale, offset, epsilon=epsilon, data_format="NCHW" if first else "NHWC")
    mean, variance = normalization.moments(x, reduction_axes, keep_dims=False)
    if sorted(reduction_axes) == list(range(rank - 1)):
        return normalization.batch_normalization(x, mean, variance, beta, gamma, epsilon), mean, variance
    target = stack([1 if axis in reduction_axes else shape_of(x)[axis] for axis in range(rank)])
    wide = [None if value is None else reshape(value, target) for value in (mean, variance, beta, gamma)]
    return normalization.batch_normalization(x, *wide, epsilon), mean, variance
