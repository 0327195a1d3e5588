"""Constants that meet."""
from __future__ import annotations

import numpy as np
import pytest
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

import penstock as tf
from penstock.program.passes import PassOptions
from support.programs import session, types_after

pytestmark = pytest.mark.process


@pytest.mark.parametrize("build, left", [
    (lambda x: (x * 2.0) * 3.0, ["Const", "Mul", "Exp"]), (lambda x: 3.0 * (2.0 * x), ["Const", "Mul", "Exp"]),
    (lambda x: (x + 1.0) + 2.0, ["Const", "AddV2", "Exp"]), (lambda x: tf.add(tf.add(x, 1.0), 2.0), ["Const", "Add", "Exp"]),
    (lambda x: ((x * 2.0) * 3.0) * 4.0, ["Const", "Mul", "Exp"])])
def test_constants_meet(build, left):
    x = tf.placeholder(tf.float32, [3])
    y = tf.exp(build(x))
    assert types_after([y], [x]) == left
    assert len(types_after([y], [x], PassOptions(factors=False))) > len(left)
    with session() as on, session(constant_folding=RewriterConfig.OFF) as off:
        value = np.array([0.1, -0.7, 0.33], np.float32)
        np.testing.assert_allclose(on.run(y, {x: value}), off.run(y, {x: value}), rtol=1e-6)


@pytest.mark.parametrize("build", [
    lambda x: (x * 1e30) * 1e30, lambda x: (x * 1e-30) * 1e-30, lambda x: (x * 0.0) * 2.0, lambda x: (x * np.float32(np.inf)) * 2.0,
    lambda x: (x + 8388608.0) + -8388608.0, lambda x: (x * 2.0) + 3.0, lambda x: (x * [2.0, 3.0, 4.0]) * 2.0])
def test_constants_that_do_not_meet(build):
    x = tf.placeholder(tf.float32, [3])
    y = tf.exp(build(x))
    assert len([kind for kind in types_after([y], [x]) if kind != "Const"]) == 3


def test_a_product_that_others_use_stays():
    x = tf.placeholder(tf.float32, [3])
    twice = x * 2.0
    assert types_after([tf.exp(twice * 3.0), tf.tanh(twice)], [x]).count("Mul") == 2


def test_whole_numbers_meet():
    x = tf.placeholder(tf.int32, [2])
    y = tf.negative((x * (1 << 20)) * (1 << 13))
    assert types_after([y], [x]).count("Mul") == 1
    with session() as on, session(constant_folding=RewriterConfig.OFF) as off:
        assert on.run(y, {x: [1, 5]}).tolist() == off.run(y, {x: [1, 5]}).tolist()
