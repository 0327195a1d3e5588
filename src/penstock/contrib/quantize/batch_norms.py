"""Batch norms that are folded into the weights of the layer below them, as they are when a model is used.

In training the folded weights are scaled by moving variances, as those of the finished model; a correction by the ratio of the moving to the batch's
standard deviation keeps the values that batch normalisation would give (Krishnamoorthi, 2018).
"""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.quantize.fake_quant import quantization_step
from penstock.contrib.quantize.matching import anything, either, named, op, reroute, search
from penstock.graph.node import Operation
from penstock.ops.array.space import batch_to_space_nd
from penstock.ops.nn.normalization import moments

_LAYER = op("Conv2D|DepthwiseConv2dNative|MatMul", named("input"), named("weights"), name="layer")
_BATCHED = op("BatchToSpaceND", _LAYER, anything, anything, name="batch_to_space")
_OUTPUT = either(op("Identity", either(_BATCHED, _LAYER)), _LAYER, _BATCHED)
_NORM = op("FusedBatchNorm|FusedBatchNormV3", either(op("Reshape", _OUTPUT, anything), _OUTPUT), named("gamma"), named("beta"), named("mean"),
           named("variance"), name="norm")
_FOLDED = either(op("Reshape", _NORM, anything, name="reshape"), _NORM)
_DEVIATION = op("Rsqrt", op("Add|AddV2", named("variance"), named("epsilon")))
_PLAIN = op("Add|AddV2", op("Mul", _OUTPUT, either(op("Mul", _DEVIATION, named("gamma")), _DEVIATION)),
            op("Sub", named("beta"), op("Mul", named("mean"), anything)), name="norm")


class _Moving(NamedTuple):
    """A moving average that a batch norm keeps: its value, and by how much it moves."""

    average: Any
    decay: Any


class _Norm(NamedTuple):
    """What a batch norm computes with. ``moving`` are the averages that it keeps of mean and variance; None if those are not the batch's."""

    gamma: Any  # None: 1
    beta: tf.Tensor
    mean: tf.Tensor
    variance: tf.Tensor
    epsilon: Any
    moving: tuple[_Moving, _Moving] | None


def fold_batch_norms(graph: Any, freeze_delay: int | None) -> None:
    """Folds all batch norms that stand right behind a layer."""
    folded: set[Operation] = set()
    for match in search(graph, _FOLDED):
        layer, norm = match["layer"], match["norm"]
        output = match["reshape"].outputs[0] if layer.type == "MatMul" and "reshape" in match else norm.outputs[0]
        if layer in folded or not output.consumers() or (layer.type == "MatMul" and "reshape" not in match):
            continue
        folded.add(layer)
        _fold(graph, match, _fused_norm(match), output, freeze_delay)
    for match in search(graph, _PLAIN):
        layer, output = match["layer"], match["norm"].outputs[0]
        if layer not in folded and output.consumers():
            folded.add(layer)
            _fold(graph, match, _unfused_norm(match), output, freeze_delay)


def _fused_norm(match: dict[str, Any]) -> _Norm:
    norm, moving = match["norm"], None
    mean, variance = match["mean"], match["variance"]
    if norm.get_attr("is_training"):
        moving = _moving(norm, norm.outputs[1]), _moving(norm, norm.outputs[2])
        # Of the values themselves: statistics of a fused norm have no gradient.
        mean, variance = moments(norm.inputs[0], [0, 1, 2] if norm.get_attr("data_format") == b"NHWC" else [0, 2, 3])
    return _Norm(match["gamma"], match["beta"], mean, variance, norm.get_attr("epsilon"), moving)


def _unfused_norm(match: dict[str, Any]) -> _Norm:
    norm, mean, variance = match["norm"], match["mean"], match["variance"]
    of_batch = mean.op.type in ("Squeeze", "Mean")
    moving = (_moving(norm, mean), _moving(norm, variance)) if of_batch else None
    return _Norm(match.get("gamma"), match["beta"], mean, variance, match["epsilon"], moving)


def _fold(graph: Any, match: dict[str, Any], norm: _Norm, output: tf.Tensor, freeze_delay: int | None) -> None:
    layer, correction = match["layer"], None
    scope, separator, _ = layer.name.rpartition("/")
    with graph.name_scope(scope + separator):
        with graph.name_scope(f"{scope}{separator}BatchNorm_Fold/"):
            deviation = tf.rsqrt(norm.variance + norm.epsilon)
            scale = deviation if norm.gamma is None else norm.gamma * deviation
            bias = tf.subtract(norm.beta, norm.mean * scale, name="bias")
            if norm.moving is not None:
                correction = _corrections(norm, norm.moving, freeze_delay)
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


def _moving(norm: Operation, statistic: tf.Tensor) -> _Moving:
    """The moving average that a norm keeps of a statistic: average - (average - statistic) * decay."""
    for difference in statistic.consumers():
        if difference.type == "Sub" and difference.inputs[1] is statistic:
            for product in difference.outputs[0].consumers():
                if product.type == "Mul" and product.inputs[0] is difference.outputs[0]:
                    return _Moving(difference.inputs[0], product.inputs[1])
    raise ValueError(f"Folding batch norms failed: {norm.name} keeps no moving averages. Create the graph for training, or with is_training=False "
                     "for evaluation")


def _corrections(norm: _Norm, moving: tuple[_Moving, _Moving], freeze_delay: int | None) -> tuple[Any, Any, Any]:
    """(factor of the weights, factor of the layer's result, what is added to it)."""
    moving_mean, moving_variance = moving
    with tf.name_scope("batch_norm_correction"):
        moving_scale, batch_scale = tf.rsqrt(moving_variance.average + norm.epsilon), tf.rsqrt(norm.variance + norm.epsilon)
        scale = tf.identity(tf.truediv(moving_scale, batch_scale, name="scale_compute"), name="correction_scale")
        inverse = tf.reciprocal(scale, name="reciprocal_compute")
        gamma = tf.ones_like(batch_scale) if norm.gamma is None else norm.gamma
        offset = tf.multiply(gamma, norm.mean * batch_scale - moving_mean.average * moving_scale, name="offset_compute")
        if freeze_delay is None:
            return scale, inverse, tf.zeros(offset.shape)
        frozen = tf.greater_equal(quantization_step(), freeze_delay, name="use_moving_average")
        for name, each in (("freeze_moving_mean", moving_mean), ("freeze_moving_var", moving_variance)):
            users = each.decay.consumers()
            reroute(tf.where(frozen, tf.zeros_like(each.decay), each.decay, name=name), each.decay, users)
        return (scale, tf.cond(frozen, lambda: tf.ones(scale.shape), lambda: inverse, name="correction_recip"),
                tf.cond(frozen, lambda: offset, lambda: tf.zeros(offset.shape), name="correction_offset"))


def _layer_with(layer: Operation, inputs: tf.Tensor, weights: tf.Tensor, batch_to_space: Operation | None) -> tf.Tensor:
    """The layer with other weights."""
    attributes = {key: value for key, value in layer.attrs.items() if key != "T"}
    made = layer.definition(inputs, weights, name=layer.name.rpartition("/")[2] + "_Fold", **attributes)
    if batch_to_space is None:
        return made
    return batch_to_space_nd(made, *batch_to_space.inputs[1:], name=batch_to_space.name.rpartition("/")[2] + "_Fold")
