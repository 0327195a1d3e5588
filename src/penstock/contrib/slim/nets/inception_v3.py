"""Inception v3: "Rethinking the Inception Architecture" (Szegedy et al., 2015); windows of n x n become 1 x n and n x 1."""
from __future__ import annotations

from typing import Any

from penstock.contrib.framework.arg_scope import Scope, arg_scope
from penstock.contrib.layers.batch_norm import batch_norm
from penstock.contrib.layers.convolutions import conv2d
from penstock.contrib.layers.pooling import avg_pool2d, max_pool2d
from penstock.contrib.layers.shaping import dropout, softmax
from penstock.contrib.slim.nets.arg_scopes import inception_arg_scope
from penstock.contrib.slim.nets.tables import Layer, Scaled, avg_pool, conv, depth_scale, fitting_window, fork, max_pool, mixed, run_to
from penstock.graph.keys import GraphKeys
from penstock.ops.array.shape_ops import squeeze
from penstock.variables.initializers import TruncatedNormal
from penstock.variables.scope import variable_scope

_REDUCTION: dict[str, Any] = {"stride": 2, "padding": "VALID"}


def _mixed_5(name: str, pooled: int, second: tuple[str, str] = ("Conv2d_0a_1x1", "Conv2d_0b_5x5")) -> tuple[str, Layer]:
    """Images of 35 x 35: a 1x1, a 5x5, two 3x3, and a pooled 1x1."""
    return name, mixed(
        name, [conv("Conv2d_0a_1x1", 64)], [conv(second[0], 48), conv(second[1], 64)],
        [conv("Conv2d_0a_1x1", 64), conv("Conv2d_0b_3x3", 96), conv("Conv2d_0c_3x3", 96)],
        [avg_pool("AvgPool_0a_3x3"), conv("Conv2d_0b_1x1", pooled)])


def _mixed_6(name: str, depth: int) -> tuple[str, Layer]:
    """Images of 17 x 17: windows of seven in a row."""
    return name, mixed(
        name, [conv("Conv2d_0a_1x1", 192)], [conv("Conv2d_0a_1x1", depth), conv("Conv2d_0b_1x7", depth), conv("Conv2d_0c_7x1", 192)],
        [conv("Conv2d_0a_1x1", depth), conv("Conv2d_0b_7x1", depth), conv("Conv2d_0c_1x7", depth), conv("Conv2d_0d_7x1", depth),
         conv("Conv2d_0e_1x7", 192)],
        [avg_pool("AvgPool_0a_3x3"), conv("Conv2d_0b_1x1", 192)])


def _mixed_7(name: str, second: str) -> tuple[str, Layer]:
    """Images of 8 x 8: windows of three in a row, side by side."""
    return name, mixed(
        name, [conv("Conv2d_0a_1x1", 320)], [conv("Conv2d_0a_1x1", 384), fork(conv("Conv2d_0b_1x3", 384), conv(second, 384))],
        [conv("Conv2d_0a_1x1", 448), conv("Conv2d_0b_3x3", 384), fork(conv("Conv2d_0c_1x3", 384), conv("Conv2d_0d_3x1", 384))],
        [avg_pool("AvgPool_0a_3x3"), conv("Conv2d_0b_1x1", 192)])


STEM: list[tuple[str, Layer]] = [
    ("Conv2d_1a_3x3", conv("Conv2d_1a_3x3", 32, stride=2)),
    ("Conv2d_2a_3x3", conv("Conv2d_2a_3x3", 32)),
    ("Conv2d_2b_3x3", conv("Conv2d_2b_3x3", 64, padding="SAME")),
    ("MaxPool_3a_3x3", max_pool("MaxPool_3a_3x3", stride=2)),
    ("Conv2d_3b_1x1", conv("Conv2d_3b_1x1", 80)),
    ("Conv2d_4a_3x3", conv("Conv2d_4a_3x3", 192)),
    ("MaxPool_5a_3x3", max_pool("MaxPool_5a_3x3", stride=2)),
]
BLOCKS: list[tuple[str, Layer]] = [
    _mixed_5("Mixed_5b", 32),
    _mixed_5("Mixed_5c", 64, ("Conv2d_0b_1x1", "Conv_1_0c_5x5")),
    _mixed_5("Mixed_5d", 64),
    ("Mixed_6a", mixed(
        "Mixed_6a", [conv("Conv2d_1a_1x1", 384, [3, 3], **_REDUCTION)],
        [conv("Conv2d_0a_1x1", 64), conv("Conv2d_0b_3x3", 96), conv("Conv2d_1a_1x1", 96, [3, 3], **_REDUCTION)],
        [max_pool("MaxPool_1a_3x3", **_REDUCTION)])),
    _mixed_6("Mixed_6b", 128),
    _mixed_6("Mixed_6c", 160),
    _mixed_6("Mixed_6d", 160),
    _mixed_6("Mixed_6e", 192),
    ("Mixed_7a", mixed(
        "Mixed_7a", [conv("Conv2d_0a_1x1", 192), conv("Conv2d_1a_3x3", 320, **_REDUCTION)],
        [conv("Conv2d_0a_1x1", 192), conv("Conv2d_0b_1x7", 192), conv("Conv2d_0c_7x1", 192), conv("Conv2d_1a_3x3", 192, **_REDUCTION)],
        [max_pool("MaxPool_1a_3x3", **_REDUCTION)])),
    _mixed_7("Mixed_7b", "Conv2d_0b_3x1"),
    _mixed_7("Mixed_7c", "Conv2d_0c_3x1"),
]


