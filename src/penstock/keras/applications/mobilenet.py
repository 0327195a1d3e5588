"""MobileNet and MobileNetV2: depthwise convolutions, in widths that ``alpha`` scales."""
from __future__ import annotations

from functools import partial
from typing import Any

from penstock.keras.applications import blocks
from penstock.keras.applications.blocks import channel_axis, channels, classify, conv, depthwise, pad, pad_for_stride, relu6
from penstock.keras.applications.network import RELEASES, ApplicationOptions, Architecture, build, image_shape
from penstock.keras.engine.input_layer import is_keras_tensor
from penstock.keras.engine.model import Model
from penstock.keras.layers.core import Activation, Reshape
from penstock.keras.layers.global_pooling import GlobalAveragePooling2D
from penstock.keras.layers.merge import Add
from penstock.layers.dense import Dropout
from penstock.platform import logging

_SIZES = (128, 160, 192, 224)  # of the images that there are weights for


def _rows(network: Architecture, options: ApplicationOptions, sizes: tuple[int, ...]) -> tuple[Architecture, Any]:
    """(the network for the size of these images, their rows): both are in the name of the model, and in that of its weights."""
    first, shape = channel_axis() == 1, options.input_shape
    if shape is None and options.input_tensor is not None and is_keras_tensor(options.input_tensor):
        shape = options.input_tensor.shape.as_list()[1:]
    image = shape and (shape[1:] if first else shape[:2])
    network = network._replace(size=image[0] if image and image[0] == image[1] and image[0] in sizes else network.size)
    rows, columns = image_shape(network, options)[1 if first else 0:][:2]
    if options.weights == "imagenet" and (rows != columns or rows not in sizes):
        logging.warning("`input_shape` is undefined or non-square, or `rows` is not in %s. Weights for input shape (224, 224) will be loaded as the "
                        "default.", list(sizes))
        rows = 224
    return network, rows


# --- MobileNet -------------------------------------------------------------------------------------------------------

_STACK = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))  # (filters, strides)


def _body(x: Any, alpha: float, depth_multiplier: int) -> Any:
    x = relu6(blocks.norm(conv(pad(x, 0, 1, "conv1_pad"), int(32 * alpha), 3, "conv1", 2), "conv1_bn"), "conv1_relu")
    for number, (filters, strides) in enumerate(_STACK, 1):
        wide, narrow = f"conv_dw_{number}", f"conv_pw_{number}"
        x = x if strides == 1 else pad(x, 0, 1, f"conv_pad_{number}")
        x = relu6(blocks.norm(depthwise(x, wide, strides, depth_multiplier=depth_multiplier), f"{wide}_bn"), f"{wide}_relu")
        x = relu6(blocks.norm(conv(x, int(filters * alpha), 1, narrow, padding="same"), f"{narrow}_bn"), f"{narrow}_relu")
    return x


def _top(x: Any, classes: int, dropout: float) -> Any:
    depth, first = channels(x), channel_axis() == 1
    x = Reshape((depth, 1, 1) if first else (1, 1, depth), name="reshape_1")(GlobalAveragePooling2D()(x))
    x = conv(Dropout(dropout, name="dropout")(x), classes, 1, "conv_preds", padding="same", use_bias=True)
    return Activation("softmax", name="act_softmax")(Reshape((classes,), name="reshape_2")(x))


def MobileNet(input_shape: Any = None, alpha: float = 1.0, depth_multiplier: int = 1, dropout: float = 1e-3, include_top: bool = True,
              weights: str | None = "imagenet", input_tensor: Any = None, pooling: str | None = None, classes: int = 1000) -> Model:
    """``tf.keras.applications.MobileNet``. ``weights``: None, a path, or "imagenet", whose file must be in the cache."""
    options = ApplicationOptions(include_top, weights, input_tensor, input_shape, pooling, classes)
    network = Architecture("mobilenet", partial(_body, alpha=alpha, depth_multiplier=depth_multiplier), "", partial(_top, dropout=dropout),
                      without_top="_no_top")
    network, rows = _rows(network, options, _SIZES)
    if weights == "imagenet" and depth_multiplier != 1:
        raise ValueError("If imagenet weights are being loaded, depth multiplier must be 1")
    texts = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0", 0.25: "2_5"}
    if weights == "imagenet" and alpha not in texts:
        raise ValueError("If imagenet weights are being loaded, alpha can be one of`0.25`, `0.50`, `0.75` or `1.0` only.")
    return build(network._replace(name=f"mobilenet_{alpha:0.2f}_{rows}", weights=f"{RELEASES}/v0.6/mobilenet_{texts.get(alpha)}_{rows}_tf.h5"),
                 options)


