"""Which layer a class name in a configuration means. Modules are imported when one of their layers is asked for."""
from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.layers.objects import deserialize_object, serialize_object

_HERE = "penstock.keras.layers"
# {module: the layers in it}. This is also the table of `tf.keras.layers`.
MODULES: dict[str, str] = {
    "penstock.layers.dense": "Dense Dropout Flatten",
    "penstock.layers.batch_norm": "BatchNormalization",
    "penstock.layers.conv": "Conv1D Conv2D Conv3D",
    "penstock.layers.conv_transpose": "Conv2DTranspose Conv3DTranspose",
    "penstock.layers.separable": "SeparableConv1D SeparableConv2D",
    "penstock.layers.pooling": "AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D",
    "penstock.keras.engine.input_layer": "InputLayer",
    f"{_HERE}.core": "Activation Permute RepeatVector Reshape ActivityRegularization Masking",
    f"{_HERE}.function": "Lambda",
    f"{_HERE}.spatial_dropout": "SpatialDropout1D SpatialDropout2D SpatialDropout3D",
    f"{_HERE}.noise": "AlphaDropout GaussianDropout GaussianNoise",
    f"{_HERE}.merge": "Add Subtract Multiply Average Maximum Minimum Concatenate Dot",
    f"{_HERE}.embeddings": "Embedding",
    f"{_HERE}.advanced_activations": "LeakyReLU PReLU ELU ThresholdedReLU Softmax ReLU",
    f"{_HERE}.resizing": "Cropping1D Cropping2D Cropping3D UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D",
    f"{_HERE}.depthwise": "DepthwiseConv2D",
    f"{_HERE}.local": "LocallyConnected1D LocallyConnected2D",
    f"{_HERE}.global_pooling": "GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D "
                               "GlobalMaxPooling3D",
    f"{_HERE}.layer_norm": "LayerNormalization",
    f"{_HERE}.attention": "Attention AdditiveAttention",
    f"{_HERE}.cells": "SimpleRNNCell GRUCell LSTMCell PeepholeLSTMCell",
    f"{_HERE}.stacked": "StackedRNNCells",
    f"{_HERE}.rnn": "RNN",
    f"{_HERE}.recurrent": "SimpleRNN GRU LSTM",
    f"{_HERE}.conv_lstm": "ConvLSTM2D",
    f"{_HERE}.cudnn": "CuDNNGRU CuDNNLSTM",
    f"{_HERE}.wrappers": "Wrapper TimeDistributed",
    f"{_HERE}.bidirectional": "Bidirectional",
}
_OTHERS: dict[str, str] = {
    "penstock.keras.engine.op_layers": "TensorFlowOpLayer AddLoss AddMetric",
    "penstock.keras.engine.model": "Model",
    "penstock.keras.engine.sequential": "Sequential",
    "penstock.estimator.columns.features_layer": "DenseFeatures SequenceFeatures",
}
_ALIASES = {"Functional": "Model", "BatchNormalizationV1": "BatchNormalization", "BatchNormalizationV2": "BatchNormalization",
            "Convolution1D": "Conv1D", "Convolution2D": "Conv2D", "Convolution3D": "Conv3D", "MaxPool2D": "MaxPooling2D",
            "AvgPool2D": "AveragePooling2D"}


class _Classes(Mapping[str, Any]):
    """{class name: class}, looked up in the tables."""

    def __init__(self) -> None:
        self._where = {name: module for table in (MODULES, _OTHERS) for module, names in table.items() for name in names.split()}

    def __getitem__(self, name: str) -> Any:
        known = _ALIASES.get(name, name)
        return getattr(importlib.import_module(self._where[known]), known)

    def __contains__(self, name: object) -> bool:
        return _ALIASES.get(name, name) in self._where  # type: ignore[call-overload]

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)


CLASSES = _Classes()


def serialize(layer: Any) -> dict[str, Any]:
    """``tf.keras.layers.serialize``."""
    return serialize_object(layer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """``tf.keras.layers.deserialize``: the layer or model that a configuration describes."""
    return deserialize_object(config, CLASSES, custom_objects, "layer")
