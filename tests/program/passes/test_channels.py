"""Layout choice: channels last, and transposes that cancel across elementwise ops."""
from __future__ import annotations

import random

import numpy as np
import pytest

import penstock as tf
from support.programs import nodes_after, only, session, types_after

pytestmark = pytest.mark.process
OFF = 2


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def layer(x, filters, size=3):
    """Convolution, bias, ReLU, with the channels first."""
    name, shape = x.op.name.replace("/", "_"), [size, size, int(x.shape[1]), filters]
    weights = tf.get_variable(f"w{name}", shape, initializer=tf.random_uniform_initializer(seed=1))
    bias = tf.get_variable(f"b{name}", [filters], initializer=tf.random_uniform_initializer(seed=2))
    return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weights, [1, 1, 1, 1], "SAME", data_format="NCHW"), bias, data_format="NCHW"))


def transposes(fetches, feeds=(), options=None):
    return types_after(fetches, feeds, options).count("Transpose")


def formats(fetches, feeds=(), options=None):
    return {node.attrs["data_format"] for node in nodes_after(fetches, feeds, options) if "data_format" in node.attrs}


def test_channels_are_last_inside_a_network():
    x = tf.placeholder(tf.float32, [None, 3, 8, 8])
    y = tf.reduce_mean(tf.nn.max_pool(layer(layer(x, 4), 5), [1, 1, 2, 2], [1, 1, 2, 2], "SAME", data_format="NCHW"), [2, 3])
    assert formats([y], [x]) == {"NHWC"} and transposes([y], [x]) == 1
    assert formats([y], [x], only(identities=True)) == {"NCHW"} and transposes([y], [x], only(identities=True)) == 0


def test_gradients_are_turned_too():
    x = tf.placeholder(tf.float32, [2, 3, 8, 8])
    loss = tf.reduce_sum(tf.square(layer(layer(x, 4), 5)))
    fetches = [loss, *tf.gradients(loss, tf.trainable_variables())]
    assert formats(fetches, [x]) == {"NHWC"} and transposes(fetches, [x]) <= 2


def test_switch():
    x = tf.placeholder(tf.float32, [2, 3, 4, 4])
    y = layer(x, 2)
    value = np.random.RandomState(0).randn(2, 3, 4, 4).astype(np.float32)
    results = []
    for switch in (0, OFF):
        with session(layout_optimizer=switch) as sess:
            sess.run(tf.global_variables_initializer())
            results.append(sess.run(y, {x: value}))
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_nothing_is_turned_for_one_transpose():
    x, y = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [3, 2])
    z = tf.matmul(tf.exp(tf.transpose(x)), tf.transpose(y))
    assert types_after([z], [x, y]).index("Transpose") < types_after([z], [x, y]).index("Exp")


def test_transposes_with_elementwise_ops_between_them():
    x, b = tf.placeholder(tf.float32, [2, 3, 4, 5]), tf.constant(2.0)
    transposed = tf.transpose(x, [0, 3, 1, 2])
    y = tf.exp(tf.transpose(tf.tanh(transposed) * b + transposed, [0, 2, 3, 1]))
    assert sorted(types_after([y], [x])) == sorted(["Const", "Tanh", "Mul", "AddV2", "Exp"])
    value = np.random.RandomState(0).randn(2, 3, 4, 5).astype(np.float32)
    with session() as on, session(layout_optimizer=OFF) as off:
        np.testing.assert_array_equal(on.run(y, {x: value}), off.run(y, {x: value}))


def test_a_value_that_is_seen_stays_as_it_is():
    x = tf.placeholder(tf.float32, [2, 3])
    seen = tf.tanh(tf.transpose(x))
    back = tf.exp(tf.transpose(seen))
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    with session() as sess:
        a, b = sess.run([seen, back], {x: value})
    np.testing.assert_array_equal(a, np.tanh(value).T)
    np.testing.assert_array_equal(b, np.exp(np.tanh(value)))


def test_broadcast_operands_of_lower_rank():
    x = tf.placeholder(tf.float32, [None, 3, 4, 5])
    y = tf.nn.relu(tf.nn.bias_add(x, [1.0, 2.0, 3.0], data_format="NCHW") * np.arange(5, dtype=np.float32) + np.ones((3, 1, 1), np.float32))
    value = np.random.RandomState(0).randn(2, 3, 4, 5).astype(np.float32)
    assert formats([y], [x]) == {"NHWC"}
    with session() as on, session(layout_optimizer=OFF) as off:
        np.testing.assert_array_equal(on.run(y, {x: value}), off.run(y, {x: value}))


