"""NASNet-A: cells of five sums, which a search has found.

A cell gets two tensors: the output of the cell before it, and that of the one before that, adjusted to the shape of the other.
"""
from __future__ import annotations

from functools import partial
from typing import Any

from penstock.graph.scopes import name_scope
from penstock.keras.applications import blocks
from penstock.keras.applications.blocks import channels, classify, concat, extents, pad, pad_for_stride, relu
from penstock.keras.applications.network import ApplicationOptions, Architecture, build
from penstock.keras.engine.model import Model
from penstock.keras.layers.merge import Add
from penstock.keras.layers.resizing import Cropping2D
from penstock.layers.pooling import AveragePooling2D, MaxPooling2D

_RELEASE = "https://github.com/titu1994/Keras-NASNet/releases/download/v1.2"
norm = partial(blocks.norm, momentum=0.9997, epsilon=1e-3)
conv = partial(blocks.conv, kernel_initializer="he_normal")
separable = partial(blocks.separable, kernel_initializer="he_normal")


def _separable_block(x: Any, filters: int, size: int, name: str, strides: int = 1) -> Any:
    """Two separable convolutions, each after a ReLU."""
    with name_scope(f"separable_conv_block_{name}"):
        x, padding = relu(x), "same"
        if strides == 2:
            x, padding = pad_for_stride(x, size, f"separable_conv_1_pad_{name}"), "valid"
        x = norm(separable(x, filters, size, f"separable_conv_1_{name}", strides, padding), f"separable_conv_1_bn_{name}")
        return norm(separable(relu(x), filters, size, f"separable_conv_2_{name}"), f"separable_conv_2_bn_{name}")


def _adjust(before: Any, x: Any, filters: int, cell: str) -> Any:
    """The earlier tensor, in the height and width of ``x``."""
    with name_scope("adjust_block"):
        if before is None:
            return x
        if extents(before)[1] != extents(x)[1]:
            with name_scope(f"adjust_reduction_block_{cell}"):
                return _halve(relu(before, f"adjust_relu_1_{cell}"), filters, cell)
        if channels(before) != filters:
            with name_scope(f"adjust_projection_block_{cell}"):
                return norm(conv(relu(before), filters, 1, f"adjust_conv_projection_{cell}", padding="same"), f"adjust_bn_{cell}")
        return before


