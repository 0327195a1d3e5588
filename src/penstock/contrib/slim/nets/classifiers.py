"""AlexNet, OverFeat and VGG: rows of convolutions and poolings, with a classifier that is made of convolutions, too.

So the networks take images of any size that is large enough; on larger ones the classifier slides over the image.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.contrib.framework.arg_scope import Scope, arg_scope
from penstock.contrib.layers.connected import fully_connected
from penstock.contrib.layers.convolutions import conv2d
from penstock.contrib.layers.pooling import max_pool2d
from penstock.contrib.layers.shaping import dropout, repeat
from penstock.contrib.layers.utils import convert_collection_to_dict
from penstock.contrib.slim.nets.arg_scopes import plain_arg_scope
from penstock.ops.array.shape_ops import squeeze
from penstock.variables.initializers import Constant, TruncatedNormal, Zeros
from penstock.variables.scope import VariableScope, variable_scope

Result = tuple[Any, dict[str, Any]]


def _finish(net: Any, collection: str, scope: VariableScope, spatial_squeeze: bool) -> Result:
    end_points = convert_collection_to_dict(collection)
    if spatial_squeeze:
        net = squeeze(net, [1, 2], name="fc8/squeezed")
        end_points[scope.name + "/fc8"] = net
    return net, end_points


def _classify(net: Any, depth: int, window: list[int], num_classes: int, is_training: Any, keep_prob: float, **last: Any) -> Any:
    """Two layers with dropout, and the logits."""
    net = conv2d(net, depth, window, padding="VALID", scope="fc6")
    net = dropout(net, keep_prob, is_training=is_training, scope="dropout6")
    net = conv2d(net, 4096, [1, 1], scope="fc7")
    net = dropout(net, keep_prob, is_training=is_training, scope="dropout7")
    return conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8", **last)


# --- AlexNet and OverFeat --------------------------------------------------------------------------------------------

def _valid_pools(scope: Scope) -> Scope:
    with arg_scope(scope), arg_scope([max_pool2d], padding="VALID") as result:
        return result


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """The argument scope of AlexNet."""
    return _valid_pools(plain_arg_scope(weight_decay, Constant(0.1)))


def overfeat_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """The argument scope of OverFeat."""
    return _valid_pools(plain_arg_scope(weight_decay, Zeros()))


def alexnet_v2(inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.5, spatial_squeeze: bool = True,
               scope: Any = "alexnet_v2") -> Result:
    """AlexNet, as in "One weird trick for parallelizing convolutional neural networks" (Krizhevsky, 2014): (logits, {name: output})."""
    with variable_scope(scope, "alexnet_v2", [inputs]) as opened:
        collection = opened.original_name_scope + "_end_points"
        with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=[collection]):
            net = conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [3, 3], 2, scope="pool1")
            net = conv2d(net, 192, [5, 5], scope="conv2")
            net = max_pool2d(net, [3, 3], 2, scope="pool2")
            for name, depth in (("conv3", 384), ("conv4", 384), ("conv5", 256)):
                net = conv2d(net, depth, [3, 3], scope=name)
            net = max_pool2d(net, [3, 3], 2, scope="pool5")
            with arg_scope([conv2d], weights_initializer=TruncatedNormal(0.0, 0.005), biases_initializer=Constant(0.1)):
                net = _classify(net, 4096, [5, 5], num_classes, is_training, dropout_keep_prob, biases_initializer=Zeros())
            return _finish(net, collection, opened, spatial_squeeze)


def overfeat(inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.5, spatial_squeeze: bool = True,
             scope: Any = "overfeat") -> Result:
    """OverFeat (Sermanet et al., 2014): (logits, {name: output})."""
    with variable_scope(scope, "overfeat", [inputs]) as opened:
        collection = opened.name + "_end_points"
        with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=collection):
            net = conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [2, 2], scope="pool1")
            net = conv2d(net, 256, [5, 5], padding="VALID", scope="conv2")
            net = max_pool2d(net, [2, 2], scope="pool2")
            for name, depth in (("conv3", 512), ("conv4", 1024), ("conv5", 1024)):
                net = conv2d(net, depth, [3, 3], scope=name)
            net = max_pool2d(net, [2, 2], scope="pool5")
            with arg_scope([conv2d], weights_initializer=TruncatedNormal(0.0, 0.005), biases_initializer=Constant(0.1)):
                net = _classify(net, 3072, [6, 6], num_classes, is_training, dropout_keep_prob, biases_initializer=Zeros())
            return _finish(net, collection, opened, spatial_squeeze)


# --- VGG -------------------------------------------------------------------------------------------------------------

def vgg_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """The argument scope of all VGG networks."""
    return plain_arg_scope(weight_decay, Zeros())


def _vgg(name: str, repetitions: Sequence[int]) -> Callable[..., Result]:
    """The network whose five groups have so many convolutions."""
    def network(inputs: Any, num_classes: int = 1000, is_training: Any = True, dropout_keep_prob: float = 0.5, spatial_squeeze: bool = True,
                scope: Any = name) -> Result:
        with variable_scope(scope, name, [inputs]) as opened:
            collection = (opened.name if name == "vgg_19" else opened.original_name_scope) + "_end_points"
            with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=collection):
                net = inputs
                for group, (times, depth) in enumerate(zip(repetitions, (64, 128, 256, 512, 512)), 1):
                    net = repeat(net, times, conv2d, depth, [3, 3], scope=f"conv{group}")
                    net = max_pool2d(net, [2, 2], scope=f"pool{group}")
                net = _classify(net, 4096, [7, 7], num_classes, is_training, dropout_keep_prob)
                return _finish(net, collection, opened, spatial_squeeze)

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"{name} of \"Very deep convolutional networks\" (Simonyan and Zisserman, 2014): (logits, {{name: output}})."
    return network


vgg_a, vgg_16, vgg_19 = _vgg("vgg_a", (1, 1, 2, 2, 2)), _vgg("vgg_16", (2, 2, 3, 3, 3)), _vgg("vgg_19", (2, 2, 4, 4, 4))
vgg_d, vgg_e = vgg_16, vgg_19
for _network in (alexnet_v2, vgg_a, vgg_16, vgg_19):
    _network.default_image_size = 224  # type: ignore[attr-defined]
