"""DenseNet: each convolution of a block sees the outputs of all earlier ones."""
from __future__ import annotations

from functools import partial
from typing import Any

from penstock.keras.applications import blocks
from penstock.keras.applications.blocks import channels, concat, conv, pad, relu
from penstock.keras.applications.network import Architecture, application
from penstock.layers.pooling import AveragePooling2D, MaxPooling2D

_RELEASE = "https://github.com/keras-team/keras-applications/releases/download/densenet"
_GROWTH = 32  # the channels that each convolution adds
norm = partial(blocks.norm, epsilon=1.001e-5)


def _dense(x: Any, name: str) -> Any:
    """Adds channels."""
    inner = conv(relu(norm(x, f"{name}_0_bn"), f"{name}_0_relu"), 4 * _GROWTH, 1, f"{name}_1_conv")
    inner = conv(relu(norm(inner, f"{name}_1_bn"), f"{name}_1_relu"), _GROWTH, 3, f"{name}_2_conv", padding="same")
    return concat([x, inner], f"{name}_concat")


def _transition(x: Any, name: str) -> Any:
    """Halves channels, height and width."""
    x = relu(norm(x, f"{name}_bn"), f"{name}_relu")
    return AveragePooling2D(2, strides=2, name=f"{name}_pool")(conv(x, channels(x) // 2, 1, f"{name}_conv"))


def _body(x: Any, depths: tuple[int, ...]) -> Any:
    x = relu(norm(conv(pad(x, 3, 3), 64, 7, "conv1/conv", 2), "conv1/bn"), "conv1/relu")
    x = MaxPooling2D(3, strides=2, name="pool1")(pad(x, 1, 1))
    for block, depth in enumerate(depths, 2):
        for number in range(1, depth + 1):
            x = _dense(x, f"conv{block}_block{number}")
        if block <= len(depths):
            x = _transition(x, f"pool{block}")
    return relu(norm(x, "bn"), "relu")


DenseNet121, DenseNet169, DenseNet201 = (
    application(f"DenseNet{depth}", Architecture(f"densenet{depth}", partial(_body, depths=depths),
                                            f"{_RELEASE}/densenet{depth}_weights_tf_dim_ordering_tf_kernels.h5",
                                            partial(blocks.classify, name="fc1000"), pooling_names=("avg_pool", "max_pool")))
    for depth, depths in ((121, (6, 12, 24, 16)), (169, (6, 12, 32, 32)), (201, (6, 12, 48, 32))))