# --- MobileNetV2 -----------------------------------------------------------------------------------------------------

_RELEASE_V2 = "https://github.com/JonathanCMitchell/mobilenet_v2_keras/releases/download/v1.1"
_ALPHAS_V2 = (0.35, 0.50, 0.75, 1.0, 1.3, 1.4)
_STACK_V2 = ((16, 1, 1), (24, 2, 2), (32, 2, 3), (64, 2, 4), (96, 1, 3), (160, 2, 3), (320, 1, 1))  # (filters, strides of the first block, blocks)
_norm_v2 = partial(blocks.norm, epsilon=1e-3, momentum=0.999)


def _divisible(value: float) -> int:
    """The multiple of 8 that is nearest, but not less than 9/10 of the value."""
    rounded = max(8, int(value + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * value else rounded


def _inverted_residual(x: Any, filters: int, strides: int, number: int) -> Any:
    """Expands the channels, convolves each, and projects them back; beside a shortcut where shapes allow it."""
    shortcut, depth, name = x, channels(x), f"block_{number}_" if number else "expanded_conv_"
    if number:
        x = relu6(_norm_v2(conv(x, 6 * depth, 1, f"{name}expand", padding="same"), f"{name}expand_BN"), f"{name}expand_relu")
    x = x if strides == 1 else pad_for_stride(x, 3, f"{name}pad")
    x = relu6(_norm_v2(depthwise(x, f"{name}depthwise", strides), f"{name}depthwise_BN"), f"{name}depthwise_relu")
    x = _norm_v2(conv(x, filters, 1, f"{name}project", padding="same"), f"{name}project_BN")
    return Add(name=f"{name}add")([shortcut, x]) if depth == filters and strides == 1 else x


def _body_v2(x: Any, alpha: float) -> Any:
    x = relu6(_norm_v2(conv(pad_for_stride(x, 3, "Conv1_pad"), _divisible(32 * alpha), 3, "Conv1", 2), "bn_Conv1"), "Conv1_relu")
    sequence = [(filters, strides if index == 0 else 1) for filters, strides, count in _STACK_V2 for index in range(count)]
    for number, (filters, strides) in enumerate(sequence):
        x = _inverted_residual(x, _divisible(int(filters * alpha)), strides, number)
    last = _divisible(1280 * alpha) if alpha > 1.0 else 1280
    return relu6(_norm_v2(conv(x, last, 1, "Conv_1"), "Conv_1_bn"), "out_relu")


def MobileNetV2(input_shape: Any = None, alpha: float = 1.0, include_top: bool = True, weights: str | None = "imagenet", input_tensor: Any = None,
                pooling: str | None = None, classes: int = 1000) -> Model:
    """``tf.keras.applications.MobileNetV2``. ``weights``: None, a path, or "imagenet", whose file must be in the cache."""
    options = ApplicationOptions(include_top, weights, input_tensor, input_shape, pooling, classes)
    network = Architecture("mobilenetv2", partial(_body_v2, alpha=alpha), "", partial(classify, pool=None, name="Logits"), without_top="_no_top")
    network, rows = _rows(network, options, (96, *_SIZES))
    if weights == "imagenet" and alpha not in _ALPHAS_V2:
        raise ValueError("If imagenet weights are being loaded, alpha can be one of `0.35`, `0.50`, `0.75`, `1.0`, `1.3` or `1.4` only.")
    return build(network._replace(name=f"mobilenetv2_{alpha:0.2f}_{rows}",
                                  weights=f"{_RELEASE_V2}/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{alpha}_{rows}.h5"), options)
