"""Recomputation: copies for the backward pass, when they are asked for; equal results, less memory."""
from __future__ import annotations

import numpy as np
import pytest
from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

import penstock as tf
from penstock.debug.explain import Explainer
from penstock.program.passes import PassOptions
from support.programs import nodes_after, session

pytestmark = pytest.mark.process
HEURISTICS = RewriterConfig.RECOMPUTATION_HEURISTICS
VALUE = np.random.RandomState(0).randn(8, 16, 16, 8).astype(np.float32)


@pytest.fixture(autouse=True)
def graph(eager):
    with tf.Graph().as_default() as made:
        yield made


def network(x, layers=6, resource=False):
    """Convolutions with batch normalization, and a training step."""
    for index in range(layers):
        with tf.variable_scope(f"layer{index}", use_resource=resource):
            kernel = tf.get_variable("w", [1, 1, 8, 8], initializer=tf.random_uniform_initializer(-0.5, 0.5, seed=index))
            scale = tf.get_variable("scale", [8], initializer=tf.ones_initializer())
            y = tf.nn.fused_batch_norm(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"), scale, tf.zeros([8]))[0]
            x = tf.nn.relu(y + tf.get_variable("b", [8], initializer=tf.zeros_initializer()))
    loss = tf.reduce_mean(tf.square(x))
    return loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def trained(fetches, feeds, **rewrites):
    """Losses of three steps, and the arena's bytes."""
    with session(**rewrites) as sess:
        sess.run(tf.global_variables_initializer())
        with Explainer() as explainer:
            losses = [sess.run(fetches, feeds)[0] for _ in range(3)]
        (report,) = explainer.reports()
    return losses, report.arena_bytes


def copies(fetches, x, **options):
    return [node.name for node in nodes_after(fetches[:1], [x], PassOptions(**options), [fetches[1]]) if node.late]


@pytest.mark.parametrize("resource", [False, True])
def test_less_memory_and_equal_results(resource):
    x = tf.placeholder(tf.float32, [None, 16, 16, 8])
    fetches = network(x, 12, resource)
    kept, more = trained(fetches, {x: VALUE})
    again, less = trained(fetches, {x: VALUE}, memory_optimization=HEURISTICS)
    np.testing.assert_allclose(kept, again, rtol=1e-6)
    assert less < 0.75 * more


def test_without_native_code(monkeypatch):
    from penstock.native.config import config
    monkeypatch.setattr(config, "mode", "off")
    x = tf.placeholder(tf.float32, [None, 16, 16, 8])
    fetches = network(x, 3)
    results = []
    for how in (RewriterConfig.NO_MEM_OPT, HEURISTICS):
        with session(memory_optimization=how) as sess:
            sess.run(tf.global_variables_initializer())
            results.append([sess.run(fetches, {x: VALUE})[0] for _ in range(3)])
    assert results[0] == results[1]


def test_only_when_asked():
    x = tf.placeholder(tf.float32, [2, 16, 16, 8])
    fetches = network(x, 2)
    assert not copies(fetches, x)
    assert not copies(fetches, x, recompute_hinted=True)
    found = copies(fetches, x, recompute_cheap=True)
    assert any("Relu" in name for name in found) and not any("Conv2D" in name for name in found)
    assert not copies(fetches, x, recompute_cheap=True, gradient_scope="elsewhere/")


def test_hints():
    x = tf.placeholder(tf.float32, [2, 4])
    hidden = tf.matmul(x, tf.ones([4, 4]), name="hinted")
    hidden.op._set_attr("_recompute_hint", AttrValue(i=0))
    squared = tf.reduce_sum(tf.square(hidden))
    fetches = [squared, tf.gradients(squared, x)[0]]
    assert [node.name for node in nodes_after(fetches, [x], PassOptions(recompute_hinted=True)) if node.late] == ["Recomputed/hinted"]
    value = np.arange(8, dtype=np.float32).reshape(2, 4)
    with session() as off, session(memory_optimization=RewriterConfig.MANUAL) as on:
        for one, other in zip(on.run(fetches, {x: value}), off.run(fetches, {x: value})):
            np.testing.assert_array_equal(one, other)


def test_what_would_save_nothing_is_left_alone():
    x = tf.placeholder(tf.float32, [2, 4])
    w = tf.get_variable("w", [4, 4])
    loss = tf.reduce_sum(tf.matmul(tf.nn.relu(tf.matmul(x, w)), w))  # relu would need the product kept instead
    assert not copies([loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)], x, recompute_cheap=True)
