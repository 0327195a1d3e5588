"""VGG16 and VGG19: blocks of 3x3 convolutions, each followed by pooling."""
from __future__ import annotations

from functools import partial
from typing import Any

from penstock.keras.applications.blocks import conv
from penstock.keras.applications.network import RELEASES, Architecture, application
from penstock.layers.dense import Dense, Flatten
from penstock.layers.pooling import MaxPooling2D

_FILTERS = (64, 128, 256, 512, 512)


def _body(x: Any, depths: tuple[int, ...]) -> Any:
    for block, (filters, depth) in enumerate(zip(_FILTERS, depths), 1):
        for number in range(1, depth + 1):
            x = conv(x, filters, 3, f"block{block}_conv{number}", padding="same", use_bias=True, activation="relu")
        x = MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
    return x


def _top(x: Any, classes: int) -> Any:
    x = Flatten(name="flatten")(x)
    for number in (1, 2):
        x = Dense(4096, activation="relu", name=f"fc{number}")(x)
    return Dense(classes, activation="softmax", name="predictions")(x)


VGG16, VGG19 = (application(name.upper(), Architecture(name, partial(_body, depths=depths),
                                                  f"{RELEASES}/v0.1/{name}_weights_tf_dim_ordering_tf_kernels.h5", _top))
                for name, depths in (("vgg16", (2, 2, 3, 3, 3)), ("vgg19", (2, 2, 4, 4, 4))))
