"""Policies, loss scales, and the optimizer that scales losses."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
mixed = tf.keras.mixed_precision.experimental


@pytest.mark.parametrize("name, compute, variable", [
    ("float16", "float16", "float16"), ("mixed_float16", "float16", "float32"), ("mixed_bfloat16", "bfloat16", "float32"), ("infer", None, None),
    ("float16_with_float32_vars", "float16", "float32"), ("infer_float32_vars", None, "float32"),
    ("float32_with_float32_vars", "float32", "float32")])
def test_policies(name, compute, variable):
    policy = mixed.Policy(name)
    assert (policy.compute_dtype, policy.variable_dtype, policy.should_cast_variables) == (compute, variable, compute != variable)
    assert (policy.loss_scale is not None) == (name == "mixed_float16")


def test_policies_that_are_wrong():
    with pytest.raises(ValueError, match="Cannot convert value half_with_float32_varz"):
        mixed.Policy("half_with_float32_varz")
    with pytest.raises(TypeError, match="must be a string"):
        mixed.Policy(tf.float16)


def test_the_global_policy():
    assert mixed.global_policy().name == "infer"
    mixed.set_policy("infer")
    with pytest.raises(ValueError, match="can only be set to a non-infer policy in TensorFlow 2"):
        mixed.set_policy("mixed_float16")
    mixed.set_policy(None)
    assert mixed.global_policy().compute_dtype is None


def test_a_dynamic_scale_follows_the_gradients():
    scale = tf.train.experimental.DynamicLossScale(initial_loss_scale=4, increment_period=2)
    gradient = tf.placeholder(tf.float32, [2])
    update, applies = scale.update([gradient, None])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        scales = []
        for value in ([1, 1], [1, 1], [1, np.nan], [np.inf, 1], [1, 1], [np.inf, 1], [np.inf, 1]):
            _, applied = session.run([update, applies], {gradient: value})
            assert applied == np.all(np.isfinite(value))
            scales.append(session.run(scale()))
    assert scales == [4, 8, 4, 2, 2, 1, 1]
    assert repr(scale) == "DynamicLossScale(initial_loss_scale=4.0, increment_period=2, multiplier=2.0)"


@pytest.mark.parametrize("loss_scale", [8, "dynamic"])
def test_training_is_the_same_with_a_scale(loss_scale):
    x, y = np.linspace(-1, 1, 12).reshape(6, 2), np.ones((6, 1))
    losses = []
    for scale in (None, loss_scale):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(2,))])
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
        model.compile(optimizer if scale is None else mixed.LossScaleOptimizer(optimizer, scale), "mse")
        losses.append([model.train_on_batch(x, y) for _ in range(4)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
    assert tf.keras.backend.get_value(optimizer.iterations) == 4
    wrapped = mixed.LossScaleOptimizer(optimizer, 2)
    wrapped.lr = 0.5
    assert tf.keras.backend.get_value(optimizer.lr) == 0.5 == tf.keras.backend.get_value(wrapped.learning_rate)


def test_steps_that_overflow_are_left_out():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(1,))])
    optimizer = mixed.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1), "dynamic")
    model.compile(optimizer, "mse")
    model.train_on_batch(np.array([[np.inf]]), np.array([[0.0]]))
    assert model.get_weights()[0] == 1 and tf.keras.backend.get_value(optimizer.loss_scale()) == 2 ** 14
    model.train_on_batch(np.array([[1.0]]), np.array([[0.0]]))
    assert model.get_weights()[0] == pytest.approx(0.8)


@pytest.mark.parametrize("optimizer, loss_scale, message", [
    (lambda: tf.train.GradientDescentOptimizer(0.1), 2, "must be an instance of OptimizerV2"),
    (lambda: tf.keras.optimizers.SGD(0.1, clipnorm=1.0), 2, "does not support wrapping optimizers with a clipnorm"),
    (lambda: tf.keras.optimizers.SGD(0.1), 0.5, "at least 1"), (lambda: tf.keras.optimizers.SGD(0.1), "static", "Could not interpret loss scale")])
def test_optimizers_that_are_wrong(optimizer, loss_scale, message):
    with pytest.raises(ValueError, match=message):
        mixed.LossScaleOptimizer(optimizer(), loss_scale)
