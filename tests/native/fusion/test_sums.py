"""Sums of products are one product, or products that add themselves to each other."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config
from support.special import check

_rng = np.random.RandomState(0)


@pytest.fixture(autouse=True)
def numpy_sessions(eager, monkeypatch):
    """Sessions are the oracle here; what a test feeds does not depend on the tests before it."""
    monkeypatch.setattr(config, "mode", "off")
    _rng.seed(0)


def feed(*shape, dtype=np.float32):
    value = _rng.normal(size=shape).astype(dtype)
    return tf.placeholder(value.dtype, shape), value


def products(count, m, k, n, transposed=(False, False), dtype=np.float32):
    """Products of ``count`` pairs of matrices, and what is fed for these. Inner extents differ."""
    terms, feeds = [], {}
    for index in range(count):
        inner = k + index % 3
        a, b = ((inner, m) if transposed[0] else (m, inner)), ((n, inner) if transposed[1] else (inner, n))
        (x, vx), (y, vy) = feed(*a, dtype=dtype), feed(*b, dtype=dtype)
        terms.append(tf.matmul(x, y, *transposed))
        feeds |= {x: vx, y: vy}
    return terms, feeds


def labels(special):
    return [call.label for call in special.calls]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_short_products_are_joined(transposed, dtype):
    terms, feeds = products(6, 33, 5, 41, transposed, dtype)
    special = check([tf.add_n(terms)], feeds, factor=4)
    assert labels(special).count("matmul") == 1 and "AddN" not in labels(special)


def test_what_else_is_in_the_sum_is_added():
    terms, feeds = products(4, 33, 5, 41)
    for count in (1, 2):
        others = [feed(33, 41) for _ in range(count)]
        special = check([tf.add_n([others[0][0], *terms, *[other for other, _ in others[1:]]])], feeds | dict(others), factor=4)
        assert labels(special).count("matmul") == 1


@pytest.mark.parametrize("others", [0, 1, 2])
def test_long_products_add_themselves(others):
    terms, feeds = products(3, 20, 300, 24)
    more = [feed(20, 24) for _ in range(others)]
    special = check([tf.add_n([*[x for x, _ in more], *terms])], feeds | dict(more), factor=8)
    assert labels(special) == (["AddN"] if others == 2 else []) + ["matmul"] * 3


def test_a_product_that_others_need_stays():
    terms, feeds = products(3, 33, 5, 41)
    special = check([tf.add_n(terms), terms[1], tf.add_n([terms[0], terms[0]])], feeds, factor=4)
    assert labels(special).count("matmul") == 3


def test_the_gradient_of_a_matrix_that_steps_share():
    (x, vx), (w, vw) = feed(4, 32), feed(32, 32)
    vw /= np.sqrt(32)  # or rounding grows from step to step
    y = x
    for _ in range(6):
        y = tf.tanh(tf.matmul(y, w))
    special = check(tf.gradients(tf.reduce_sum(y * y), [w]), {x: vx, w: vw}, factor=8)
    assert labels(special).count("matmul") == 6 + 5 + 1


def test_threads_do_not_change_bits():
    terms, feeds = products(6, 130, 20, 150)
    runs = [check([tf.add_n(terms)], feeds, factor=4) for _ in range(2)]
    first, *others = [run(list(feeds.values()))[0] for run in runs for _ in range(4)]
    assert all(np.array_equal(first, other) for other in others)


def test_products_of_a_variable_keep_their_place_in_time(monkeypatch):
    """One term is computed of the old value, the other one of the new: they cannot be one product."""
    monkeypatch.setattr(config, "mode", "eager")
    x, vx = feed(32, 4)
    v = tf.Variable(np.ones((4, 32), np.float32), use_resource=True)
    old = tf.matmul(x, v)
    with tf.control_dependencies([old]):
        update = v.assign(2 * v.read_value())
    with tf.control_dependencies([update]):
        new = tf.matmul(x, v.read_value())
    total = tf.add_n([old, new])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for factor in (3, 6, 12):
            found = session.run(total, {x: vx})
            np.testing.assert_allclose(found, np.repeat(vx.sum(1, keepdims=True) * factor, 32, 1), rtol=1e-5, atol=1e-5)
