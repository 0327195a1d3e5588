"""InceptionV3 and InceptionResNetV2: modules of branches, written as tables.

A branch is a sequence of steps. ``(64, 3)`` is a convolution with 64 filters of 3x3, batch normalization and ReLU; ``(64, 3, 2)`` one with strides
of 2 and without padding; AVERAGE and MAX are poolings; a Fork goes on in two branches. Layers without names are numbered in the order in which
they are made, so the order of branches matters.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.keras.applications import blocks
from penstock.keras.applications.blocks import channels, concat, relu
from penstock.keras.applications.network import RELEASES, Architecture, application
from penstock.keras.layers.core import Activation
from penstock.keras.layers.function import Lambda
from penstock.layers.pooling import AveragePooling2D, MaxPooling2D

AVERAGE, MAX = "average", "max"
Branch = tuple[Any, ...]


class Fork(NamedTuple):
    """Two branches, concatenated."""

    branches: tuple[Branch, Branch]
    name: str | None = None


def conv(x: Any, filters: int, size: Any, strides: int = 1, padding: str | None = None, name: str | None = None) -> Any:
    """A convolution, batch normalization and ReLU."""
    x = blocks.conv(x, filters, size, name, strides, padding or ("same" if strides == 1 else "valid"))
    return relu(blocks.norm(x, name and f"{name}_bn", scale=False), name and f"{name}_ac")


def _step(x: Any, step: Any) -> Any:
    if step == AVERAGE:
        return AveragePooling2D(3, strides=1, padding="same")(x)
    if step == MAX:
        return MaxPooling2D(3, strides=2)(x)
    return mixed(x, step.branches, step.name) if isinstance(step, Fork) else conv(x, *step)


def mixed(x: Any, branches: tuple[Branch, ...], name: str | None) -> Any:
    """Branches over the same input, concatenated."""
    ends = []
    for branch in branches:
        end = x
        for step in branch:
            end = _step(end, step)
        ends.append(end)
    return concat(ends, name)


def _stem(x: Any) -> Any:
    """What both networks begin with."""
    x = conv(conv(conv(x, 32, 3, 2), 32, 3, padding="valid"), 64, 3)
    x = conv(conv(_step(x, MAX), 80, 1, padding="valid"), 192, 3, padding="valid")
    return _step(x, MAX)


# --- InceptionV3 -----------------------------------------------------------------------------------------------------


def _a(after_pool: int, first: int = 64) -> tuple[Branch, ...]:
    return (((first, 1),), ((48, 1), (64, 5)), ((64, 1), (96, 3), (96, 3)), (AVERAGE, (after_pool, 1)))


def _b(inner: int) -> tuple[Branch, ...]:
    row, column = (1, 7), (7, 1)
    return (((192, 1),), ((inner, 1), (inner, row), (192, column)),
            ((inner, 1), (inner, column), (inner, row), (inner, column), (192, row)), (AVERAGE, (192, 1)))


def _c(name: str) -> tuple[Branch, ...]:
    wide = (((384, (1, 3)),), ((384, (3, 1)),))
    return (((320, 1),), ((384, 1), Fork(wide, name)), ((448, 1), (384, 3), Fork(wide)), (AVERAGE, (192, 1)))


_MODULES: tuple[tuple[Branch, ...], ...] = (
    _a(32), _a(64), _a(64),
    (((384, 3, 2),), ((64, 1), (96, 3), (96, 3, 2)), (MAX,)),
    _b(128), _b(160), _b(160), _b(192),
    (((192, 1), (320, 3, 2)), ((192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2)), (MAX,)),
    _c("mixed9_0"), _c("mixed9_1"),
)


def _v3(x: Any) -> Any:
    x = _stem(x)
    for number, branches in enumerate(_MODULES):
        x = mixed(x, branches, f"mixed{number}")
    return x


InceptionV3 = application("InceptionV3", Architecture("inception_v3", _v3, f"{RELEASES}/v0.5/inception_v3_weights_tf_dim_ordering_tf_kernels.h5",
                                                 size=299, smallest=75))

# --- InceptionResNetV2 -----------------------------------------------------------------------------------------------

_RESIDUAL: dict[str, tuple[Branch, ...]] = {
    "block35": (((32, 1),), ((32, 1), (32, 3)), ((32, 1), (48, 3), (64, 3))),
    "block17": (((192, 1),), ((128, 1), (160, (1, 7)), (192, (7, 1)))),
    "block8": (((192, 1),), ((192, 1), (224, (1, 3)), (256, (3, 1)))),
}
# A module that changes shapes, then a residual block, how often it is repeated, and the scale of its residuals.
_STAGES: tuple[tuple[str, tuple[Branch, ...], str, int, float], ...] = (
    ("mixed_5b", _a(64, first=96), "block35", 10, 0.17),
    ("mixed_6a", (((384, 3, 2),), ((256, 1), (256, 3), (384, 3, 2)), (MAX,)), "block17", 20, 0.1),
    ("mixed_7a", (((256, 1), (384, 3, 2)), ((256, 1), (288, 3, 2)), ((256, 1), (288, 3), (320, 3, 2)), (MAX,)), "block8", 9, 0.2),
)


def _add_scaled(inputs: Any, scale: float) -> Any:
    return inputs[0] + inputs[1] * scale


def _residual(x: Any, kind: str, number: int, scale: float, activation: str | None = "relu") -> Any:
    name = f"{kind}_{number}"
    up = blocks.conv(mixed(x, _RESIDUAL[kind], f"{name}_mixed"), channels(x), 1, f"{name}_conv", padding="same", use_bias=True)
    x = Lambda(_add_scaled, output_shape=tuple(x.shape.as_list()[1:]), arguments={"scale": scale}, name=name)([x, up])
    return x if activation is None else Activation(activation, name=f"{name}_ac")(x)


def _resnet_v2(x: Any) -> Any:
    x = _stem(x)
    for name, branches, kind, count, scale in _STAGES:
        x = mixed(x, branches, name)
        for number in range(1, count + 1):
            x = _residual(x, kind, number, scale)
    return conv(_residual(x, "block8", 10, 1.0, None), 1536, 1, name="conv_7b")


InceptionResNetV2 = application("InceptionResNetV2", Architecture(
    "inception_resnet_v2", _resnet_v2, f"{RELEASES}/v0.7/inception_resnet_v2_weights_tf_dim_ordering_tf_kernels.h5", size=299, smallest=75))
