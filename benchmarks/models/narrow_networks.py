"""Frozen convolutional networks with fewer bits, in the TensorFlow 1 API, for ``narrow_nets.py``.

A float network is plain: weights are constants of its type. With 8 bits a value is ``_Bytes``, a tensor of uint8 and what its integers stand for:
``(integer - zero) * scale``. The ranges are measured on the network in float32, layer by layer, in the order in which the layers are made.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.architectures import NETS, Conv, Dense, Mean, Parallel, Pool, Residual


def images(net, batch):
    """Normal numbers."""
    size = NETS[net].size
    return np.random.default_rng(0).standard_normal((batch, size, size, 3), np.float32)


def folded(layers):
    """The layers of a frozen network: what batch normalization does is a part of the weights."""
    made = []
    for layer in layers:
        if isinstance(layer, Conv):
            layer = layer._replace(norm=False)
        elif isinstance(layer, Parallel):
            layer = Parallel(tuple(map(folded, layer.branches)))
        elif isinstance(layer, Residual):
            layer = Residual(folded(layer.body), folded(layer.shortcut))
        made.append(layer)
    return tuple(made)


def run_of(tf, net, kind, values):
    """A function that runs a network on images and gives its logits."""
    layers = folded(NETS[net].layers)
    if kind == "8 bits":
        return _session_of(tf, lambda x: _ByteNetwork(tf, _ranges(tf, layers, values)).logits(layers, x), values, tf.float32)
    dtype = tf.as_dtype(kind)
    return _session_of(tf, lambda x: tf.cast(_FloatNetwork(tf, dtype).stack(layers, x), tf.float32), values, dtype)


def _session_of(tf, build, values, dtype):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(dtype, values.shape)
        result = build(x)
    session, fed = tf.Session(graph=graph), values.astype(dtype.as_numpy_dtype)
    return lambda: session.run(result, {x: fed})


def _ranges(tf, layers, values):
    """(least, largest) of the images, and of what each layer gives on them, in float32."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, values.shape)
        network = _FloatNetwork(tf, tf.float32)
        network.stack(layers, x)
        bounds = session.run([(tf.reduce_min(y), tf.reduce_max(y)) for y in (x, *network.results)], {x: values})
    return [(float(low), float(high)) for low, high in bounds]


class _Weights:
    """The same numbers for each network, in the order in which they are asked for; their size keeps values as large as they come in."""

    def __init__(self):
        self._random = np.random.default_rng(1)

    def next(self, shape):
        """The weights of a layer."""
        inputs = int(np.prod(shape[:-1]))
        return (self._random.standard_normal(shape, np.float32) * np.sqrt(2 / inputs)).astype(np.float32)


class _FloatNetwork:
    """Layers on floats; ``results`` are those whose ranges a network of 8 bits needs."""

    def __init__(self, tf, dtype):
        self.tf, self.dtype, self.weights, self.results = tf, dtype, _Weights(), []

    def stack(self, layers, x):
        """The layers, one on the other."""
        for layer in layers:
            x = self.layer(layer, x)
        return x

    def layer(self, layer, x):
        """One layer."""
        tf = self.tf
        if isinstance(layer, Conv):
            w = self._constant(self.weights.next((layer.size, layer.size, int(x.shape[3]), layer.filters)))
            y = tf.nn.conv2d(x, w, [1, layer.stride, layer.stride, 1], layer.padding)
            return self._noted(self._biased(y, layer.filters, layer.relu))
        if isinstance(layer, Pool):
            return tf.nn.max_pool(x, [1, layer.size, layer.size, 1], [1, layer.stride, layer.stride, 1], layer.padding)
        if isinstance(layer, Mean):
            return self._noted(tf.reduce_mean(x, [1, 2]))
        if isinstance(layer, Dense):
            return self._biased(tf.matmul(x, self._constant(self.weights.next((int(x.shape[1]), layer.units)))), layer.units, layer.relu)
        if isinstance(layer, Parallel):
            return tf.concat([self.stack(branch, x) for branch in layer.branches], 3)
        return self._noted(tf.nn.relu(self.stack(layer.body, x) + self.stack(layer.shortcut, x)))

    def _constant(self, value):
        return self.tf.constant(value.astype(self.dtype.as_numpy_dtype))

    def _biased(self, y, units, relu):
        y = self.tf.nn.bias_add(y, self._constant(np.full([units], 0.1, np.float32)))
        return self.tf.nn.relu(y) if relu else y

    def _noted(self, y):
        self.results.append(y)
        return y


