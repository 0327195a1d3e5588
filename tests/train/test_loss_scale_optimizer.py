"""Optimizers with a scaled loss. Numbers are TensorFlow 1.15's."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.mark.parametrize("scale, left", [("dynamic", 16384.0), (tf.train.experimental.DynamicLossScale, 4.0)])
def test_steps_that_overflow_are_left_out(scale, left):
    with tf.Graph().as_default(), tf.Session() as session:
        x, factor = tf.Variable([1.0, 2.0]), tf.placeholder(tf.float32, [])
        optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(
            tf.train.MomentumOptimizer(0.1, 0.9), scale if scale == "dynamic" else scale(4.0, 2))
        step = tf.train.get_or_create_global_step()
        train = optimizer.minimize(tf.reduce_sum(x * x) * factor, global_step=step)
        session.run(tf.global_variables_initializer())
        for value in (1.0, np.inf, 1.0, 1.0):
            session.run(train, {factor: value})
        np.testing.assert_allclose(session.run(x), [0.062, 0.124], rtol=1e-6)
        assert session.run([step, optimizer._loss_scale()]) == [3, left]


def test_fixed_scale_and_gathered_rows():
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable([[1.0], [2.0], [3.0]])
        optimizer = tf.train.experimental.MixedPrecisionLossScaleOptimizer(tf.train.GradientDescentOptimizer(0.5), 8)
        train = optimizer.minimize(tf.reduce_sum(tf.gather(table, [1])))
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(table).tolist() == [[1.0], [1.5], [3.0]]


def test_what_can_be_wrapped():
    wrap = tf.train.experimental.enable_mixed_precision_graph_rewrite
    with tf.Graph().as_default():
        wrapped = wrap(tf.train.GradientDescentOptimizer(0.5), 2.0)
        with pytest.raises(ValueError, match='"opt" must not already be an instance'):
            wrap(wrapped)
        with pytest.raises(ValueError, match='"opt" must be an instance'):
            wrap("sgd")
        assert isinstance(wrap(tf.keras.optimizers.SGD(), 2.0), tf.keras.mixed_precision.experimental.LossScaleOptimizer)
