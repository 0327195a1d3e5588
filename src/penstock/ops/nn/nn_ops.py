"""Small things that neural networks need: norms, losses other than cross entropy, top-k membership."""
from __future__ import annotations

import math

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import INT, types
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.fill import ones_like, zeros_like
from penstock.ops.array.select import where
from penstock.ops.common import FLOATS, fixed
from penstock.ops.constant import constant
from penstock.ops.math.compare import logical_and
from penstock.ops.math.elementwise import maximum, multiply, square
from penstock.ops.math.powers import exp, log, rsqrt
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.precision import in_float32
from penstock.platform.deprecation import older_argument

_PIECE = 1 << 16  # elements that are squared at a time, as float64: a sum of millions of float32 loses half of their digits


@op("L2Loss", "t: T -> output: T", T=FLOATS)
class L2Loss:
    """Half the sum of squares."""

    shape = fixed()

    @in_float32
    def kernel(t):
        flat = np.ravel(t)
        pieces = (flat[start:start + _PIECE].astype(np.float64) for start in range(0, flat.size, _PIECE))
        return t.dtype.type(sum((np.dot(piece, piece) for piece in pieces), 0.0) / 2)

    def compose(b, t):
        total = b.sum(b.square(b.wide(t)), range(len(t.shape)))
        return b.cast(b.reshape(total, []) * 0.5, t.dtype)

    def gradient(op, dy):
        return op.inputs[0] * dy


def l2_loss(t, name=None):
    """``tf.nn.l2_loss``: half the sum of squares."""
    return L2Loss(t, name=name)


_TARGETS = types(dt.int32, dt.int64, default=dt.int32)


def _in_top_k(predictions, targets, k):
    """Is each row's target among its k largest? Ties count as inside; values that are not finite make it False."""
    if len(predictions) != len(targets):
        raise invalid_argument(f"First dimension of predictions {len(predictions)} must match length of targets {len(targets)}")
    classes = predictions.shape[1]
    valid = (targets >= 0) & (targets < classes)
    if not classes:
        return np.zeros(len(targets), bool)
    chosen = predictions[np.arange(len(targets)), np.where(valid, targets, 0)]
    larger = (predictions > chosen[:, None]).sum(axis=1)
    return valid & np.isfinite(predictions).all(axis=1) & (larger < k)


def _rows_shape(predictions, targets):
    return predictions.shape.with_rank(2)[:1].merge_with(targets.shape.with_rank(1))


@op("InTopK", "predictions: float32, targets: T -> precision: bool", k=INT, T=_TARGETS)
class InTopK:
    """Whether the targets are among the k largest predictions of their rows."""

    def shape(predictions, targets):
        return _rows_shape(predictions, targets)

    def kernel(predictions, targets, k):
        return _in_top_k(predictions, targets, k)

    def native(emit, predictions, targets, k):
        return emit.order.in_top_k(predictions, targets, k)

    gradient = None


@op("InTopKV2", "predictions: float32, targets: T, k: T -> precision: bool", T=_TARGETS)
class InTopKV2:
    """InTopK with a k that is computed in the graph."""

    ranks = {"predictions": 2, "targets": 1, "k": 0}

    def shape(predictions, targets):
        return _rows_shape(predictions, targets)

    def kernel(predictions, targets, k):
        return _in_top_k(predictions, targets, k)

    def native(emit, predictions, targets, k):
        return emit.order.in_top_k(predictions, targets, int(emit.known(k)))

    gradient = None


def in_top_k(predictions, targets, k, name=None):
    """``tf.nn.in_top_k``: whether each target is among the k largest predictions of its row."""
    with name_scope(name, "in_top_k"):
        return InTopKV2(predictions, targets, k)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """``tf.nn.l2_normalize``: x / sqrt(max(sum of squares along ``axis``, epsilon))."""
    axis = older_argument("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        squares = reduce_sum(square(x), axis, keepdims=True)
        return multiply(x, rsqrt(maximum(squares, epsilon)), name=scope)


def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """``tf.nn.log_poisson_loss``: exp(log_input) - log_input * targets.

    The full loss adds Stirling's approximation of log(targets!).
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, name="targets")
        if not targets.shape.is_compatible_with(log_input.shape):
            raise ValueError(f"log_input and targets must have the same shape ({log_input.shape} vs {targets.shape})")
        result = exp(log_input) - log_input * targets
        if not compute_full_loss:
            return result
        half, tau = constant(0.5, dtype=targets.dtype.base_dtype), constant(2 * math.pi, dtype=targets.dtype.base_dtype)
        stirling = targets * log(targets) - targets + half * log(tau * targets)
        zeros, ones = zeros_like(targets), ones_like(targets)
        small = logical_and(targets >= zeros, targets <= ones)  # where the approximation is worse than nothing
        return result + where(small, zeros, stirling)
