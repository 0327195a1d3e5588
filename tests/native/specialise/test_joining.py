"""Concat and stack: what is joined is written in its place, by every kind of kernel, also if other nodes read it."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config
from penstock.native.table import arena
from support.plans import regions_of


def run(build, monkeypatch):
    """What native code computes between guard bytes, after a comparison with NumPy; and how many copies the joining took."""
    monkeypatch.setattr(arena, "GUARD", 64)
    found = []
    for mode in ("off", "eager"):
        monkeypatch.setattr(config, "mode", mode)
        with tf.Graph().as_default():
            fetches, feeds = build(np.random.RandomState(0))
            with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=2)) as session:
                session.run(tf.global_variables_initializer())
                found.append(session.run(fetches, feeds))
                regions = regions_of(session)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, 1e-4, 1e-4 * np.abs(one).max())
    tables = [ready._table for each in regions for ready in each._ready.values()]
    for each in tables:
        assert not any(instance.overrun() for instance in each._idle)
    assert tables
    return sum(call.label in ("concat", "pack") for each in tables for call in each.calls)


def images(random, *shape):
    x = tf.placeholder(tf.float32, shape)
    return x, {x: random.rand(*shape).astype("f")}


def kernel(random, *shape):
    return tf.constant((random.rand(*shape) - 0.5).astype("f"))


def inception(random):
    x, feeds = images(random, 3, 14, 14, 48)
    one = tf.nn.relu(tf.nn.conv2d(x, kernel(random, 1, 1, 48, 40), 1, "SAME"))
    winograd = tf.nn.relu(tf.nn.conv2d(x, kernel(random, 3, 3, 48, 64), 1, "SAME") + kernel(random, 64))
    wide = tf.nn.conv2d(x, kernel(random, 5, 5, 48, 35), 1, "SAME")
    pooled = tf.nn.max_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME")
    mean = tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME")
    y = tf.concat([one, winograd, tf.tanh(wide), pooled, wide, mean], 3)
    return [tf.reduce_sum(y * y, 3), *tf.gradients(tf.reduce_sum(y * tf.sin(y)), x)], feeds


def rows(random):
    x, feeds = images(random, 20, 70)
    a, b = tf.tanh(x), tf.matmul(x, kernel(random, 70, 45))
    c = tf.matmul(tf.concat([a, b], 1), kernel(random, 115, 33)) + kernel(random, 33)
    return [tf.exp(tf.concat([c, a * 2.0], 1)), tf.concat([tf.matmul(x, kernel(random, 70, 70)), x + 1.0], 0) * 2.0], feeds


def cell(random):
    x, feeds = images(random, 20, 40)
    state = h = tf.zeros([20, 40])
    weights = kernel(random, 80, 160)
    for _ in range(3):
        i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), weights), 4, 1)
        state = state * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(state) * tf.sigmoid(o)
    return [h, *tf.gradients(tf.reduce_sum(h * h), [x])], feeds


def stacked(random):
    x, feeds = images(random, 5, 64)
    parts = [tf.tanh(x * k) for k in range(3)]
    return [tf.stack(parts) * 2.0, tf.stack([tf.sin(part) for part in parts], 1) + 1.0], feeds


@pytest.mark.parametrize("build,copies", [(inception, 1), (rows, 0), (cell, 4), (stacked, 0)])
def test_producers_write_in_place(build, copies, monkeypatch):
    """Copied are what comes from outside (``x``, in each turn of ``cell``, and the first ``h``), and what the gradient of a pooling reads."""
    assert run(build, monkeypatch) == copies


def test_what_cannot_be_in_place_is_copied(monkeypatch):
    def build(random):
        x, feeds = images(random, 6, 50)
        y, z = tf.tanh(x), tf.cumsum(tf.exp(x), 1)
        short = tf.tanh(tf.reshape(x, [100, 3]))
        split = tf.split(tf.sin(x), 2, 1)
        return [tf.concat([y, y], 1) + 1.0, tf.concat([z, x], 1) * 2.0, y, tf.concat([short, short * 2.0], 1) + 1.0,
                tf.concat([split[0], tf.exp(split[1])], 1) + tf.concat([tf.exp(split[1]), split[1]], 1), tf.concat([y, x[:, :0]], 1) + 0.5], feeds

    assert run(build, monkeypatch) > 0


def test_batches_of_products_stay_where_rows_do_not_fit(monkeypatch):
    """The rows of a joined part are the rows of several matrices."""
    def build(random):
        x, feeds = images(random, 4, 6, 40)
        y = tf.matmul(x, tf.tile(kernel(random, 1, 40, 40), [4, 1, 1]))
        z = tf.matmul(tf.reshape(x, [24, 40]), kernel(random, 40, 40))
        return [tf.concat([y, tf.reshape(z, [4, 6, 40])], axis) + 1.0 for axis in range(3)], feeds

    run(build, monkeypatch)


def test_a_group_of_control_inputs_does_not_cut_a_region():
    x = tf.placeholder(tf.float32, [None, 40])
    first = [tf.tanh(x), tf.exp(x)]
    together = tf.tuple(first)
    y = tf.reduce_sum(together[0] * together[1]) + 1.0
    with tf.Session() as session:
        value = np.random.RandomState(0).rand(3, 40).astype("f")
        np.testing.assert_allclose(session.run(y, {x: value}), (np.tanh(value) * np.exp(value)).sum() + 1, rtol=1e-5)
        assert len(regions_of(session)) == 1
        session.run([tf.group(y), y], {x: value})
