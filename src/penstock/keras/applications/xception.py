"""Xception: residual blocks of separable convolutions."""
from __future__ import annotations

from typing import Any

from penstock.keras.applications.blocks import conv, norm, relu, separable
from penstock.keras.applications.network import RELEASES, Architecture, application
from penstock.keras.layers.merge import Add
from penstock.layers.pooling import MaxPooling2D

_BLOCKS = {2: (128, 128), 3: (256, 256), 4: (728, 728), **{number: (728, 728, 728) for number in range(5, 13)}, 13: (728, 1024)}


def _block(x: Any, number: int, filters: tuple[int, ...]) -> Any:
    """Separable convolutions beside a shortcut. Blocks of two halve the image."""
    smaller, shortcut = len(filters) == 2, x
    if smaller:
        shortcut = norm(conv(x, filters[-1], 1, strides=2, padding="same"))
    for index, each in enumerate(filters, 1):
        name = f"block{number}_sepconv{index}"
        x = x if (number, index) == (2, 1) else relu(x, f"{name}_act")  # the first one follows a ReLU
        x = norm(separable(x, each, 3, name), f"{name}_bn")
    return Add()([MaxPooling2D(3, strides=2, padding="same", name=f"block{number}_pool")(x) if smaller else x, shortcut])


def _body(x: Any) -> Any:
    for index, (filters, strides) in enumerate(((32, 2), (64, 1)), 1):
        name = f"block1_conv{index}"
        x = relu(norm(conv(x, filters, 3, name, strides), f"{name}_bn"), f"{name}_act")
    for number, each in _BLOCKS.items():
        x = _block(x, number, each)
    for index, filters in enumerate((1536, 2048), 1):
        name = f"block14_sepconv{index}"
        x = relu(norm(separable(x, filters, 3, name), f"{name}_bn"), f"{name}_act")
    return x


Xception = application("Xception", Architecture("xception", _body, f"{RELEASES}/v0.4/xception_weights_tf_dim_ordering_tf_kernels.h5", size=299,
                                           smallest=71))
