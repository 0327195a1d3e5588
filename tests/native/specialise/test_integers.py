"""Divisions and means of integers as native code: a divisor of zero is TensorFlow's error, and all else is what NumPy says."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config
from support.plans import regions_of

DIVISIONS = {"floordiv": tf.floordiv, "floormod": tf.floormod, "truncatediv": tf.truncatediv, "truncatemod": tf.truncatemod}


def outcomes(build, monkeypatch):
    """What NumPy and native code give; the latter has to be native as a whole."""
    found = []
    for mode in ("off", "eager"):
        monkeypatch.setattr(config, "mode", mode)
        with tf.Graph().as_default(), tf.Session() as session:
            fetches, feeds = build()
            found.append(session.run(fetches, feeds))
            regions = regions_of(session)
    assert regions
    assert all(each._ready and not each.fallbacks for each in regions)
    return found


@pytest.mark.parametrize("how", DIVISIONS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("fed", [False, True])
def test_divisions(how, dtype, fed, monkeypatch):
    limits = np.iinfo(dtype)
    random = np.random.RandomState(0)
    large = random.randint(2, 1 << 31, 30) >> random.randint(0, 20, 30)
    y = np.concatenate([[1, 2, 3, 7, -1, -2, -7, limits.max, limits.min], large]).astype(dtype)
    near = (limits.max // y)[9:] * y[9:]  # quotients that a float could take for the next one
    x = np.concatenate([np.arange(-50, 51), near, near - 1, near + 1, [limits.min, limits.max]]).astype(dtype)[:, None]

    def build():
        a, b = tf.placeholder(dtype, x.shape), tf.placeholder(dtype, y.shape)
        return DIVISIONS[how](a + 0, b + 0 if fed else y) * 1 + 1, {a: x, b: y}

    wanted, found = outcomes(build, monkeypatch)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == dtype


@pytest.mark.parametrize("how", DIVISIONS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_a_divisor_of_zero_is_an_error(how, shape):
    x, y = tf.placeholder(tf.int32, [2, 3]), tf.placeholder(tf.int32, shape)
    z = DIVISIONS[how](x + 1, y, name="quotient") * 2
    with tf.Session() as session:
        divisors = np.full(shape, 3, np.int32)
        session.run(z, {x: np.ones((2, 3)), y: divisors})
        divisors[(..., -1)[:1 + bool(shape)]] = 0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)Integer division by zero.*quotient"):
            session.run(z, {x: np.ones((2, 3)), y: divisors})


@pytest.mark.parametrize("how", DIVISIONS)
def test_nothing_can_be_divided_by_zero(how):
    """The gradient of a sum over all axes does so, where its operand turns out to be a scalar."""
    x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [])
    z = DIVISIONS[how](x + 1, y) * 2
    with tf.Session() as session:
        for _ in range(3):
            assert session.run(z, {x: [], y: 0}).shape == (0,)


def test_remainders_in_a_loop(monkeypatch):
    def build():
        n = tf.placeholder(tf.int32, [])
        return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i % 3 + i // 4), [0, 0]), {n: 50}

    wanted, found = outcomes(build, monkeypatch)
    assert found == wanted == (50, sum(i % 3 + i // 4 for i in range(50)))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("keepdims", [False, True])
def test_means(dtype, keepdims, monkeypatch):
    x = np.random.RandomState(0).randint(-100 if dtype != np.uint8 else 0, 100, (5, 70, 33)).astype(dtype)

    def build():
        a = tf.placeholder(dtype, x.shape)
        return [tf.reduce_mean(a + 1, axis, keepdims) for axis in (None, 0, 1, -1, [0, 2], [])] + [tf.reduce_mean(a[:, :0] + 1, 1)], {a: x}

    wanted, found = outcomes(build, monkeypatch)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
