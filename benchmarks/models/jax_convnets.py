"""The convolutional networks in JAX, images as NHWC."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from models import data
from models.architectures import NETS, Conv, Dense, Mean, Parallel, Pool, Step

_DIMENSIONS = ("NHWC", "HWIO", "NHWC")
_RANDOM = np.random.RandomState(1)


def weights(*shape):
    """A new parameter."""
    return jnp.asarray(_RANDOM.uniform(-0.02, 0.02, shape).astype(np.float32))


def initialize(layers, shape):
    """The parameters of the layers, and the shape of what comes out."""
    all_parameters = []
    for layer in layers:
        parameters = _parameters(layer, shape)
        shape = jax.eval_shape(lambda p, x, layer=layer: apply(layer, p, x), parameters, jax.ShapeDtypeStruct(shape, jnp.float32)).shape
        all_parameters.append(parameters)
    return all_parameters, shape


def _parameters(layer, shape):
    if isinstance(layer, Conv):
        return [weights(layer.size, layer.size, shape[3], layer.filters)] + [weights(layer.filters)] * (2 if layer.norm else 1)
    if isinstance(layer, Dense):
        return [weights(int(np.prod(shape[1:])), layer.units), weights(layer.units)]
    if isinstance(layer, Parallel):
        return [initialize(branch, shape)[0] for branch in layer.branches]
    if isinstance(layer, (Pool, Mean)):
        return []
    return [initialize(layer.body, shape)[0], initialize(layer.shortcut, shape)[0]]


def stack(layers, parameters, x):
    """The layers, one on the other."""
    for layer, own in zip(layers, parameters):
        x = apply(layer, own, x)
    return x


def apply(layer, own, x):
    """One layer with its parameters."""
    if isinstance(layer, Conv):
        return conv(layer, own, x)
    if isinstance(layer, Pool):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, layer.size, layer.size, 1), (1, layer.stride, layer.stride, 1), layer.padding)
    if isinstance(layer, Mean):
        return x.mean((1, 2))
    if isinstance(layer, Dense):
        y = x.reshape(x.shape[0], -1) @ own[0] + own[1]
        return jax.nn.relu(y) if layer.relu else y
    if isinstance(layer, Parallel):
        return jnp.concatenate([stack(branch, each, x) for branch, each in zip(layer.branches, own)], 3)
    return jax.nn.relu(stack(layer.body, own[0], x) + stack(layer.shortcut, own[1], x))


def conv(layer, own, x):
    """Convolution, bias or batch normalization, ReLU."""
    y = lax.conv_general_dilated(x, own[0], (layer.stride, layer.stride), layer.padding, dimension_numbers=_DIMENSIONS)
    if layer.norm:
        mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
        y = (y - mean) * (lax.rsqrt(variance + 1e-3) * own[1]) + own[2]
    else:
        y = y + own[1]
    return jax.nn.relu(y) if layer.relu else y


def make(case, trained, cross_entropy):
    """The step of ``alexnet_16``, or of ``googlenet_forward_1``."""
    images, labels = map(jnp.asarray, data.images(case))
    layers = NETS[case.partition("_")[0]].layers
    parameters, _ = initialize(layers, images.shape)
    parameters = jax.tree.map(jnp.array, parameters)  # copies: two that share a buffer cannot be donated
    if "forward" in case:
        function = jax.jit(lambda parameters, x: stack(layers, parameters, x))
        return Step(lambda: np.asarray(function(parameters, images)), sum(leaf.size for leaf in jax.tree.leaves(parameters)))
    return trained(lambda p, x, y: cross_entropy(stack(layers, p, x), y), parameters, arrays=(images, labels))
