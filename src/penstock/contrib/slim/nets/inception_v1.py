"""Inception v1, GoogLeNet: "Going deeper with convolutions" (Szegedy et al., 2014), with batch normalisation."""
from __future__ import annotations

from typing import Any

from penstock.contrib.framework.arg_scope import Scope, arg_scope
from penstock.contrib.layers.batch_norm import batch_norm
from penstock.contrib.layers.connected import fully_connected
from penstock.contrib.layers.convolutions import conv2d
from penstock.contrib.layers.pooling import avg_pool2d, max_pool2d
from penstock.contrib.layers.shaping import dropout, softmax
from penstock.contrib.slim.nets.arg_scopes import inception_arg_scope
from penstock.contrib.slim.nets.tables import Layer, conv, max_pool, mixed, run_to
from penstock.ops.array.shape_ops import squeeze
from penstock.variables.initializers import TruncatedNormal
from penstock.variables.scope import variable_scope


def _mixed(name: str, first: int, second: tuple[int, int], third: tuple[int, int], fourth: int,
           third_name: str = "Conv2d_0b_3x3") -> tuple[str, Layer]:
    """The module of this network: depths of a 1x1, of two pairs of a 1x1 and a 3x3, and of a pooled 1x1."""
    return name, mixed(
        name, [conv("Conv2d_0a_1x1", first)], [conv("Conv2d_0a_1x1", second[0]), conv("Conv2d_0b_3x3", second[1])],
        [conv("Conv2d_0a_1x1", third[0]), conv(third_name, third[1])], [max_pool("MaxPool_0a_3x3"), conv("Conv2d_0b_1x1", fourth)])


TABLE: list[tuple[str, Layer]] = [
    ("Conv2d_1a_7x7", conv("Conv2d_1a_7x7", 64, stride=2)),
    ("MaxPool_2a_3x3", max_pool("MaxPool_2a_3x3", stride=2)),
    ("Conv2d_2b_1x1", conv("Conv2d_2b_1x1", 64)),
    ("Conv2d_2c_3x3", conv("Conv2d_2c_3x3", 192)),
    ("MaxPool_3a_3x3", max_pool("MaxPool_3a_3x3", stride=2)),
    _mixed("Mixed_3b", 64, (96, 128), (16, 32), 32),
    _mixed("Mixed_3c", 128, (128, 192), (32, 96), 64),
    ("MaxPool_4a_3x3", max_pool("MaxPool_4a_3x3", stride=2)),
    _mixed("Mixed_4b", 192, (96, 208), (16, 48), 64),
    _mixed("Mixed_4c", 160, (112, 224), (24, 64), 64),
    _mixed("Mixed_4d", 128, (128, 256), (24, 64), 64),
    _mixed("Mixed_4e", 112, (144, 288), (32, 64), 64),
    _mixed("Mixed_4f", 256, (160, 320), (32, 128), 128),
    ("MaxPool_5a_2x2", max_pool("MaxPool_5a_2x2", stride=2)),
    _mixed("Mixed_5b", 256, (160, 320), (32, 128), 128, third_name="Conv2d_0a_3x3"),
    _mixed("Mixed_5c", 384, (192, 384), (48, 128), 128),
]


def inception_v1_base(inputs: Any, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1") -> tuple[Any, dict[str, Any]]:
    """(net, {name: output}) up to a layer, without the classifier."""
    end_points: dict[str, Any] = {}
    with variable_scope(scope, "InceptionV1", [inputs]), \
            arg_scope([conv2d, fully_connected], weights_initializer=TruncatedNormal(0.0, 0.01)), \
            arg_scope([conv2d, max_pool2d], stride=1, padding="SAME"):
        net, reached = run_to(final_endpoint, inputs, TABLE, lambda depth: depth, end_points)
    if not reached:
        raise ValueError(f"Unknown final endpoint {final_endpoint}")
    return net, end_points


def inception_v1(inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.8, prediction_fn: Any = softmax,
                 spatial_squeeze: bool = True, reuse: Any = None, scope: Any = "InceptionV1") -> tuple[Any, dict[str, Any]]:
    """(logits, {name: output}) of images of 224 x 224 pixels."""
    with variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as opened, \
            arg_scope([batch_norm, dropout], is_training=is_training):
        net, end_points = inception_v1_base(inputs, scope=opened)
        with variable_scope("Logits"):
            net = avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            net = dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="Conv2d_0c_1x1")
            if spatial_squeeze:
                logits = squeeze(logits, [1, 2], name="SpatialSqueeze")
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v1.default_image_size = 224  # type: ignore[attr-defined]


def inception_v1_arg_scope(weight_decay: float = 0.00004, use_batch_norm: bool = True, batch_norm_var_collection: str = "moving_vars") -> Scope:
    """The argument scope of the network."""
    return inception_arg_scope(weight_decay, batch_norm_var_collection, use_batch_norm)
