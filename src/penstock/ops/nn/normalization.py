"""Moments and batch normalization, composed of other ops, and the public face of the fused one."""
from __future__ import annotations

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.convert import convert_to_tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.gather import gather
from penstock.ops.array.passing import stop_gradient
from penstock.ops.array.shape_ops import one_name, shape, squeeze
from penstock.ops.constant import constant
from penstock.ops.math.elementwise import add, multiply, square, squared_difference, subtract
from penstock.ops.math.powers import reciprocal, rsqrt
from penstock.ops.math.reduce import reduce_mean, reduce_prod, reduce_sum
from penstock.ops.nn.fused_batch_norm import FusedBatchNormV3

_SMALLEST_EPSILON = 1.001e-5  # what TensorFlow's GPU kernels can do; smaller ones are raised to it everywhere


def _keep(keepdims, keep_dims):
    return bool(one_name("keepdims", keepdims, "keep_dims", keep_dims))


def _half(x):
    """float16 if x is that: its moments are computed in float32. (TensorFlow leaves bfloat16 alone.)"""
    return x.dtype.base_dtype is dt.float16


def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    """``tf.nn.moments``: (mean, variance) over ``axes``; ``shift`` is not used."""
    keep = _keep(keepdims, keep_dims)
    with name_scope(name, "moments", [x, axes]):
        given = x if hasattr(x, "dtype") else convert_to_tensor(x, name="x")  # a variable is read by each op that takes it
        is_half = dt.as_dtype(given.dtype).base_dtype is dt.float16
        x = cast(given, dt.float32) if is_half else given
        mean = reduce_mean(x, axes, keepdims=True, name="mean")
        # The gradient through the mean is zero in exact arithmetic: it is not worth computing.
        variance = reduce_mean(squared_difference(x, stop_gradient(mean)), axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return (cast(mean, dt.float16), cast(variance, dt.float16)) if is_half else (mean, variance)


def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    """``tf.nn.weighted_moments``: (mean, variance) over ``axes``, each element counted as often as its weight says."""
    keep = _keep(keepdims, keep_dims)
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        half = _half(x)
        if half:
            x = cast(x, dt.float32)
        weights = cast(weights, x.dtype)
        weighted_sum = reduce_sum(weights * x, axes, name="weighted_input_sum", keepdims=True)
        broadcast_weights = weights + zeros_like(x)
        divisor = reciprocal(reduce_sum(broadcast_weights, axes, name="sum_of_weights", keepdims=True),
                             name="inv_weight_sum")
        mean = multiply(weighted_sum, divisor)
        distance = reduce_sum(weights * squared_difference(x, mean), axes, name="weighted_distsq", keepdims=True)
        variance = multiply(distance, divisor)
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return (cast(mean, dt.float16), cast(variance, dt.float16)) if half else (mean, variance)


def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """``tf.nn.sufficient_statistics``: (count, sum, sum of squares, shift) over ``axes``."""
    keep = _keep(keepdims, keep_dims)
    axes = list(dict.fromkeys(axes))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        extents = x.shape.extents
        if extents is not None and all(extents[axis] is not None for axis in axes):
            count = constant(float(np.prod([extents[axis] for axis in axes])), dtype=x.dtype.base_dtype)
        else:
            count = reduce_prod(gather(cast(shape(x), x.dtype), axes), name="count")
        if shift is None:
            mean_part, variance_part = x, square(x)
        else:
            shift = convert_to_tensor(shift, name="shift")
            mean_part, variance_part = subtract(x, shift), squared_difference(x, shift)
        mean_part = reduce_sum(mean_part, axes, keepdims=keep, name="mean_ss")
        return count, mean_part, reduce_sum(variance_part, axes, keepdims=keep, name="var_ss"), shift


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """``tf.nn.normalize_moments``: (mean, variance) from sufficient statistics."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = reciprocal(counts, name="divisor")
        if shift is None:
            shifted = mean = multiply(mean_ss, divisor, name="mean")
        else:
            shifted = multiply(mean_ss, divisor, name="shifted_mean")
            mean = add(shifted, shift, name="mean")
        return mean, subtract(multiply(variance_ss, divisor), square(shifted), name="variance")


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """``tf.nn.batch_normalization``: scale * (x - mean) / sqrt(variance + epsilon) + offset; both may be None."""
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        factor = rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor *= scale
        scaled = x * cast(factor, x.dtype)  # the order of operations is TensorFlow's, down to the names
        return scaled + cast(offset - mean * factor if offset is not None else -mean * factor, x.dtype)


def batch_norm_with_global_normalization(t=None, m=None, v=None, beta=None, gamma=None, variance_epsilon=None,
                                         scale_after_normalization=None, name=None, input=None, mean=None,
                                         variance=None):
    """``tf.nn.batch_norm_with_global_normalization``: the old spelling of ``batch_normalization``."""
    t, m, v = one_name("input", input, "t", t), one_name("mean", mean, "m", m), one_name("variance", variance, "v", v)
    return batch_normalization(t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name)


def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True,
                     name=None):
    """``tf.nn.fused_batch_norm``: (y, mean of the batch, variance of the batch), in one op."""
    x, scale = convert_to_tensor(x, name="input"), convert_to_tensor(scale, name="scale")
    offset = convert_to_tensor(offset, name="offset")
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    if mean is None:
        mean = constant([], dtype=dt.float32)
    if variance is None:
        variance = constant([], dtype=dt.float32)
    epsilon = max(epsilon, _SMALLEST_EPSILON)
    outputs = FusedBatchNormV3(x, scale, offset, mean, variance, epsilon=epsilon, data_format=data_format,
                               is_training=is_training, name=name)
    return tuple(outputs[:3])
