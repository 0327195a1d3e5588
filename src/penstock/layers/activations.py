"""``tf.keras.activations``: activation functions, by name too."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.graph import default_graph
from penstock.layers import settings
from penstock.layers.objects import deserialize_object, serialize_object
from penstock.ops.array.cast import cast
from penstock.ops.array.select import where
from penstock.ops.constant import constant
from penstock.ops.math.clip import clip_by_value
from penstock.ops.math.compare import greater
from penstock.ops.math.powers import exp
from penstock.ops.math.reduce import reduce_max, reduce_sum
from penstock.ops.math.trigonometry import sigmoid, tanh
from penstock.ops.nn import activations as nn
from penstock.ops.nn import softmax as nn_softmax


def softmax(x: Any, axis: int = -1) -> Any:
    """``tf.keras.activations.softmax``: positive, with sum 1 along ``axis``."""
    rank = x.shape.ndims
    if rank == 2:
        return nn_softmax.softmax(x)
    if rank > 2:
        powers = exp(x - reduce_max(x, axis=axis, keepdims=True))
        return powers / reduce_sum(powers, axis=axis, keepdims=True)
    raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")


def elu(x: Any, alpha: float = 1.0) -> Any:
    """``tf.keras.activations.elu``."""
    result = nn.elu(x)
    return result if alpha == 1 else where(x > 0, result, alpha * result)


def selu(x: Any) -> Any:
    """``tf.keras.activations.selu``: a scaled elu that keeps mean and variance."""
    default_graph().imply(7)  # TensorFlow's is made of the elu
    return nn.selu(x)


def softplus(x: Any) -> Any:
    """``tf.keras.activations.softplus``: log(1 + exp(x))."""
    return nn.softplus(x)


def softsign(x: Any) -> Any:
    """``tf.keras.activations.softsign``: x / (1 + |x|)."""
    return nn.softsign(x)


def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Any:
    """``tf.keras.activations.relu``: x above ``threshold``, at most ``max_value``; ``alpha`` times its distance from the threshold below."""
    if alpha != 0.0 and max_value is None and threshold == 0:
        return nn.leaky_relu(x, alpha=alpha)
    negative_part = nn.relu(-x + threshold if threshold != 0 else -x) if alpha != 0.0 else None
    if threshold != 0:
        x = x * cast(greater(x, threshold), settings.floatx())
    else:
        x = nn.relu6(x) if max_value == 6 else nn.relu(x)
    if max_value is not None and (max_value != 6 or threshold != 0):
        dtype = x.dtype.base_dtype
        x = clip_by_value(x, constant(0.0, dtype), constant(max_value, dtype))
    return x if negative_part is None else x - constant(alpha, x.dtype.base_dtype) * negative_part


def exponential(x: Any) -> Any:
    """``tf.keras.activations.exponential``."""
    return exp(x)


def hard_sigmoid(x: Any) -> Any:
    """``tf.keras.activations.hard_sigmoid``: a line from (-2.5, 0) to (2.5, 1), constant outside."""
    dtype = x.dtype.base_dtype
    return clip_by_value(x * constant(0.2, dtype) + constant(0.5, dtype), 0.0, 1.0)


def linear(x: Any) -> Any:
    """``tf.keras.activations.linear``: x itself."""
    return x


_OBJECTS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (softmax, elu, selu, softplus, softsign, relu, exponential, hard_sigmoid, linear)}
_OBJECTS.update(tanh=tanh, sigmoid=sigmoid)


def serialize(activation: Any) -> Any:
    """``tf.keras.activations.serialize``: the name of an activation function."""
    return serialize_object(activation)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """``tf.keras.activations.deserialize``: the activation function of this name."""
    return deserialize_object(name, _OBJECTS, custom_objects, "activation function")


def get(identifier: Any) -> Callable[..., Any]:
    """``tf.keras.activations.get``: the function that a name means, or that was given; None is ``linear``."""
    if identifier is None:
        return linear
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")
