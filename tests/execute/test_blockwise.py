"""Kernels over blocks of large arrays: what they give is what they give at once, also over an input that is not needed any more."""
from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import penstock as tf
from penstock.execute import blockwise
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from penstock.program import ir
from support import build
from support.build import Call
from support.examples import EXAMPLES, load

pytestmark = pytest.mark.process
load()
OPS = sorted(name for name, definition in REGISTRY.items() if definition.elementwise or definition.rows)
CASES = [example for name in OPS for example in EXAMPLES.get(name, ()) if example.run]
MB = 1 << 20


@pytest.fixture
def small(monkeypatch):
    """Every array is large, and a block has few elements."""
    monkeypatch.setattr(blockwise, "LARGE", 1)
    monkeypatch.setattr(blockwise, "_BLOCK", 24)


@np.errstate(all="ignore")
@pytest.mark.parametrize("example", CASES, ids=[example.label for example in CASES])
def test_blocks_agree_with_the_whole(example, small):
    with Graph().as_default():
        call = Call(example, build.as_unknown if example.unknown else build.as_known)
        given = [tensor for tensors in call.arguments for tensor in tensors]
        node = ir.prune(call.outputs, (), list(dict.fromkeys(given))).nodes[-1]
    kernel = node.definition.bind(node, None)
    arrays = [array for arrays in call.arrays for array in arrays]
    wanted = as_tuple(kernel(*arrays))
    if not blockwise.runs_in_blocks(node):
        return
    for spare in (False, True):
        values = [array.copy() for array in arrays]
        found = as_tuple(blockwise.in_blocks(node, kernel)(*values, spare=[value for value in values if value.ndim] if spare else ()))
        for one, other in zip(found, wanted):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_array_equal(one, other)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def test_every_op_by_rows_has_an_example():
    assert {name for name in OPS if REGISTRY[name].rows} <= {example.op_type for example in CASES}


def test_a_vector_is_one_row(small):
    x = np.linspace(-1, 1, 50, dtype=np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.float32, [None])
        np.testing.assert_allclose(session.run(tf.nn.softmax(given), {given: x}).sum(), 1, rtol=1e-6)


def test_what_somebody_holds_is_not_written_over(small):
    """Fed, fetched, in a variable, a constant, used again, or seen through a view: it stays."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    with tf.Graph().as_default(), tf.Session() as session:
        fed, variable = tf.placeholder(tf.float32, [3, 4]), tf.Variable(x)
        session.run(variable.initializer)
        made = tf.tanh(fed)
        row = made[1]
        results = {"twice": (made + 1.0) * made, "view": row + (made * 2.0)[0], "fed": fed * 2.0, "variable": variable * 3.0, "made": made,
                   "constant": tf.constant(x) - fed}
        for _ in range(2):
            found = session.run(results, {fed: x})
            held = {name: value.copy() for name, value in found.items()}
            again = session.run(results, {fed: x})
            for name, value in found.items():
                np.testing.assert_array_equal(value, held[name], name)
                np.testing.assert_array_equal(again[name], held[name], name)
        np.testing.assert_array_equal(session.run(variable), x)
    np.testing.assert_array_equal(x, np.arange(12, dtype=np.float32).reshape(3, 4))
    np.testing.assert_array_equal(found["twice"], (np.tanh(x) + 1) * np.tanh(x))


def peak_of(build_step, shape):
    """Bytes that a step takes at its peak."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, shape)
        step = build_step(x)
        feed = {x: np.ones(shape, np.float32)}
        session.run(step, feed)
        tracemalloc.start()
        session.run(step, feed)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak


def test_a_chain_takes_the_memory_of_one_array():
    def chain(x):
        for _ in range(4):
            x = tf.tanh(x * 1.5 + tf.range(1024.0)) - tf.nn.softmax(tf.nn.sigmoid(x))
        return tf.reduce_sum(x)
    assert peak_of(chain, [1024, 1024]) < 13 * MB  # two arrays of 4 MB and a third for a moment: x is needed twice


def test_a_loss_takes_the_memory_of_its_logits():
    def loss(x):
        logits = x * 2.0
        labels = tf.zeros([1024], tf.int32)
        return tf.gradients(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), x)[0]
    assert peak_of(loss, [1024, 1024]) < 6 * MB


def test_what_nobody_reads_does_not_stay():
    def parts(x):
        total = 0.0
        for _ in range(5):
            mean, _ = tf.nn.moments(tf.unique_with_counts(tf.reshape(x, [-1]))[1] + 0, [0])  # three outputs, of which one is read
            total += tf.cast(mean, tf.float32)
        return total
    assert peak_of(parts, [512, 512]) < 24 * MB
