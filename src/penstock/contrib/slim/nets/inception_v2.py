"""Inception v2: "Batch Normalization" (Ioffe and Szegedy, 2015); its first layer is a separable convolution."""
from __future__ import annotations

from typing import Any

from penstock.contrib.framework.arg_scope import Scope, arg_scope
from penstock.contrib.layers.batch_norm import batch_norm
from penstock.contrib.layers.convolutions import conv2d, separable_conv2d
from penstock.contrib.layers.pooling import avg_pool2d, max_pool2d
from penstock.contrib.layers.shaping import dropout, softmax
from penstock.contrib.slim.nets.arg_scopes import inception_arg_scope
from penstock.contrib.slim.nets.tables import Layer, Scaled, avg_pool, conv, depth_scale, fitting_window, max_pool, mixed, run_to
from penstock.ops.array.shape_ops import squeeze
from penstock.variables.initializers import TruncatedNormal
from penstock.variables.scope import variable_scope


def _weights(deviation: float) -> dict[str, Any]:
    """Weights that start with this deviation."""
    return {"weights_initializer": TruncatedNormal(0.0, deviation)}


def _first(net: Any, scaled: Scaled) -> Any:
    return separable_conv2d(net, scaled(64), [7, 7], depth_multiplier=min(int(scaled(64) / 3), 8), stride=2, scope="Conv2d_1a_7x7",
                            **_weights(1.0))


def _mixed(name: str, first: int, second: tuple[int, int], third: tuple[int, int], fourth: int, pool: Any = None) -> tuple[str, Layer]:
    """Depths of a 1x1, of a 1x1 and a 3x3, of a 1x1 and two 3x3, and of a pooled 1x1."""
    return name, mixed(
        name, [conv("Conv2d_0a_1x1", first)], [conv("Conv2d_0a_1x1", second[0], **_weights(0.09)), conv("Conv2d_0b_3x3", second[1])],
        [conv("Conv2d_0a_1x1", third[0], **_weights(0.09)), conv("Conv2d_0b_3x3", third[1]), conv("Conv2d_0c_3x3", third[1])],
        [pool or avg_pool("AvgPool_0a_3x3"), conv("Conv2d_0b_1x1", fourth, **_weights(0.1))])


def _reduction(name: str, first: tuple[int, int], second: tuple[int, int]) -> tuple[str, Layer]:
    """The same with stride 2: half the size of the image."""
    return name, mixed(
        name, [conv("Conv2d_0a_1x1", first[0], **_weights(0.09)), conv("Conv2d_1a_3x3", first[1], stride=2)],
        [conv("Conv2d_0a_1x1", second[0], **_weights(0.09)), conv("Conv2d_0b_3x3", second[1]), conv("Conv2d_1a_3x3", second[1], stride=2)],
        [max_pool("MaxPool_1a_3x3", stride=2)])


TABLE: list[tuple[str, Layer]] = [
    ("Conv2d_1a_7x7", _first),
    ("MaxPool_2a_3x3", max_pool("MaxPool_2a_3x3", stride=2)),
    ("Conv2d_2b_1x1", conv("Conv2d_2b_1x1", 64, **_weights(0.1))),
    ("Conv2d_2c_3x3", conv("Conv2d_2c_3x3", 192)),
    ("MaxPool_3a_3x3", max_pool("MaxPool_3a_3x3", stride=2)),
    _mixed("Mixed_3b", 64, (64, 64), (64, 96), 32),
    _mixed("Mixed_3c", 64, (64, 96), (64, 96), 64),
    _reduction("Mixed_4a", (128, 160), (64, 96)),
    _mixed("Mixed_4b", 224, (64, 96), (96, 128), 128),
    _mixed("Mixed_4c", 192, (96, 128), (96, 128), 128),
    _mixed("Mixed_4d", 160, (128, 160), (128, 160), 96),
    _mixed("Mixed_4e", 96, (128, 192), (160, 192), 96),
    _reduction("Mixed_5a", (128, 192), (192, 256)),
    _mixed("Mixed_5b", 352, (192, 320), (160, 224), 128),
    _mixed("Mixed_5c", 352, (192, 320), (192, 224), 128, pool=max_pool("MaxPool_0a_3x3")),
]


def inception_v2_base(inputs: Any, final_endpoint: str = "Mixed_5c", min_depth: int = 16, depth_multiplier: float = 1.0,
                      scope: Any = None) -> tuple[Any, dict[str, Any]]:
    """(net, {name: output}) up to a layer, without the classifier."""
    end_points: dict[str, Any] = {}
    scaled = depth_scale(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV2", [inputs]), \
            arg_scope([conv2d, max_pool2d, avg_pool2d, separable_conv2d], stride=1, padding="SAME"):
        net, reached = run_to(final_endpoint, inputs, TABLE, scaled, end_points)
    if not reached:
        raise ValueError(f"Unknown final endpoint {final_endpoint}")
    return net, end_points


def inception_v2(inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.8, min_depth: int = 16,
                 depth_multiplier: float = 1.0, prediction_fn: Any = softmax, spatial_squeeze: bool = True, reuse: Any = None,
                 scope: Any = "InceptionV2") -> tuple[Any, dict[str, Any]]:
    """(logits, {name: output}) of images of 224 x 224 pixels."""
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    with variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as opened, \
            arg_scope([batch_norm, dropout], is_training=is_training):
        net, end_points = inception_v2_base(inputs, scope=opened, min_depth=min_depth, depth_multiplier=depth_multiplier)
        with variable_scope("Logits"):
            height, width = fitting_window(net, [7, 7])
            net = avg_pool2d(net, [height, width], padding="VALID", scope=f"AvgPool_1a_{height}x{width}")
            net = dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            logits = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="Conv2d_1c_1x1")
            if spatial_squeeze:
                logits = squeeze(logits, [1, 2], name="SpatialSqueeze")
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v2.default_image_size = 224  # type: ignore[attr-defined]


def inception_v2_arg_scope(weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars") -> Scope:
    """The argument scope of the network."""
    return inception_arg_scope(weight_decay, batch_norm_var_collection)
