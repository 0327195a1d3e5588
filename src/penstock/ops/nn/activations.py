"""Activation functions and the ops of their gradients."""
from __future__ import annotations

import numpy as np

from penstock.graph import dtypes
from penstock.graph.attrs import types
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros, zeros_like
from penstock.ops.array.masking import choose, masked
from penstock.ops.array.pack import concat
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.ops.common import FLOATS, REAL, like
from penstock.ops.demands import same_shape
from penstock.ops.math.elementwise import abs as absolute
from penstock.ops.math.elementwise import sign
from penstock.ops.math.powers import exp
from penstock.ops.math.trigonometry import sigmoid
from penstock.ops.precision import in_float32

_ALPHA = 0.20000000298023224  # 0.2 as a float32
_SCALE = 1.0507009873554804934193349852946  # the two constants of self-normalizing networks
_SCALE_ALPHA = 1.7580993408473768599402175208123


def _zeros(tensor):
    """What the slope of a piecewise linear function contributes to a second derivative: nothing, but not None."""
    return zeros(shape_of(tensor), tensor.dtype.base_dtype)


@op("Relu", "features: T -> activations: T", T=REAL)
class Relu:
    """max(features, 0), elementwise."""

    elementwise = True
    epilogue = "relu"
    shape = like("features")

    def kernel(features):
        return np.maximum(features, features.dtype.type(0))

    def lower(b, features):
        return b.maximum(features, 0)

    def gradient(op, dy):
        return ReluGrad(dy, op.outputs[0])


@op("ReluGrad", "gradients: T, features: T -> backprops: T", T=REAL)
class ReluGrad:
    """The gradient where the feature (or the activation) is positive, else 0."""

    elementwise = True
    shape = same_shape("gradients", "features")

    def kernel(gradients, features):
        return masked(gradients, features > 0)

    def lower(b, gradients, features):
        return b.select(b.gt(features, 0), gradients, 0)

    def gradient(op, dy):
        x = op.inputs[1]
        return [ReluGrad(dy, x), _zeros(x)]


@op("Relu6", "features: T -> activations: T", T=REAL)
class Relu6:
    """min(max(features, 0), 6), elementwise."""

    elementwise = True
    epilogue = "relu6"
    shape = like("features")

    def kernel(features):
        scalar = features.dtype.type
        return np.minimum(np.maximum(features, scalar(0)), scalar(6))

    def lower(b, features):
        return b.minimum(b.maximum(features, 0), 6)

    def gradient(op, dy):
        return Relu6Grad(dy, op.outputs[0])


@op("Relu6Grad", "gradients: T, features: T -> backprops: T", T=REAL)
class Relu6Grad:
    """The gradient where the feature is between 0 and 6, else 0."""

    elementwise = True
    shape = same_shape("gradients", "features")

    def kernel(gradients, features):
        return masked(gradients, (features > 0) & (features < 6))

    def lower(b, gradients, features):
        return b.select(b.logical_and(b.gt(features, 0), b.lt(features, 6)), gradients, 0)

    def gradient(op, dy):
        x = op.inputs[1]
        return [Relu6Grad(dy, x), _zeros(x)]


@op("LeakyRelu", "features: T -> activations: T", alpha=_ALPHA, T=types(*FLOATS, default=dtypes.float32))
class LeakyRelu:
    """features where they are positive, else alpha * features."""

    elementwise = True
    shape = like("features")

    def kernel(features, alpha):
        return choose(features > 0, features, features * features.dtype.type(alpha))

    def lower(b, features, alpha):
        return b.select(b.gt(features, 0), features, b.mul(features, alpha))

    def gradient(op, dy):
        return LeakyReluGrad(dy, op.inputs[0], alpha=op.attrs["alpha"])


@op("LeakyReluGrad", "gradients: T, features: T -> backprops: T", alpha=_ALPHA,
    T=types(*FLOATS, default=dtypes.float32))
class LeakyReluGrad:
    """The gradient where the feature is positive, else alpha times it."""

    elementwise = True
    shape = same_shape("gradients", "features")

    def kernel(gradients, features, alpha):
        return choose(features > 0, gradients, gradients * gradients.dtype.type(alpha))

    def lower(b, gradients, features, alpha):
        return b.select(b.gt(features, 0), gradients, b.mul(gradients, alpha))

    def gradient(op, dy):
        x = op.inputs[1]
        return [LeakyReluGrad(dy, x, alpha=op.attrs["alpha"]), _zeros(x)]


@op("Elu", "features: T -> activations: T", T=FLOATS)
class Elu:
    """features where they are positive, else exp(features) - 1."""

    elementwise = True
    shape = like("features")

    @in_float32
    def kernel(features):
        return choose(features < 0, np.expm1(np.minimum(features, 0)), features)

    def lower(b, features):
        return b.select(b.lt(features, 0), b.expm1(b.minimum(features, 0)), features)

    def gradient(op, dy):
        return EluGrad(dy, op.outputs[0])


@op("EluGrad", "gradients: T, outputs: T -> backprops: T", T=FLOATS)
class EluGrad:
    """The gradient of Elu in terms of its output: exp(x) is output + 1."""

    elementwise = True
    shape = same_shape("gradients", "outputs")

    @in_float32
    def kernel(gradients, outputs):
        return choose(outputs < 0, gradients * (outputs + 1), gradients)

    def lower(b, gradients, outputs):
        return b.select(b.lt(outputs, 0), b.mul(gradients, b.add(outputs, 1)), gradients)

    def gradient(op, dy):
        gradients, outputs = op.inputs
        first = EluGrad(dy, outputs)
        return [first, where(outputs < 0.0, dy * gradients, zeros_like(outputs))]


