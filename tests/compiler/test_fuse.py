"""The fusion pass: what becomes a group, that results do not change, and that errors name the op inside."""
import numpy as np
import pytest

import penstock as tf
from penstock.compiler import ir
from penstock.compiler.config import config
from penstock.compiler.fuse import fuse


@pytest.fixture(autouse=True)
def eager(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(config, "mode", "eager")


def fused(fetches, feeds):
    program = ir.prune(fetches, (), feeds)
    fuse(program)
    ir.check(program)
    return [node for node in program.nodes if node.definition.type == "_Fused"]


def test_a_chain_is_one_node_and_gives_the_same():
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 3])
    z = tf.tanh(x * y + 1.0) * tf.sigmoid(x) - tf.exp(-y * y)
    (group,) = fused([z], [x, y])
    assert len(group.attrs["names"]) == 9
    a, b = np.random.RandomState(0).normal(size=(2, 5, 3)).astype(np.float32)
    with tf.Session() as session:
        got = session.run(z, {x: a, y: b})
    np.testing.assert_allclose(got, np.tanh(a * b + 1) / (1 + np.exp(-a)) - np.exp(-b * b), rtol=1e-5, atol=1e-6)


def test_what_is_needed_elsewhere_stays_outside():
    x = tf.placeholder(tf.float32, [4])
    inner = tf.exp(x)
    outer = tf.sqrt(inner + 1.0)
    (group,) = fused([outer, inner], [x])
    assert inner.op.name not in group.attrs["names"]
    with tf.control_dependencies([inner]):
        late = tf.identity(x)
    assert all(inner.op.name not in group.attrs["names"] for group in fused([outer, late], [x]))


def test_error_names_the_op_inside():
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    z = tf.exp(tf.add(x, y, name="inside"))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="inside"):
        session.run(z, {x: [1.0, 2.0], y: [1.0, 2.0, 3.0]})


def test_training_is_the_same():
    def train(mode):
        config.mode = mode
        rng = np.random.RandomState(0)
        with tf.Graph().as_default(), tf.Session() as session:
            w = tf.Variable(rng.normal(size=(4, 3)))
            loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(rng.normal(size=(8, 4)), w)) * 2.0 - 1.0))
            step = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
            session.run(tf.global_variables_initializer())
            return [session.run([loss, step])[0] for _ in range(20)]

    np.testing.assert_allclose(train("eager"), train("off"), rtol=1e-12)