class _Bytes(NamedTuple):
    """Integers of 8 bits that stand for ``(integer - zero) * scale``."""

    integers: object
    scale: float
    zero: int

    @property
    def range(self):
        """The floats that 0 and 255 stand for."""
        return -self.zero * self.scale, (255 - self.zero) * self.scale


def _scale_of(low, high):
    """(scale, zero) of a range, which gets a 0 that is an integer."""
    low, high = min(low, 0.0), max(high, 1e-6)
    scale = (high - low) / 255
    return scale, round(-low / scale)


class _ByteNetwork:
    """Layers on integers of 8 bits."""

    def __init__(self, tf, ranges):
        self.tf, self.weights, self._ranges = tf, _Weights(), iter(ranges)

    def logits(self, layers, x):
        """What the last layer gives, as floats; the images come as floats."""
        return self.stack(layers, self._narrow(x, *_scale_of(*next(self._ranges))))

    def stack(self, layers, x):
        """The layers, one on the other."""
        for layer in layers:
            x = self.layer(layer, x)
        return x

    def layer(self, layer, x):
        """One layer."""
        tf = self.tf
        if isinstance(layer, Conv):
            return self._narrow(self._convolved(layer, x), *_scale_of(*next(self._ranges)))
        if isinstance(layer, Pool):
            pooled = tf.nn.quantized_max_pool(tf.bitcast(x.integers, tf.quint8), *x.range, [1, layer.size, layer.size, 1],
                                              [1, layer.stride, layer.stride, 1], layer.padding)
            return x._replace(integers=tf.bitcast(pooled[0], tf.uint8))
        if isinstance(layer, Mean):
            return self._narrow(tf.reduce_mean(self._wide(x), [1, 2]), *_scale_of(*next(self._ranges)))
        if isinstance(layer, Dense):
            return self._multiplied(layer, x)
        if isinstance(layer, Parallel):
            return self._joined([self.stack(branch, x) for branch in layer.branches])
        total = tf.nn.relu(self._wide(self.stack(layer.body, x)) + self._wide(self.stack(layer.shortcut, x)))
        return self._narrow(total, *_scale_of(*next(self._ranges)))

    def _convolved(self, layer, x):
        """The floats of a convolution with bias."""
        tf = self.tf
        w, scale = self._byte_weights((layer.size, layer.size, int(x.integers.shape[3]), layer.filters))
        strides = [1, layer.stride, layer.stride, 1]
        sums = tf.nn.quantized_conv2d(tf.bitcast(x.integers, tf.quint8), w, *x.range, -128 * scale, 127 * scale, strides, layer.padding)
        return self._biased(sums[0], x.scale * scale, layer)

    def _multiplied(self, layer, x):
        tf = self.tf
        w, scale = self._byte_weights((int(x.integers.shape[1]), layer.units))
        low, high = x.range
        sums = tf.raw_ops.QuantizedMatMul(a=tf.bitcast(x.integers, tf.quint8), b=w, min_a=low, max_a=high, min_b=-128 * scale, max_b=127 * scale)
        return self._biased(sums[0], x.scale * scale, layer)

    def _byte_weights(self, shape):
        """Weights as quint8, of which 128 stands for 0, and the float from one to the next."""
        value = self.weights.next(shape)
        scale = float(np.abs(value).max()) / 127
        integers = (np.rint(value / scale) + 128).astype(np.uint8)
        return self.tf.bitcast(self.tf.constant(integers), self.tf.quint8), scale

    def _biased(self, sums, scale, layer):
        """The floats that sums of 32 bits stand for, with bias and ReLU."""
        tf = self.tf
        y = tf.cast(tf.bitcast(sums, tf.int32), tf.float32) * scale + 0.1
        return tf.nn.relu(y) if layer.relu else y

    def _joined(self, parts):
        """All branches, in the widest of their ranges."""
        scale, zero = _scale_of(min(part.range[0] for part in parts), max(part.range[1] for part in parts))
        same = [part.integers if part[1:] == (scale, zero) else self._narrow(self._wide(part), scale, zero).integers for part in parts]
        return _Bytes(self.tf.concat(same, 3), scale, zero)

    def _wide(self, x):
        return (self.tf.cast(x.integers, self.tf.float32) - float(x.zero)) * x.scale

    def _narrow(self, y, scale, zero):
        """Floats as integers of 8 bits."""
        tf = self.tf
        return _Bytes(tf.cast(tf.clip_by_value(tf.round(y * (1 / scale)) + float(zero), 0.0, 255.0), tf.uint8), scale, zero)
