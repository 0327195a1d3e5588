"""CheckNumerics inside of native code: the step ends with the kernel's words, wherever the bad value is and whatever else its loop computes."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.session.session import Session
from support.imperative import imperative

pytestmark = pytest.mark.process

BAD = [(np.nan, "NaN"), (np.inf, "Inf"), (-np.inf, "Inf")]


def warm(session: Session, fetch, feeds) -> None:
    """Runs a step until it is native."""
    for _ in range(3):
        session.run(fetch, feeds)


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
@pytest.mark.parametrize(("bad", "kinds"), BAD)
def test_a_native_step_refuses_what_is_not_finite(dtype, bad, kinds):
    x = tf.placeholder(dtype, [64, 80])
    total = tf.reduce_sum(tf.check_numerics(x * 2, "doubled") + 1)
    good = np.zeros([64, 80])
    wrong = good.copy()
    wrong[63, 79] = bad
    with tf.Session() as session:
        for _ in range(3):
            assert session.run(total, {x: good}) == 64 * 80
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"doubled : Tensor had {kinds} values"):
            session.run(total, {x: wrong})
        assert session.run(total, {x: good}) == 64 * 80


def fused(x):
    return tf.check_numerics(tf.exp(x) * 2, "here") + 1


def unfused(x):
    return tf.check_numerics(x, "here")


def of_a_product(x):
    return tf.check_numerics(tf.matmul(x[:, None], tf.ones([1, 3], x.dtype)), "here")


def between_reductions(x):
    return tf.reduce_sum(tf.check_numerics(x - tf.reduce_max(x * 0), "here"))


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
@pytest.mark.parametrize("build", [fused, unfused, of_a_product, between_reductions])
@pytest.mark.parametrize("size", [1, 7, 37])
def test_every_position(build, dtype, size):
    """Whole vectors, the partial one behind them, single numbers."""
    x = tf.placeholder(dtype, [None])
    result = build(x)
    with tf.Session() as session:
        warm(session, result, {x: np.zeros(size)})
        for position in range(size):
            for bad, kinds in BAD[:2]:
                wrong = np.zeros(size)
                wrong[position] = bad
                with pytest.raises(tf.errors.InvalidArgumentError, match=rf"here : Tensor had .*(NaN|{kinds}).* values"):
                    session.run(result, {x: wrong})
        session.run(result, {x: np.zeros(size)})


@pytest.mark.parametrize("size", [1, 40, 300_000])
def test_several_checks_in_one_loop(size):
    """Each may be the one that finds something; the others, which do not, must not hide it."""
    inputs = [tf.placeholder(tf.float32, [size]) for _ in range(3)]
    checked = [tf.check_numerics(x * 2, f"number {index}") for index, x in enumerate(inputs)]
    total = tf.add_n(checked)
    good = [np.zeros(size, np.float32)] * 3
    with tf.Session() as session:
        warm(session, total, dict(zip(inputs, good)))
        for index in range(3):
            wrong = good.copy()
            wrong[index] = np.full(size, np.nan)
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"number {index} : Tensor had NaN values"):
                session.run(total, dict(zip(inputs, wrong)))


def test_divisions_in_one_loop():
    """Those of integers are checked in the same way."""
    x, y = (tf.placeholder(tf.int32, [20]) for _ in range(2))
    total = 100 // x + 100 // y
    ones, zero = np.ones(20, np.int32), np.arange(20, dtype=np.int32)
    with tf.Session() as session:
        warm(session, total, {x: ones, y: ones})
        for feeds in ({x: zero, y: ones}, {x: ones, y: zero}):
            with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
                session.run(total, feeds)


@pytest.mark.parametrize("size", [1, 40, 300_000])
@pytest.mark.parametrize("how", ["value", "control"])
def test_what_waits_for_a_check_is_not_written(size, how):
    x = tf.placeholder(tf.float32, [size])
    variable = tf.get_variable("v", [size], initializer=tf.zeros_initializer())
    checked = tf.check_numerics(x * 2, "here")
    with tf.control_dependencies([checked] if how == "control" else []):
        update = variable.assign_add(checked if how == "value" else tf.square(x) + 1).op
    wrong = np.zeros(size)
    wrong[-1] = np.nan
    with tf.Session() as session:
        session.run(variable.initializer)
        warm(session, update, {x: np.ones(size)})
        before = session.run(variable)
        with pytest.raises(tf.errors.InvalidArgumentError, match="here : Tensor had NaN values"):
            session.run(update, {x: wrong})
        np.testing.assert_array_equal(session.run(variable), before)


def test_checks_whose_results_are_not_used():
    x = tf.placeholder(tf.float32, [None], name="x")
    inner = tf.log(x, name="inner")
    outer = tf.reduce_sum(inner * 2.0, name="outer")
    checks = tf.add_check_numerics_ops()
    with tf.Session() as session:
        warm(session, [outer, checks], {x: [1.0, 1.0]})
        for value, kinds in ((-1.0, "NaN"), (0.0, "Inf")):
            for size in (1, 2, 40):
                with pytest.raises(tf.errors.InvalidArgumentError, match=f"inner:0 : Tensor had {kinds} values"):
                    session.run([outer, checks], {x: [1.0] * (size - 1) + [value]})


def test_nothing_to_check():
    x = tf.placeholder(tf.float32, [None, 3])
    result = tf.check_numerics(x * 2, "here") + 1
    with tf.Session() as session:
        for rows in (2, 0, 2, 0, 0, 0):
            assert session.run(result, {x: np.ones([rows, 3])}).shape == (rows, 3)


def test_gradients_are_checked():
    x = tf.placeholder(tf.float32, [5])
    gradient = tf.gradients(tf.sqrt(tf.check_numerics(x, "here")), x)[0]
    with tf.Session() as session:
        warm(session, gradient, {x: np.ones(5)})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"detected in gradient\. here : Tensor had Inf values"):
            session.run(gradient, {x: [1, 1, 0, 1, 1]})


def test_imperatively():
    with imperative():
        for _ in range(4):
            good = tf.check_numerics(tf.constant(np.ones(37, np.float32)) * 2, "here") + 1
            assert float(tf.reduce_sum(good)) == 37 * 3
            with pytest.raises(tf.errors.InvalidArgumentError, match="here : Tensor had NaN values"):
                (tf.check_numerics(tf.log(tf.constant(-np.ones(37, np.float32))), "here") + 1).numpy()


@pytest.mark.parametrize("size", [1, 40])
def test_a_check_that_is_only_a_target(size):
    """Nothing uses its result, nor waits for it: it is fetched as an operation beside a value."""
    x = tf.placeholder(tf.float32, [None])
    inner = tf.log(x)
    outer, check = tf.reduce_sum(inner * 2), tf.check_numerics(inner, "inner").op
    with tf.Session() as session:
        warm(session, [outer, check], {x: np.ones(size)})
        for bad, kinds in ((-1.0, "NaN"), (0.0, "Inf")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"inner : Tensor had {kinds} values"):
                session.run([outer, check], {x: [*[1.0] * (size - 1), bad]})