@op("Selu", "features: T -> activations: T", T=FLOATS)
class Selu:
    """The scaled Elu of self-normalizing networks."""

    elementwise = True
    shape = like("features")

    @in_float32
    def kernel(features):
        kind = features.dtype.type
        return choose(features < 0, kind(_SCALE_ALPHA) * np.expm1(np.minimum(features, 0)), kind(_SCALE) * features)

    def lower(b, features):
        return b.select(b.lt(features, 0), b.mul(b.expm1(b.minimum(features, 0)), _SCALE_ALPHA),
                        b.mul(features, _SCALE))

    def gradient(op, dy):
        return SeluGrad(dy, op.outputs[0])


@op("SeluGrad", "gradients: T, outputs: T -> backprops: T", T=FLOATS)
class SeluGrad:
    """The gradient of Selu in terms of its output."""

    elementwise = True
    shape = same_shape("gradients", "outputs")

    @in_float32
    def kernel(gradients, outputs):
        kind = gradients.dtype.type
        return gradients * np.where(outputs < 0, outputs + kind(_SCALE_ALPHA), kind(_SCALE))

    def lower(b, gradients, outputs):
        return b.mul(gradients, b.select(b.lt(outputs, 0), b.add(outputs, _SCALE_ALPHA), _SCALE))

    def gradient(op, dy):
        gradients, outputs = op.inputs
        first = SeluGrad(dy, outputs)
        return [first, where(outputs < 0.0, dy * gradients, zeros_like(outputs))]


@op("Softplus", "features: T -> activations: T", T=FLOATS)
class Softplus:
    """log(exp(features) + 1), without overflow."""

    elementwise = True
    shape = like("features")

    @in_float32
    def kernel(features):
        return np.maximum(features, 0) + np.log1p(np.exp(-np.abs(features)))

    def lower(b, features):
        return b.add(b.maximum(features, 0), b.log1p(b.exp(b.neg(b.abs(features)))))

    def gradient(op, dy):
        return dy * sigmoid(op.inputs[0])


@op("SoftplusGrad", "gradients: T, features: T -> backprops: T", T=FLOATS)
class SoftplusGrad:
    """gradients * sigmoid(features)."""

    elementwise = True
    shape = same_shape("gradients", "features")

    @in_float32
    def kernel(gradients, features):
        decay = np.exp(-np.abs(features))
        return gradients * np.where(features >= 0, 1, decay) / (1 + decay)

    def lower(b, gradients, features):
        return b.mul(gradients, b.sigmoid(features))

    def gradient(op, dy):
        gradients, x = op.inputs
        curvature = exp(-x) + 2.0 + exp(x)
        return [SoftplusGrad(dy, x), dy * gradients / curvature]


@op("Softsign", "features: T -> activations: T", T=FLOATS)
class Softsign:
    """features / (|features| + 1)."""

    elementwise = True
    shape = like("features")

    @in_float32
    def kernel(features):
        return features / (np.abs(features) + 1)

    def lower(b, features):
        return b.div(features, b.add(b.abs(features), 1))

    def gradient(op, dy):
        return SoftsignGrad(dy, op.inputs[0])


@op("SoftsignGrad", "gradients: T, features: T -> backprops: T", T=FLOATS)
class SoftsignGrad:
    """gradients / (|features| + 1) ** 2."""

    elementwise = True
    shape = same_shape("gradients", "features")

    @in_float32
    def kernel(gradients, features):
        return gradients / np.square(np.abs(features) + 1)

    def lower(b, gradients, features):
        denominator = b.add(b.abs(features), 1)
        return b.div(gradients, b.mul(denominator, denominator))

    def gradient(op, dy):
        gradients, x = op.inputs
        first = SoftsignGrad(dy, x)
        return [first, -2.0 * gradients * first * sign(x) / (absolute(x) + 1.0)]


def relu(features, name=None):
    """``tf.nn.relu``: max(features, 0)."""
    return Relu(features, name=name)


def relu6(features, name=None):
    """``tf.nn.relu6``: min(max(features, 0), 6)."""
    return Relu6(features, name=name)


def elu(features, name=None):
    """``tf.nn.elu``: exp(features) - 1 below zero, features above."""
    return Elu(features, name=name)


def selu(features, name=None):
    """``tf.nn.selu``: the scaled exponential linear unit."""
    return Selu(features, name=name)


def softplus(features, name=None):
    """``tf.nn.softplus``: log(exp(features) + 1)."""
    return Softplus(features, name=name)


def softsign(features, name=None):
    """``tf.nn.softsign``: features / (|features| + 1)."""
    return Softsign(features, name=name)


def leaky_relu(features, alpha=0.2, name=None):
    """``tf.nn.leaky_relu``: features above zero, alpha * features below; integers become float32."""
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = cast(features, dtypes.float32)
        return LeakyRelu(features, alpha=alpha, name=scope)


def crelu(features, name=None, axis=-1):
    """``tf.nn.crelu``: the ReLU of the features and of their negatives, side by side along ``axis``."""
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        return Relu(concat([features, -features], axis, name=scope))


def swish(features):
    """``tf.nn.swish``: features * sigmoid(features)."""
    features = convert_to_tensor(features, name="features")
    with default_graph().counting_as(4):  # in TensorFlow a function with a gradient of its own
        return features * sigmoid(features)
