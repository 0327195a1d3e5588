"""Models that train on an OpenCL device to the numbers of the CPU."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.plans import nodes_of

pytestmark = pytest.mark.process


def _loss(logits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _mlp(x, labels):
    hidden = tf.layers.dense(tf.layers.dense(x, 32, tf.nn.relu), 16, tf.nn.tanh)
    return tf.train.AdamOptimizer(0.01), _loss(tf.layers.dense(hidden, 10), labels)


def _cnn(x, labels):
    hidden = tf.layers.conv2d(x, 8, 3, padding="same", use_bias=False)
    hidden = tf.nn.relu(tf.layers.batch_normalization(hidden, training=True))
    hidden = tf.layers.max_pooling2d(hidden, 2, 2)
    hidden = tf.layers.average_pooling2d(tf.layers.conv2d(hidden, 16, 3, strides=2, activation=tf.nn.relu), 2, 1)
    return tf.train.MomentumOptimizer(0.05, 0.9), _loss(tf.layers.dense(tf.layers.flatten(hidden), 10), labels)


def _residual(x, labels):
    first = tf.layers.conv2d(x, 8, 3, padding="same", activation=tf.nn.relu)
    body = tf.layers.batch_normalization(tf.layers.conv2d(first, 16, 3, strides=2, padding="same", use_bias=False), training=True)
    shortcut = tf.layers.conv2d(first, 16, 1, strides=2, padding="same")  # of its gradient, three pixels of four have no taps
    return tf.train.GradientDescentOptimizer(0.05), _loss(tf.layers.dense(tf.reduce_mean(tf.nn.relu(body + shortcut), [1, 2]), 10), labels)


def _lstm(x, labels):
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(8), x, dtype=tf.float32)
    return tf.train.RMSPropOptimizer(0.01), _loss(tf.layers.dense(outputs[:, -1], 10), labels)


def _embedding(x, labels):
    table = tf.get_variable("table", [50, 8])
    rows = tf.nn.embedding_lookup(table, tf.cast(x * 50, tf.int32))
    return tf.train.AdagradOptimizer(0.1), _loss(tf.layers.dense(tf.reduce_mean(rows, 1), 10), labels)


MODELS = {"mlp": (_mlp, (20, 30)), "cnn": (_cnn, (6, 12, 12, 3)), "residual": (_residual, (4, 12, 12, 3)), "lstm": (_lstm, (5, 4, 6)),
          "embedding": (_embedding, (12, 7))}


def _train(model, shape, settings, steps=4):
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        x, labels = tf.placeholder(tf.float32, [None, *shape[1:]]), tf.placeholder(tf.int64, [None])
        optimizer, loss = model(x, labels)
        train = optimizer.minimize(loss)
        random = np.random.default_rng(0)
        feeds = {x: random.random(shape, np.float32), labels: random.integers(0, 10, shape[0])}
        with tf.Session(config=settings) as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, train], feeds)[0] for _ in range(steps)]
            return losses, session.run(tf.trainable_variables()), nodes_of(session)


@pytest.mark.parametrize("name", MODELS)
def test_trains_to_the_numbers_of_the_cpu(name, kernels):
    model, shape = MODELS[name]
    losses, variables, nodes = _train(model, shape, tf.ConfigProto())
    expected, wanted, _ = _train(model, shape, tf.ConfigProto(device_count={"GPU": 0}))
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for mine, theirs in zip(variables, wanted):
        np.testing.assert_allclose(mine, theirs, rtol=2e-3, atol=2e-5)
    assert any(node.definition.type == "_Region" and "GPU" in node.device for node in nodes)
    assert losses[-1] < losses[0]
    assert not any(node.definition.repeats for node in nodes), "a loop runs node by node, with copies in each iteration"
