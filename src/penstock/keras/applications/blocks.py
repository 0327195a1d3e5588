"""The few layers that all networks are made of, with their channels where the settings want them."""
from __future__ import annotations

from typing import Any

from penstock.keras.layers.advanced_activations import ReLU
from penstock.keras.layers.core import Activation
from penstock.keras.layers.depthwise import DepthwiseConv2D
from penstock.keras.layers.global_pooling import GlobalAveragePooling2D, GlobalMaxPooling2D
from penstock.keras.layers.merge import Concatenate
from penstock.keras.layers.resizing import ZeroPadding2D
from penstock.layers import settings
from penstock.layers.batch_norm import BatchNormalization
from penstock.layers.conv import Conv2D
from penstock.layers.dense import Dense
from penstock.layers.separable import SeparableConv2D


def channel_axis() -> int:
    """The axis of the channels."""
    return 1 if settings.image_data_format() == "channels_first" else 3


def channels(x: Any) -> int:
    """How many channels a tensor has."""
    return x.shape.as_list()[channel_axis()]


def extents(x: Any) -> tuple[int | None, int | None]:
    """Height and width."""
    shape = x.shape.as_list()
    return (shape[2], shape[3]) if channel_axis() == 1 else (shape[1], shape[2])


def conv(x: Any, filters: int, size: Any, name: str | None = None, strides: int = 1, padding: str = "valid", use_bias: bool = False,
         **kwargs: Any) -> Any:
    """A convolution; without a bias, unless it is asked for."""
    return Conv2D(filters, size, strides=strides, padding=padding, use_bias=use_bias, name=name, **kwargs)(x)


def depthwise(x: Any, name: str, strides: int = 1, **kwargs: Any) -> Any:
    """A 3x3 convolution of each channel by itself; one with strides does not pad."""
    return DepthwiseConv2D(3, strides=strides, padding="same" if strides == 1 else "valid", use_bias=False, name=name, **kwargs)(x)


def separable(x: Any, filters: int, size: Any, name: str, strides: int = 1, padding: str = "same", **kwargs: Any) -> Any:
    """A depthwise convolution, and one over the channels."""
    return SeparableConv2D(filters, size, strides=strides, padding=padding, use_bias=False, name=name, **kwargs)(x)


def norm(x: Any, name: str | None = None, **kwargs: Any) -> Any:
    """Batch normalization."""
    return BatchNormalization(axis=channel_axis(), name=name, **kwargs)(x)


def relu(x: Any, name: str | None = None) -> Any:
    """The rectifier."""
    return Activation("relu", name=name)(x)


def relu6(x: Any, name: str) -> Any:
    """The rectifier that ends at 6."""
    return ReLU(6.0, name=name)(x)


def concat(tensors: list[Any], name: str | None = None) -> Any:
    """Along the channels."""
    return Concatenate(axis=channel_axis(), name=name)(tensors)


def pad(x: Any, before: int, after: int, name: str | None = None) -> Any:
    """Zeros around the image."""
    return ZeroPadding2D(((before, after), (before, after)), name=name)(x)


def pad_for_stride(x: Any, size: int, name: str) -> Any:
    """Zeros that make a convolution with strides of 2 see the pixels which it would see with the padding "same"."""
    before = [size // 2 - (1 if extent is None or extents(x)[0] is None else 1 - extent % 2) for extent in extents(x)]
    return ZeroPadding2D(((before[0], size // 2), (before[1], size // 2)), name=name)(x)


def classify(x: Any, classes: int, pool: str | None = "avg_pool", name: str = "predictions") -> Any:
    """The usual top: the mean over the image, and probabilities."""
    return Dense(classes, activation="softmax", name=name)(GlobalAveragePooling2D(name=pool)(x))


def pooled(x: Any, pooling: str | None, names: tuple[str | None, str | None] = (None, None)) -> Any:
    """What a network without a top returns."""
    if pooling == "avg":
        return GlobalAveragePooling2D(name=names[0])(x)
    return GlobalMaxPooling2D(name=names[1])(x) if pooling == "max" else x