def inception_v3_base(inputs: Any, final_endpoint: str = "Mixed_7c", min_depth: int = 16, depth_multiplier: float = 1.0,
                      scope: Any = None) -> tuple[Any, dict[str, Any]]:
    """(net, {name: output}) up to a layer, without the classifier."""
    end_points: dict[str, Any] = {}
    scaled = depth_scale(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV3", [inputs]):
        net, reached = inputs, False
        for table, padding in ((STEM, "VALID"), (BLOCKS, "SAME")):
            if not reached:
                with arg_scope([conv2d, max_pool2d, avg_pool2d], stride=1, padding=padding):
                    net, reached = run_to(final_endpoint, net, table, scaled, end_points)
    if not reached:
        raise ValueError(f"Unknown final endpoint {final_endpoint}")
    return net, end_points


def _auxiliary_logits(net: Any, num_classes: int, scaled: Scaled, spatial_squeeze: bool) -> Any:
    """A classifier half way up, which helps the lower layers to learn."""
    with arg_scope([conv2d, max_pool2d, avg_pool2d], stride=1, padding="SAME"), variable_scope("AuxLogits"):
        net = avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = conv2d(net, scaled(128), [1, 1], scope="Conv2d_1b_1x1")
        height, width = fitting_window(net, [5, 5])
        net = conv2d(net, scaled(768), [height, width], weights_initializer=TruncatedNormal(0.0, 0.01), padding="VALID",
                     scope=f"Conv2d_2a_{height}x{width}")
        net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, weights_initializer=TruncatedNormal(0.0, 0.001),
                     scope="Conv2d_2b_1x1")
        return squeeze(net, [1, 2], name="SpatialSqueeze") if spatial_squeeze else net


def inception_v3(inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.8, min_depth: int = 16,
                 depth_multiplier: float = 1.0, prediction_fn: Any = softmax, spatial_squeeze: bool = True, reuse: Any = None,
                 scope: Any = "InceptionV3") -> tuple[Any, dict[str, Any]]:
    """(logits, {name: output}) of images of 299 x 299 pixels."""
    scaled = depth_scale(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as opened, \
            arg_scope([batch_norm, dropout], is_training=is_training):
        net, end_points = inception_v3_base(inputs, scope=opened, min_depth=min_depth, depth_multiplier=depth_multiplier)
        end_points["AuxLogits"] = _auxiliary_logits(end_points["Mixed_6e"], num_classes, scaled, spatial_squeeze)
        with variable_scope("Logits"):
            height, width = fitting_window(net, [8, 8])
            net = avg_pool2d(net, [height, width], padding="VALID", scope=f"AvgPool_1a_{height}x{width}")
            net = end_points["PreLogits"] = dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            logits = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="Conv2d_1c_1x1")
            if spatial_squeeze:
                logits = squeeze(logits, [1, 2], name="SpatialSqueeze")
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v3.default_image_size = 299  # type: ignore[attr-defined]


def inception_v3_arg_scope(weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars", batch_norm_decay: float = 0.9997,
                           batch_norm_epsilon: float = 0.001, updates_collections: Any = GraphKeys.UPDATE_OPS,
                           use_fused_batchnorm: bool = True) -> Scope:
    """The argument scope of the network."""
    return inception_arg_scope(weight_decay, batch_norm_var_collection, True, batch_norm_decay, batch_norm_epsilon, updates_collections,
                               fused=use_fused_batchnorm)
