"""Random numbers of native code: those of the NumPy kernels, and a generator that stands where it should afterwards."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import lookup
from penstock.native.calls import Unsupported
from penstock.native.config import config
from penstock.ops.random import distributions
from penstock.ops.random.philox import Philox
from support.native import run
from support.plans import regions_of

pytestmark = pytest.mark.process


def both(how, size, dtype, skipped=0, threads=2):
    """(native numbers, NumPy's numbers), each from a generator of its own; the generators end at the same place."""
    ours, theirs = (Philox(0x123456789ABCDEF0, -3) for _ in range(2))
    for each in (ours, theirs):
        each.skip(skipped)
    op_type = {"uniform": "_DrawUniform", "normal": "_DrawNormal", "truncated_normal": "_DrawTruncated"}[how]
    found, = run(lookup(op_type), [ours.mutable(), np.array([size], np.int32)], {"dtype": tf.as_dtype(dtype)}, threads, known=(1,))
    expected = getattr(distributions, how)(theirs, [size], np.dtype(dtype))
    assert ours.state == theirs.state
    return found, expected


@pytest.mark.parametrize("size", [0, 1, 3, 63, 64, 65, 1000, 40_001])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_numbers_are_the_same_bits(size, dtype):
    found, expected = both("uniform", size, dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("size", [0, 1, 65, 40_001])
@pytest.mark.parametrize("how,dtype", [("normal", np.float32), ("truncated_normal", np.float32), ("normal", np.float64)])
def test_normal_numbers(size, how, dtype):
    found, expected = both(how, size, dtype)
    np.testing.assert_allclose(found, expected, 2e-7 if dtype == np.float32 else 1e-14, 1e-9 if dtype == np.float32 else 1e-15)


def test_the_counter_carries():
    for skipped in ((1 << 64) - 5, (1 << 128) - 5):
        np.testing.assert_array_equal(*both("uniform", 1000, np.float32, skipped))


def test_threads_make_no_difference():
    one, several = (both("uniform", 100_000, np.float32, threads=threads)[0] for threads in (1, 3))
    np.testing.assert_array_equal(one, several)


def test_other_types_are_left_to_numpy():
    with pytest.raises(Unsupported):
        both("truncated_normal", 5, np.float64)


def test_steps_with_and_without_native_code_share_a_generator(monkeypatch):
    def steps(modes):
        with tf.Graph().as_default():
            tf.set_random_seed(7)
            x = tf.placeholder(tf.float32, [None, 50])
            y = tf.reduce_sum(tf.nn.dropout(x * 2.0, 0.5), 0)
            found = []
            with tf.Session() as session:
                for rows, mode in enumerate(modes, 3):
                    monkeypatch.setattr(config, "mode", mode)
                    found.append(session.run(y, {x: np.ones((rows % 2 + 3, 50), np.float32)}))
            return found
    for one, other in zip(steps(["off"] * 4), steps(["eager", "eager", "off", "eager"])):
        np.testing.assert_array_equal(one, other)


def test_a_step_with_random_numbers_is_native():
    """Its region is given a generator among arrays: it can look at that, too."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 50])
        y = tf.reduce_sum(tf.nn.dropout(x * 2.0, 0.5) + tf.random_normal([50]), 0)
        with tf.Session() as session:
            session.run(y, {x: np.ones((3, 50), np.float32)})
            regions = regions_of(session)
    assert [(len(region._ready), region.fallbacks) for region in regions] == [(1, {})]


@pytest.mark.parametrize("size", [0, 1, 31, 64, 65, 40_001])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("low,high", [(0, 10), (-7, 1000), (5, 6), ("lowest", "highest")])
def test_integers_are_the_same_bits(size, dtype, low, high):
    limits = np.iinfo(dtype)
    bounds = [np.array({"lowest": limits.min, "highest": limits.max}.get(each, each), dtype) for each in (low, high)]
    ours, theirs = (Philox(0x123456789ABCDEF0, -3) for _ in range(2))
    found, = run(lookup("_DrawUniformInt"), [ours.mutable(), np.array([size], np.int32), *bounds], {"Tout": tf.as_dtype(dtype)}, 2, known=(1,))
    np.testing.assert_array_equal(found, distributions.uniform_int(theirs, [size], *bounds, np.dtype(dtype)))
    assert found.dtype == dtype
    assert ours.state == theirs.state


def test_a_range_without_integers_is_an_error():
    low = tf.placeholder(tf.int32, [])
    numbers = tf.random_uniform([5], low, 7, tf.int32, seed=1) * 2 + 1
    with tf.Session() as session:
        assert (session.run(numbers, {low: 6}) == 13).all()
        with pytest.raises(tf.errors.InvalidArgumentError, match="Need minval < maxval, got 7 >= 7"):
            session.run(numbers, {low: 7})