def test_variable_is_read_after_a_write_that_comes_first():
    v = tf.Variable(np.zeros((1, 2, 3, 3), np.float32), use_resource=False)
    with tf.control_dependencies([v.assign_add(tf.ones([1, 2, 3, 3]))]):
        y = tf.nn.bias_add(v._ref(), [10.0, 20.0], data_format="NCHW")
    z = tf.nn.relu(y)
    with session() as sess:
        sess.run(v.initializer)
        assert sess.run(z)[0, :, 0, 0].tolist() == [11.0, 21.0]


@pytest.mark.parametrize("shape", [(2, 1, 1), (1, 2, 1, 1), (1,)])
def test_an_operand_of_any_rank_is_read_after_a_write_that_comes_first(shape):
    x = tf.placeholder(tf.float32, [None, 2, 3, 3])
    v = tf.Variable(np.zeros(shape, np.float32), use_resource=False)
    y = tf.nn.bias_add(x, [10.0, 20.0], data_format="NCHW")
    write = v.assign_add(tf.py_func(lambda value: value, [tf.ones(shape)], tf.float32))
    with tf.control_dependencies([write.op]):
        z = tf.nn.relu(y) + v
    with session() as sess:
        sess.run(v.initializer)
        assert sess.run(z, {x: np.zeros((1, 2, 3, 3))})[0, :, 0, 0].tolist() == [11.0, 21.0]


# --- random networks -----------------------------------------------------------------------------------------------------------------

def grown(choose, x):
    """Random layers of images, some with their channels first, some last; a number."""
    values = [x]
    moves = [
        lambda a, b: layer(a, choose.randrange(1, 4), choose.choice([1, 3])),
        lambda a, b: tf.nn.max_pool(a, [1, 1, 2, 2], [1, 1, 1, 1], "SAME", data_format="NCHW"),
        lambda a, b: tf.nn.avg_pool(a, [1, 1, 2, 2], [1, 1, 1, 1], "SAME", data_format="NCHW"),
        lambda a, b: tf.nn.fused_batch_norm(a, tf.ones([a.shape[1]]), tf.zeros([a.shape[1]]), data_format="NCHW")[0],
        lambda a, b: tf.concat([a, b], choose.choice([1, -3])),
        lambda a, b: tf.tanh(a) * 0.5 + tf.reduce_mean(b, [1], keepdims=True),
        lambda a, b: a * tf.reduce_sum(b, [0, 2, 3], keepdims=True)[:, :1] * 0.01,
        lambda a, b: tf.pad(a, [[0, 0], [1, 0], [0, 0], [0, 0]]),
        lambda a, b: a[:, :2],
        lambda a, b: tf.slice(a, [0, 0, 0, 0], [-1, 1, -1, -1]),
        lambda a, b: tf.transpose(tf.nn.relu(tf.transpose(a, [0, 2, 3, 1])), [0, 3, 1, 2]),
        lambda a, b: tf.tile(a, [1, 2, 1, 1]),
        lambda a, b: tf.reshape(tf.reshape(a, [-1, int(a.shape[1]) * 25]), [-1, int(a.shape[1]), 5, 5]),
    ]
    for _ in range(choose.randrange(3, 10)):
        values.append(choose.choice(moves)(choose.choice(values[-3:]), choose.choice(values)))
    return values[-1]


@pytest.mark.parametrize("seed", range(8))
def test_random_networks(seed):
    choose = random.Random(seed)
    for _ in range(4):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [choose.choice([2, None]), 2, 5, 5])
            y = grown(choose, x)
            loss = tf.reduce_sum(tf.square(y))
            fetches = [y, loss, *(g for g in tf.gradients(loss, [x, *tf.trainable_variables()]) if g is not None)]
            value = np.random.RandomState(seed).randn(2, 2, 5, 5).astype(np.float32)
            results = []
            for switch in (0, OFF):
                with session(layout_optimizer=switch) as sess:
                    sess.run(tf.global_variables_initializer())
                    results.append(sess.run(fetches, {x: value}))
            for on, off in zip(*results):
                np.testing.assert_allclose(on, off, rtol=2e-4, atol=2e-5 * max(1.0, np.abs(off).max()))
