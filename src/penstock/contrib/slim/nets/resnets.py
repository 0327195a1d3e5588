"""The frame of both kinds of residual networks: a first layer, blocks, the mean over the image, and logits."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.contrib.framework.arg_scope import arg_scope
from penstock.contrib.layers.batch_norm import batch_norm
from penstock.contrib.layers.convolutions import conv2d
from penstock.contrib.layers.pooling import max_pool2d
from penstock.contrib.layers.shaping import softmax
from penstock.contrib.layers.utils import convert_collection_to_dict
from penstock.contrib.slim.nets.resnet_utils import Block, conv2d_same, stack_blocks_dense
from penstock.ops.math.reduce import reduce_mean
from penstock.ops.nn.activations import relu
from penstock.variables.scope import variable_scope

Result = tuple[Any, dict[str, Any]]

# How many units the four blocks have.
UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}


def residual_network(kind: str, unit: Any, inputs: Any, blocks: Sequence[Block], num_classes: int | None, is_training: Any, global_pool: bool,
                     output_stride: Any, include_root_block: bool, reuse: Any, scope: Any) -> Result:
    """(logits, {name: output}). In version 2 normalisation comes first in each unit, so the last sum is normalised at the end."""
    second = kind == "resnet_v2"
    with variable_scope(scope, kind, [inputs], reuse=reuse) as opened:
        collection = opened.original_name_scope + "_end_points"
        with arg_scope([conv2d, unit, stack_blocks_dense], outputs_collections=collection), arg_scope([batch_norm], is_training=is_training):
            net = inputs
            if include_root_block:
                if output_stride is not None and output_stride % 4 != 0:
                    raise ValueError("The output_stride needs to be a multiple of 4.")
                output_stride = None if output_stride is None else output_stride / 4
                with arg_scope([conv2d], **({"activation_fn": None, "normalizer_fn": None} if second else {})):
                    net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = stack_blocks_dense(net, blocks, output_stride)
            if second:
                net = batch_norm(net, activation_fn=relu, scope="postnorm")
            if global_pool:
                net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits")
            end_points = convert_collection_to_dict(collection)
            if num_classes is not None:
                end_points["predictions"] = softmax(net, scope="predictions")
            return net, end_points


def of_depth(network: Callable[..., Result], block: Callable[..., Block], depth: int) -> Callable[..., Result]:
    """The network of so many layers, under its name."""
    name = f"{network.__name__}_{depth}"

    def resnet(inputs: Any, num_classes: int | None = None, is_training: Any = True, global_pool: bool = True, output_stride: Any = None,
               reuse: Any = None, scope: Any = name) -> Result:
        blocks = [block(f"block{number}", base_depth=32 * 2 ** number, num_units=units, stride=1 if number == 4 else 2)
                  for number, units in enumerate(UNITS[depth], 1)]
        return network(inputs, blocks, num_classes, is_training, global_pool, output_stride, include_root_block=True, reuse=reuse, scope=scope)

    resnet.__name__ = resnet.__qualname__ = name
    resnet.__doc__ = f"The residual network of {depth} layers: (logits, {{name: output}})."
    return resnet
