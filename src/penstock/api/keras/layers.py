"""``tf.keras.layers``: layers, and functions that make one and call it."""
from __future__ import annotations

from penstock.api._table import publish
from penstock.keras.engine import op_layers as _op_layers  # noqa: F401 (layers of a user's own add metrics, also without a model)
from penstock.keras.layer_classes import MODULES

_ALIASES = {
    "penstock.layers.conv": "Convolution1D=Conv1D Convolution2D=Conv2D Convolution3D=Conv3D",
    "penstock.layers.conv_transpose": "Convolution2DTranspose=Conv2DTranspose Convolution3DTranspose=Conv3DTranspose",
    "penstock.layers.separable": "SeparableConvolution1D=SeparableConv1D SeparableConvolution2D=SeparableConv2D",
    "penstock.layers.pooling": " ".join(f"{short}Pool{rank}D={full}Pooling{rank}D" for rank in (1, 2, 3)
                                        for short, full in (("Avg", "Average"), ("Max", "Max"))),
    "penstock.keras.layers.global_pooling": " ".join(f"Global{short}Pool{rank}D=Global{full}Pooling{rank}D" for rank in (1, 2, 3)
                                                     for short, full in (("Avg", "Average"), ("Max", "Max"))),
    "penstock.keras.layers.merge": "add average concatenate dot maximum minimum multiply subtract",
    "penstock.keras.layers.cells": "AbstractRNNCell",
    "penstock.keras.engine.input_layer": "Input",
    "penstock.keras.layer_classes": "deserialize serialize",
    "penstock.layers.base": "Layer",
    "penstock.estimator.columns.features_layer": "DenseFeatures",
    "penstock.layers.input_spec": "InputSpec",
}
_HIDDEN = frozenset(["PeepholeLSTMCell"])  # of tf.keras.experimental
TABLE: dict[str, str] = {module: " ".join([*(name for name in MODULES.get(module, "").split() if name not in _HIDDEN), _ALIASES.get(module, "")])
                         for module in dict.fromkeys([*MODULES, *_ALIASES])}
publish(__name__, TABLE)
