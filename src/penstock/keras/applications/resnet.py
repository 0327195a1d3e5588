"""ResNet, and ResNet V2, whose blocks normalize and rectify before each convolution."""
from __future__ import annotations

from functools import partial
from typing import Any

from penstock.keras.applications import blocks
from penstock.keras.applications.blocks import conv, pad, relu
from penstock.keras.applications.network import Architecture, application
from penstock.keras.layers.merge import Add
from penstock.layers.pooling import MaxPooling2D

_RELEASE = "https://github.com/keras-team/keras-applications/releases/download/resnet"
_FILTERS = (64, 128, 256, 512)
_DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
norm = partial(blocks.norm, epsilon=1.001e-5)


def _block(x: Any, filters: int, strides: int, first: bool, name: str) -> Any:
    """Three convolutions; the shortcut of the first block of a stack is a convolution, too."""
    shortcut = x
    if first:
        shortcut = norm(conv(x, 4 * filters, 1, f"{name}_0_conv", strides, use_bias=True), f"{name}_0_bn")
    x = relu(norm(conv(x, filters, 1, f"{name}_1_conv", strides, use_bias=True), f"{name}_1_bn"), f"{name}_1_relu")
    x = relu(norm(conv(x, filters, 3, f"{name}_2_conv", padding="same", use_bias=True), f"{name}_2_bn"), f"{name}_2_relu")
    x = norm(conv(x, 4 * filters, 1, f"{name}_3_conv", use_bias=True), f"{name}_3_bn")
    return relu(Add(name=f"{name}_add")([shortcut, x]), f"{name}_out")


def _block_v2(x: Any, filters: int, strides: int, first: bool, name: str) -> Any:
    """The same with the activations before the convolutions."""
    active = relu(norm(x, f"{name}_preact_bn"), f"{name}_preact_relu")
    if first:
        shortcut = conv(active, 4 * filters, 1, f"{name}_0_conv", strides, use_bias=True)
    else:
        shortcut = MaxPooling2D(1, strides=strides)(x) if strides > 1 else x
    x = relu(norm(conv(active, filters, 1, f"{name}_1_conv"), f"{name}_1_bn"), f"{name}_1_relu")
    x = relu(norm(conv(pad(x, 1, 1, f"{name}_2_pad"), filters, 3, f"{name}_2_conv", strides), f"{name}_2_bn"), f"{name}_2_relu")
    x = conv(x, 4 * filters, 1, f"{name}_3_conv", use_bias=True)
    return Add(name=f"{name}_out")([shortcut, x])


def _body(x: Any, depths: tuple[int, ...], v2: bool) -> Any:
    x = conv(pad(x, 3, 3, "conv1_pad"), 64, 7, "conv1_conv", 2, use_bias=True)
    if not v2:
        x = relu(norm(x, "conv1_bn"), "conv1_relu")
    x = MaxPooling2D(3, strides=2, name="pool1_pool")(pad(x, 1, 1, "pool1_pad"))
    for stack, (filters, depth) in enumerate(zip(_FILTERS, depths), 2):
        # The images of a stack get smaller in its first block; in V2, whose last stack keeps them as they are, in its last one.
        smaller = (depth if stack < 5 else 0) if v2 else (1 if stack > 2 else 0)
        for number in range(1, depth + 1):
            x = (_block_v2 if v2 else _block)(x, filters, 2 if number == smaller else 1, number == 1, f"conv{stack}_block{number}")
    return relu(norm(x, "post_bn"), "post_relu") if v2 else x


def _network(depth: int, version: str = "") -> Any:
    name = f"resnet{depth}{version.lower()}"
    return application(f"ResNet{depth}{version}", Architecture(
        name, partial(_body, depths=_DEPTHS[depth], v2=bool(version)), f"{_RELEASE}/{name}_weights_tf_dim_ordering_tf_kernels.h5",
        partial(blocks.classify, name="probs"), pooling_names=("avg_pool", "max_pool")))


ResNet50, ResNet101, ResNet152 = map(_network, _DEPTHS)
ResNet50V2, ResNet101V2, ResNet152V2 = (_network(depth, "V2") for depth in _DEPTHS)
