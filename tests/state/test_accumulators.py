"""Accumulators: means and sums of gradients, of one thread or many."""
from __future__ import annotations

import pytest

import penstock as tf
from support.threads import LONG, SHORT, in_threads


def test_dense_accumulator():
    acc = tf.ConditionalAccumulator(tf.float32, shape=[2])
    gradient, step = tf.placeholder(tf.float32), tf.placeholder(tf.int64, [])
    apply, count, take = acc.apply_grad(gradient, local_step=step), acc.num_accumulated(), acc.take_grad(2)
    assert take.shape.as_list() == [2]
    with tf.Session() as session:
        session.run(apply, {gradient: [1.0, 2.0], step: 0})
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"ConditionalAccumulator '_\d+_conditional_accumulator'"):
            session.run(take, options=SHORT)
        for value in ([3.0, 4.0], [5.0, 6.0]):
            session.run(apply, {gradient: value, step: 0})
        assert session.run(count) == 3
        assert session.run(take).tolist() == [3, 4]  # the mean of all, not of the required ones alone
        session.run(apply, {gradient: [1.0, 2.0], step: 0})  # too old now
        assert session.run(count) == 0
        session.run(apply, {gradient: [1.0, 2.0], step: 1})
        session.run(acc.set_global_step(7))
        session.run(apply, {gradient: [1.0, 2.0], step: 6})
        assert session.run(count) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Shape mismatch: expected \[2\], got \[3\]"):
            session.run(apply, {gradient: [1.0, 2.0, 3.0], step: 9})
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_required must be positive, but was 0"):
            session.run(acc.take_grad(0))


def test_sum_instead_of_mean():
    acc = tf.ConditionalAccumulator(tf.float64, reduction_type="SUM")
    with tf.Session() as session:
        for _ in range(3):
            session.run(acc.apply_grad(tf.constant([1.0, 2.0], tf.float64)))
        assert session.run(acc.take_grad(3)).tolist() == [3, 6]
    with pytest.raises(ValueError, match="reduction_type"):
        tf.ConditionalAccumulator(tf.float32, reduction_type="MAX")


def test_sparse_accumulator():
    acc = tf.SparseConditionalAccumulator(tf.float32, shape=[5, 2])
    slices = tf.IndexedSlices(tf.constant([[1.0, 1.0], [2.0, 2.0]]), tf.constant([1, 3], tf.int64), tf.constant([5, 2], tf.int64))
    with tf.Session() as session:
        session.run(acc.apply_indexed_slices_grad(slices))
        session.run(acc.apply_grad([0, 3], [[10.0, 10.0], [4.0, 4.0]]))
        taken = session.run(acc.take_indexed_slices_grad(2))
        assert taken.indices.tolist() == [0, 1, 3] and taken.dense_shape.tolist() == [5, 2]
        assert taken.values.tolist() == [[10, 10], [1, 1], [3, 3]]  # a row's mean is over the gradients that have it
        for gradient, message in (
                (([0, 7], [[1.0, 1.0], [1.0, 1.0]]), "index of slice 1 exceeded limits of shape; index is 7 exceeded 5"),
                (([0], [[1.0, 1.0, 1.0]]), "expected values dim 1 to be 2, got 3"),
                (([0, 1, 2], [[1.0, 1.0]]), "Expected 3 non-empty input values, got 1"),
                (([0], [[1.0, 1.0]], [9, 2]), "expected shape dim 0 to be 5, got 9")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(acc.apply_grad(*gradient, local_step=5))
        assert session.run(acc.num_accumulated()) == 0


def test_gradients_of_many_threads_are_all_counted():
    acc = tf.ConditionalAccumulator(tf.int64, shape=[], reduction_type="SUM")
    apply, take = acc.apply_grad(tf.constant(1, tf.int64), local_step=10**6), acc.take_grad(80)
    with tf.Session() as session:
        in_threads(*[lambda: [session.run(apply) for _ in range(10)]] * 8)
        assert session.run(take, options=LONG) == 80


@pytest.mark.parametrize(("shape", "expected"), [(None, [-1, 2]), ([None, 2], [-1, 2]), ([3, 2], [3, 2])])
def test_the_dense_shape_is_that_of_the_accumulator(shape, expected):
    """Not that of a gradient: others may have more rows."""
    acc = tf.SparseConditionalAccumulator(tf.float32, shape=shape)
    with tf.Session() as session:
        session.run(acc.apply_grad([0, 2], [[0.0, 1.0], [3.0, 0.0]], [3, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected values dim 1 to be 2, got 3"):
            session.run(acc.apply_grad([0], [[1.0, 1.0, 1.0]]))
        assert session.run(acc.take_indexed_slices_grad(1)).dense_shape.tolist() == expected
