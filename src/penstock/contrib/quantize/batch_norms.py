"""Batch norms that are folded into the weights of the layer below them, as they are when a model is used.

In training the folded weights are scaled by moving variances, as those of the finished model; a correction by the ratio of the moving to the batch's
standard deviation keeps the values that batch normalisation would give (Krishnamoorthi, 2018).
"""
from __future__ import annotations

import re
from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.quantize.fake_quant import quantization_step
from penstock.contrib.quantize.matching import anything, either, named, op, reroute, search
from penstock.errors import UnimplementedError
from penstock.graph.node import Operation
from penstock.ops.array.space import batch_to_space_nd
from penstock.ops.nn.normalization import moments

_LAYER = op("Conv2D|DepthwiseConv2dNative|MatMul", named("input"), named("weights"), name="layer")
_BATCHED = op("BatchToSpaceND", _LAYER, anything, anything, name="batch_to_space")
_OUTPUT = either(op("Identity", either(_BATCHED, _LAYER)), _LAYER, _BATCHED)
_NORM = op("FusedBatchNorm|FusedBatchNormV3", either(op("Reshape", _OUTPUT, anything), _OUTPUT), named("gamma"), named("beta"), named("mean"),
           named("variance"), name="norm")
_FOLDED = either(op("Reshape", _NORM, anything, name="reshape"), _NORM)
_UNFUSED = re.compile(r"^(.*)BatchNorm/batchnorm")


class _Moving(NamedTuple):
    """A moving average that a batch norm keeps: its value, and by how much it moves."""

    average: Any
    decay: Any


def fold_batch_norms(graph: Any, freeze_delay: int | None) -> None:
    """Folds all batch norms that stand right behind a layer."""
    for node in graph.get_operations():
        if _UNFUSED.match(node.name) and not node.name.startswith("gradients/"):
            raise UnimplementedError(None, node, f"{node.name}: only fused batch norms can be folded (fused=True, images of 4 dimensions)")
    folded: set[Operation] = set()
    for match in search(graph, _FOLDED):
        layer, norm = match["layer"], match["norm"]
        output = match["reshape"].outputs[0] if layer.type == "MatMul" and "reshape" in match else norm.outputs[0]
        if layer in folded or not output.consumers() or (layer.type == "MatMul" and "reshape" not in match):
            continue
        folded.add(layer)
        _fold(graph, match, output, freeze_delay)


def _fold(graph: Any, match: dict[str, Any], output: tf.Tensor, freeze_delay: int | None) -> None:
    layer, norm = match["layer"], match["norm"]
    scope, separator, _ = layer.name.rpartition("/")
    epsilon, trains = norm.get_attr("epsilon"), norm.get_attr("is_training")
    mean, variance, correction = match["mean"], match["variance"], None
    if trains:
        # Of the values themselves: statistics of a fused norm have no gradient.
        mean, variance = moments(norm.inputs[0], [0, 1, 2] if norm.get_attr("data_format") == b"NHWC" else [0, 2, 3])
    with graph.name_scope(scope + separator):
        with graph.name_scope(f"{scope}{separator}BatchNorm_Fold/"):
            scale = match["gamma"] * tf.rsqrt(variance + epsilon)
            bias = tf.subtract(match["beta"], mean * scale, name="bias")
            if trains:
                correction = _corrections(norm, match["gamma"], mean, variance, epsilon, freeze_delay)
        weights, shape = match["weights"], match["weights"].shape.as_list()

        def per_weight(factor: tf.Tensor, name: str) -> tf.Tensor:
            return tf.reshape(factor, shape[2:], name=name) if layer.type == "DepthwiseConv2dNative" else factor

        if correction is not None:
            weights = tf.multiply(per_weight(correction[0], "correction_reshape"), weights, name="correction_mult")
        made = _layer_with(layer, match["input"], tf.multiply(weights, per_weight(scale, "scale_reshape"), name="mul_fold"),
                           match.get("batch_to_space"))
        if correction is not None:
            made = tf.add(tf.multiply(correction[1], made, name="post_conv_mul"), correction[2], name="correction_add")
        if reroute(tf.add(made, bias, name="add_fold"), output) == 0:
            raise ValueError(f"Folding batch norms failed, {output.name} had no outputs.")


def _moving(norm: Operation, index: int) -> _Moving:
    """The moving average of an output of a norm: average - (average - output) * decay."""
    for difference in norm.outputs[index].consumers():
        if difference.type == "Sub" and difference.inputs[1] is norm.outputs[index]:
            for product in difference.outputs[0].consumers():
                if product.type == "Mul" and product.inputs[0] is difference.outputs[0]:
                    return _Moving(difference.inputs[0], product.inputs[1])
    raise ValueError(f"Folding batch norms failed: {norm.name} keeps no moving averages. Create the graph for training, or with is_training=False "
                     "for evaluation")


def _corrections(norm: Operation, gamma: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor, epsilon: float,
                 freeze_delay: int | None) -> tuple[Any, Any, Any]:
    """(factor of the weights, factor of the layer's result, what is added to it)."""
    moving_mean, moving_variance = _moving(norm, 1), _moving(norm, 2)
    with tf.name_scope("batch_norm_correction"):
        moving_scale, batch_scale = tf.rsqrt(moving_variance.average + epsilon), tf.rsqrt(variance + epsilon)
        scale = tf.identity(tf.truediv(moving_scale, batch_scale, name="scale_compute"), name="correction_scale")
        inverse = tf.reciprocal(scale, name="reciprocal_compute")
        offset = tf.multiply(gamma, mean * batch_scale - moving_mean.average * moving_scale, name="offset_compute")
        if freeze_delay is None:
            return scale, inverse, tf.zeros(offset.shape)
        frozen = tf.greater_equal(quantization_step(), freeze_delay, name="use_moving_average")
        for name, moving in (("freeze_moving_mean", moving_mean), ("freeze_moving_var", moving_variance)):
            users = moving.decay.consumers()
            reroute(tf.where(frozen, tf.zeros_like(moving.decay), moving.decay, name=name), moving.decay, users)
        return (scale, tf.cond(frozen, lambda: tf.ones(scale.shape), lambda: inverse, name="correction_recip"),
                tf.cond(frozen, lambda: offset, lambda: tf.zeros(offset.shape), name="correction_offset"))


def _layer_with(layer: Operation, inputs: tf.Tensor, weights: tf.Tensor, batch_to_space: Operation | None) -> tf.Tensor:
    """The layer with other weights."""
    attributes = {key: value for key, value in layer.attrs.items() if key != "T"}
    made = layer.definition(inputs, weights, name=layer.name.rpartition("/")[2] + "_Fold", **attributes)
    if batch_to_space is None:
        return made
    return batch_to_space_nd(made, *batch_to_space.inputs[1:], name=batch_to_space.name.rpartition("/")[2] + "_Fold")
