"""Batch normalisation with given moments, as one operation: in graphs of the first TensorFlow versions, such as the published Inception."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import raw_ops
from penstock.graph.attrs import BOOL, FLOAT
from penstock.graph.opdef import op
from penstock.ops.common import FLOATS, NUMERIC, like
from penstock.ops.precision import in_float32

_VECTORS = ("m", "v", "beta", "gamma")


@op("BatchNormWithGlobalNormalization", "t: T, m: T, v: T, beta: T, gamma: T -> result: T", T=NUMERIC, variance_epsilon=FLOAT,
    scale_after_normalization=BOOL)
class BatchNormWithGlobalNormalization:
    """(t - m) / sqrt(v + epsilon), times gamma if it is to be scaled, plus beta: vectors along the last of four axes."""

    ranks = {"t": 4, "m": 1, "v": 1, "beta": 1, "gamma": 1}
    shape = like("t")

    @in_float32
    def kernel(t, m, v, beta, gamma, variance_epsilon, scale_after_normalization):
        if t.dtype.kind not in "fV":
            raise invalid_argument(f"BatchNormWithGlobalNormalization is for floating point numbers, not for {t.dtype}")
        for name, vector in zip(_VECTORS, (m, v, beta, gamma)):
            if np.shape(vector) != np.shape(t)[-1:]:
                raise invalid_argument(f"{name} must have as many elements as the last dimension of the input: {list(np.shape(vector))} vs. "
                                       f"{list(np.shape(t))}")
        factor = 1 / np.sqrt(v + np.asarray(variance_epsilon, v.dtype))
        return (t - m) * (factor * gamma if scale_after_normalization else factor) + beta

    def compose(b, t, m, v, beta, gamma, variance_epsilon, scale_after_normalization):
        if t.dtype not in FLOATS:
            b.unsupported("integers and complex numbers are refused")
        factor = b.rsqrt(b.wide(v) + variance_epsilon)
        factor = factor * b.wide(gamma) if scale_after_normalization else factor
        return b.cast((b.wide(t) - b.wide(m)) * factor + b.wide(beta), t.dtype)

    def gradient(op, dy):
        t, m, v, _, gamma = op.inputs
        scaled, axes = op.attrs["scale_after_normalization"], [0, 1, 2]
        factor = raw_ops.Rsqrt(v + op.attrs["variance_epsilon"])
        dt = dy * (factor * gamma if scaled else factor)
        centred = raw_ops.Sum(dy * (t - m), axes)  # by channels
        d_gamma = centred * factor if scaled else raw_ops.ZerosLike(gamma)
        dv = centred * (gamma if scaled else 1.0) * factor * factor * factor * -0.5
        return [dt, -raw_ops.Sum(dt, axes), dv, raw_ops.Sum(dy, axes), d_gamma]
