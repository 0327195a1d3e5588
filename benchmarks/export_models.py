"""The models of ``benchmarks/export.py``, layer by layer, with weights that all systems share. Needs NumPy only: the peers' own Pythons import it.

A layer is a dict. ``op``: conv, depthwise, add (to the result of layer ``with``), max_pool, mean (over the image), dense, gru. ``from`` is the layer
that it takes, the one before it if there is none. Batch norm is folded into weights and biases, as every system's own tools do.
"""
from __future__ import annotations

import numpy as np


def _conv(random, size, inputs, outputs, stride=1, act="relu", **more):
    scale = np.sqrt(2.0 / (size * size * inputs))
    return {"op": "conv", "w": (random.standard_normal((size, size, inputs, outputs)) * scale).astype(np.float32),
            "b": (random.standard_normal(outputs) * 0.1).astype(np.float32), "stride": stride, "act": act, **more}


def _dense(random, inputs, outputs):
    return {"op": "dense", "w": (random.standard_normal((inputs, outputs)) / np.sqrt(inputs)).astype(np.float32),
            "b": (random.standard_normal(outputs) * 0.1).astype(np.float32), "act": "softmax"}


def mobilenet(random):
    """MobileNet v1, width 1.0, 224 x 224."""
    layers = [_conv(random, 3, 3, 32, 2, "relu6")]
    channels = 32
    for outputs, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)):
        layers.append({"op": "depthwise", "w": (random.standard_normal((3, 3, channels, 1)) * 0.47).astype(np.float32),
                       "b": (random.standard_normal(channels) * 0.1).astype(np.float32), "stride": stride, "act": "relu6"})
        layers.append(_conv(random, 1, channels, outputs, 1, "relu6"))
        channels = outputs
    return (1, 224, 224, 3), [*layers, {"op": "mean"}, _dense(random, 1024, 1000)]


def resnet18(random):
    """ResNet-18, 224 x 224."""
    layers = [_conv(random, 7, 3, 64, 2), {"op": "max_pool"}]
    channels = 64
    for outputs, first in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for stride in (first, 1):
            start = len(layers) - 1
            shortcut = start
            if stride != 1 or channels != outputs:
                layers.append(_conv(random, 1, channels, outputs, stride, "", **{"from": start}))
                shortcut = len(layers) - 1
            layers.append(_conv(random, 3, channels, outputs, stride, **{"from": start}))
            layers.append(_conv(random, 3, outputs, outputs, 1, ""))
            layers.append({"op": "add", "with": shortcut, "act": "relu"})
            channels = outputs
    return (1, 224, 224, 3), [*layers, {"op": "mean"}, _dense(random, 512, 1000)]


def gru(random):
    """A GRU of 256 units over 64 steps of 128 features."""
    units, features = 256, 128
    matrices = {name: (random.standard_normal((features + units, units)) / np.sqrt(features + units)).astype(np.float32) for name in "rzn"}
    biases = {f"b{name}": (random.standard_normal(units) * 0.1).astype(np.float32) for name in "rzn"}
    return (1, 64, features), [{"op": "gru", "units": units, **matrices, **biases}]


MODELS = {"mobilenet": mobilenet, "resnet18": resnet18, "gru": gru}


def build(name):
    """The shape of the input, and the layers."""
    return MODELS[name](np.random.RandomState(0))


def data(name):
    """An input."""
    return np.random.RandomState(1).standard_normal(build(name)[0]).astype(np.float32)
