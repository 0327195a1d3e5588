"""Fake quantisation of a tensor: its range is that of the last batch, or a moving average of ranges, and is kept in two variables."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.ops.array.quantize import FakeQuantWithMinMaxVars
from penstock.train.moving_averages import assign_moving_average
from penstock.variables.initializers import Constant
from penstock.variables.modes import VariableAggregation


def fake_quantize(inputs: tf.Tensor, prefix: str, is_training: bool, bits: int, symmetric: bool, narrow_range: bool, init_min: float,
                  ema_decay: float | None, collection: str) -> tf.Tensor:
    """``inputs`` as they would be with ``bits`` bits. With ``ema_decay`` the range is a moving average, for values that change with the batch."""
    with tf.variable_scope(None, default_name=prefix, values=[inputs]) as scope:
        scope.set_partitioner(None)
        keys = [collection, tf.GraphKeys.GLOBAL_VARIABLES]
        least, most = (tf.get_variable(name, [], initializer=Constant(value), collections=keys, trainable=False, aggregation=VariableAggregation.MEAN)
                       for name, value in (("min", init_min), ("max", 6.0)))
        if not is_training:
            return FakeQuantWithMinMaxVars(inputs, least, most, num_bits=bits, narrow_range=narrow_range)
        low, high = _range(tf.reduce_min(inputs, name="BatchMin"), tf.reduce_max(inputs, name="BatchMax"), bits, symmetric, narrow_range)
        if ema_decay is None:
            new_least, new_most = tf.assign(least, low, name="AssignMinLast"), tf.assign(most, high, name="AssignMaxLast")
        else:
            new_least = assign_moving_average(least, low, ema_decay, name="AssignMinEma")
            new_most = assign_moving_average(most, high, ema_decay, name="AssignMaxEma")
        return FakeQuantWithMinMaxVars(inputs, new_least, new_most, num_bits=bits, narrow_range=narrow_range)


def _range(low: tf.Tensor, high: tf.Tensor, bits: int, symmetric: bool, narrow_range: bool) -> tuple[Any, Any]:
    """A range that contains 0; if ``symmetric``, with 0 in its middle."""
    if not symmetric:
        return tf.minimum(low, 0.0), tf.maximum(high, 0.0)
    ratio = -1 if narrow_range else -((1 << bits) - 2) / (1 << bits)
    return tf.minimum(low, high / ratio), tf.maximum(high, low * ratio)


def quantization_step() -> tf.Tensor:
    """Counts the steps in which it is used; the graph has one."""
    graph = tf.get_default_graph()
    try:
        return graph.get_tensor_by_name("fake_quantization_step/Identity:0")
    except KeyError:
        with graph.name_scope(None):
            counter = tf.get_variable("fake_quantization_step", [], dtype=tf.int64, initializer=tf.zeros_initializer(), trainable=False,
                                      collections=[tf.GraphKeys.GLOBAL_VARIABLES], aggregation=VariableAggregation.ONLY_FIRST_REPLICA)
            with graph.name_scope("fake_quantization_step/"):
                return tf.identity(tf.assign_add(counter, tf.constant(1, tf.int64)))