def _halve(x: Any, filters: int, cell: str) -> Any:
    """Every second pixel, and, beside it, every second one of the image that is shifted by one."""
    halves = []
    for number in (1, 2):
        image = x if number == 1 else Cropping2D(((1, 0), (1, 0)))(pad(x, 0, 1))
        image = AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_{number}_{cell}")(image)
        halves.append(conv(image, filters // 2, 1, f"adjust_conv_{number}_{cell}", padding="same"))
    return norm(concat(halves), f"adjust_bn_{cell}")


def _average(x: Any, name: str, strides: int = 1) -> Any:
    return AveragePooling2D(3, strides=strides, padding="same" if strides == 1 else "valid", name=name)(x)


def _normal(x: Any, before: Any, filters: int, cell: str) -> tuple[Any, Any]:
    """A cell that keeps height and width: (its output, its input)."""
    def add(number: int, left: Any, right: Any) -> Any:
        return Add(name=f"normal_add_{number}_{cell}")([left, right])

    def twice(tensor: Any, size: int, side: str) -> Any:
        return _separable_block(tensor, filters, size, f"normal_{side}_{cell}")

    with name_scope(f"normal_A_block_{cell}"):
        p = _adjust(before, x, filters, cell)
        h = norm(conv(relu(x), filters, 1, f"normal_conv_1_{cell}", padding="same"), f"normal_bn_1_{cell}")
        with name_scope("block_1"):
            first = add(1, twice(h, 5, "left1"), twice(p, 3, "right1"))
        with name_scope("block_2"):
            second = add(2, twice(p, 5, "left2"), twice(p, 3, "right2"))
        with name_scope("block_3"):
            third = add(3, _average(h, f"normal_left3_{cell}"), p)
        with name_scope("block_4"):
            fourth = add(4, _average(p, f"normal_left4_{cell}"), _average(p, f"normal_right4_{cell}"))
        with name_scope("block_5"):
            fifth = add(5, twice(h, 3, "left5"), h)
        return concat([p, first, second, third, fourth, fifth], f"normal_concat_{cell}"), x


def _reduction(x: Any, before: Any, filters: int, cell: str) -> tuple[Any, Any]:
    """A cell that halves height and width: (its output, its input)."""
    def twice(tensor: Any, size: int, side: str, strides: int = 2) -> Any:
        return _separable_block(tensor, filters, size, f"reduction_{side}_{cell}", strides)

    def largest(side: str) -> Any:
        return MaxPooling2D(3, strides=2, name=f"reduction_{side}_{cell}")(padded)

    with name_scope(f"reduction_A_block_{cell}"):
        p = _adjust(before, x, filters, cell)
        h = norm(conv(relu(x), filters, 1, f"reduction_conv_1_{cell}", padding="same"), f"reduction_bn_1_{cell}")
        padded = pad_for_stride(h, 3, f"reduction_pad_1_{cell}")
        with name_scope("block_1"):
            first = Add(name=f"reduction_add_1_{cell}")([twice(h, 5, "left1"), twice(p, 7, "right1")])
        with name_scope("block_2"):
            second = Add(name=f"reduction_add_2_{cell}")([largest("left2"), twice(p, 7, "right2")])
        with name_scope("block_3"):
            third = Add(name=f"reduction_add3_{cell}")([_average(padded, f"reduction_left3_{cell}", 2), twice(p, 5, "right3")])
        with name_scope("block_4"):
            fourth = Add()([second, _average(first, f"reduction_left4_{cell}")])
        with name_scope("block_5"):
            fifth = Add(name=f"reduction_add4_{cell}")([twice(first, 3, "left4", 1), largest("right5")])
        return concat([second, third, fourth, fifth], f"reduction_concat_{cell}"), x


def _body(x: Any, filters: int, count: int, stem: int, skip: bool) -> Any:
    """Three rounds of ``count`` normal cells, with reductions between them. ``skip``: the cell behind a reduction sees what that one saw last."""
    x = norm(conv(x, stem, 3, "stem_conv1", 2), "stem_bn1")
    x, before = _reduction(x, None, filters // 4, "stem_1")
    x, before = _reduction(x, before, filters // 2, "stem_2")
    for turn in range(3):
        if turn:
            x, reduced = _reduction(x, before, filters << turn, f"reduce_{turn * count}")
            before = before if skip else reduced
        for number in range(count):
            x, before = _normal(x, before, filters << turn, str(turn * count + number + min(turn, 1)))
    return relu(x)


def _nasnet(kind: str, filters: int, count: int, stem: int, skip: bool, size: int, options: ApplicationOptions) -> Model:
    network = Architecture("NASNet", partial(_body, filters=filters, count=count, stem=stem, skip=skip), f"{_RELEASE}/NASNet-{kind}.h5",
                      partial(classify, pool=None), size, without_top="-no-top", static=True)
    return build(network, options)


def NASNetLarge(input_shape: Any = None, include_top: bool = True, weights: str | None = "imagenet", input_tensor: Any = None,
                pooling: str | None = None, classes: int = 1000) -> Model:
    """``tf.keras.applications.NASNetLarge``. ``weights``: None, a path, or "imagenet", whose file must be in the cache."""
    return _nasnet("large", 168, 6, 96, True, 331, ApplicationOptions(include_top, weights, input_tensor, input_shape, pooling, classes))


def NASNetMobile(input_shape: Any = None, include_top: bool = True, weights: str | None = "imagenet", input_tensor: Any = None,
                 pooling: str | None = None, classes: int = 1000) -> Model:
    """``tf.keras.applications.NASNetMobile``. ``weights``: None, a path, or "imagenet", whose file must be in the cache."""
    return _nasnet("mobile", 44, 4, 32, False, 224, ApplicationOptions(include_top, weights, input_tensor, input_shape, pooling, classes))
