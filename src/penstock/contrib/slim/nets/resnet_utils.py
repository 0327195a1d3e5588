"""What residual networks are put together of: blocks of units, and convolutions that do not depend on the parity of the image's size."""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.contrib.framework.arg_scope import Scope, add_arg_scope, arg_scope
from penstock.contrib.layers.batch_norm import batch_norm
from penstock.contrib.layers.convolutions import conv2d
from penstock.contrib.layers.initializers import variance_scaling_initializer
from penstock.contrib.layers.pooling import max_pool2d
from penstock.contrib.layers.regularizers import l2_regularizer
from penstock.contrib.layers.utils import collect_named_outputs
from penstock.graph.keys import GraphKeys
from penstock.ops.array.pad import pad
from penstock.ops.nn.activations import relu
from penstock.variables.scope import variable_scope


class Block(NamedTuple):
    """A name, a function that makes a unit, and its arguments for each unit."""

    scope: str
    unit_fn: Any
    args: list[dict[str, Any]]


def block(scope: str, unit_fn: Any, base_depth: int, num_units: int, stride: int) -> Block:
    """Units of four times a depth; the last one has the stride."""
    return Block(scope, unit_fn, [{"depth": base_depth * 4, "depth_bottleneck": base_depth, "stride": stride if last else 1}
                                  for last in [False] * (num_units - 1) + [True]])


def subsample(inputs: Any, factor: int, scope: str | None = None) -> Any:
    """Every ``factor``-th pixel of every ``factor``-th row."""
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: str | None = None) -> Any:
    """A convolution with a stride that is the one without, subsampled: the image is padded equally on both sides."""
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope)
    total = kernel_size + (kernel_size - 1) * (rate - 1) - 1
    sides = [total // 2, total - total // 2]
    return conv2d(pad(inputs, [[0, 0], sides, sides, [0, 0]]), num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope)


@add_arg_scope
def stack_blocks_dense(net: Any, blocks: Any, output_stride: Any = None, outputs_collections: Any = None) -> Any:
    """All blocks. Where strides would exceed ``output_stride``, convolutions are dilated instead: the image stays as large."""
    current_stride, rate = 1, 1
    for each in blocks:
        with variable_scope(each.scope, "block", [net]) as opened:
            for number, unit in enumerate(each.args, 1):
                if output_stride is not None and current_stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with variable_scope(f"unit_{number}", values=[net]):
                    if output_stride is not None and current_stride == output_stride:
                        net = each.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = each.unit_fn(net, rate=1, **unit)
                        current_stride *= unit.get("stride", 1)
            net = collect_named_outputs(outputs_collections, opened.name, net)
    if output_stride is not None and current_stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(weight_decay: float = 0.0001, batch_norm_decay: float = 0.997, batch_norm_epsilon: float = 1e-5,
                     batch_norm_scale: bool = True) -> Scope:
    """The argument scope of residual networks."""
    normalization = {"decay": batch_norm_decay, "epsilon": batch_norm_epsilon, "scale": batch_norm_scale,
                     "updates_collections": GraphKeys.UPDATE_OPS}
    with arg_scope([conv2d], weights_regularizer=l2_regularizer(weight_decay), weights_initializer=variance_scaling_initializer(),
                   activation_fn=relu, normalizer_fn=batch_norm, normalizer_params=normalization), \
            arg_scope([batch_norm], **normalization), arg_scope([max_pool2d], padding="SAME") as scope:
        return scope
