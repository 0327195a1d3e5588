"""Gradient descent inside of the product that computes the gradient."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.debug.explain import Explainer
from penstock.native.config import config


def _decayed(step):
    return tf.train.exponential_decay(0.1, step, 2, 0.5)


RATES = {"known": lambda step: 0.1, "decayed": _decayed, "a variable": lambda step: tf.Variable(0.1, trainable=False, use_resource=True)}


def _train(rate, mode, monkeypatch):
    """The weights after some steps, and the names of the kernels that update them."""
    monkeypatch.setattr(config, "mode", mode)
    images = np.random.RandomState(0).randn(2, 12, 12, 32).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session, Explainer() as explainer:
        step, x = tf.train.get_or_create_global_step(), tf.placeholder(tf.float32, images.shape)
        filters = tf.get_variable("filters", initializer=np.random.RandomState(1).randn(3, 3, 32, 32).astype(np.float32) * 0.1)
        matrix = tf.get_variable("matrix", initializer=np.random.RandomState(2).randn(32, 10).astype(np.float32))
        pooled = tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(x, filters, [1, 1, 1, 1], "SAME")), [1, 2])
        loss = tf.reduce_mean(tf.square(tf.matmul(pooled, matrix)))
        train = tf.train.GradientDescentOptimizer(RATES[rate](step)).minimize(loss, global_step=step)
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(train, {x: images})
        weights = session.run([filters, matrix])
        return weights, [kernel.name for report in explainer.reports() for kernel in report.kernels
                         if any(node.endswith("ApplyGradientDescent") for node in kernel.nodes)]


@pytest.mark.parametrize("rate", RATES)
def test_descent_is_part_of_products(rate, monkeypatch):
    """Also where the rate is computed or read in the step, and changes from step to step."""
    (wanted, _), (found, updates) = (_train(rate, mode, monkeypatch) for mode in ("off", "eager"))
    for one, other in zip(wanted, found):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)
    assert updates and all(name.startswith(("matmul", "conv2d filter gradient")) for name in updates)
