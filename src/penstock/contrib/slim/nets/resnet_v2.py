"""Residual networks, version 2: "Identity Mappings in Deep Residual Networks" (He et al., 2016)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.contrib.framework.arg_scope import add_arg_scope
from penstock.contrib.layers.batch_norm import batch_norm
from penstock.contrib.layers.convolutions import conv2d
from penstock.contrib.layers.utils import collect_named_outputs, last_dimension
from penstock.contrib.slim.nets import resnet_utils
from penstock.contrib.slim.nets.resnet_utils import Block, conv2d_same, resnet_arg_scope, subsample
from penstock.contrib.slim.nets.resnets import Result, of_depth, residual_network
from penstock.ops.nn.activations import relu
from penstock.variables.scope import variable_scope

__all__ = ["bottleneck", "resnet_arg_scope", "resnet_utils", "resnet_v2", "resnet_v2_101", "resnet_v2_152", "resnet_v2_200",
           "resnet_v2_50", "resnet_v2_block"]


@add_arg_scope
def bottleneck(inputs: Any, depth: int, depth_bottleneck: int, stride: int, rate: int = 1, outputs_collections: Any = None,
               scope: Any = None) -> Any:
    """A normalisation, then a 1x1, a 3x3 and a 1x1 convolution, beside a shortcut; the sum is left as it is."""
    with variable_scope(scope, "bottleneck_v2", [inputs]) as opened:
        plain = {"normalizer_fn": None, "activation_fn": None}
        normalized = batch_norm(inputs, activation_fn=relu, scope="preact")
        if depth == last_dimension(inputs.shape, min_rank=4):
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(normalized, depth, [1, 1], stride=stride, scope="shortcut", **plain)
        residual = conv2d(normalized, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], stride=1, scope="conv3", **plain)
        return collect_named_outputs(outputs_collections, opened.name, shortcut + residual)


def resnet_v2(inputs: Any, blocks: Sequence[Block], num_classes: int | None = None, is_training: Any = True, global_pool: bool = True,
              output_stride: Any = None, include_root_block: bool = True, reuse: Any = None, scope: Any = None) -> Result:
    """(logits, {name: output}) of a residual network of these blocks."""
    return residual_network("resnet_v2", bottleneck, inputs, blocks, num_classes, is_training, global_pool, output_stride, include_root_block,
                            reuse, scope)


resnet_v2.default_image_size = 224  # type: ignore[attr-defined]


def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """A block of units of this network."""
    return resnet_utils.block(scope, bottleneck, base_depth, num_units, stride)


resnet_v2_50, resnet_v2_101 = of_depth(resnet_v2, resnet_v2_block, 50), of_depth(resnet_v2, resnet_v2_block, 101)
resnet_v2_152, resnet_v2_200 = of_depth(resnet_v2, resnet_v2_block, 152), of_depth(resnet_v2, resnet_v2_block, 200)
