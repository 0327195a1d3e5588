"""Small packages of tf.contrib: what golden values cannot show."""
import numpy as np
import pytest

import penstock as tf
from penstock.contrib import reduce_slice_ops
from penstock.contrib.constrained_optimization.optimizers import _left_in_place


def test_a_slice_that_begins_before_the_data_raises():
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="begins at 0"):
        session.run(reduce_slice_ops.reduce_slice_sum(tf.constant([1.0, 2.0]), tf.placeholder_with_default([[-1, 2]], [None, 2]), 0))


def test_a_negative_axis_raises():
    with pytest.raises(ValueError, match="axis -1 is out of range"):
        reduce_slice_ops.reduce_slice_sum(tf.constant([[1.0, 2.0]]), [[0, 1]], -1)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slices_of_data_of_unknown_rank(axis):
    data = np.random.RandomState(0).normal(size=[4, 5, 3]).astype(np.float32)
    slices = [[0, 2], [1, 1], [1, 9], [0, 3]]
    with tf.Session() as session:
        placeholder = tf.placeholder(tf.float32)
        largest = reduce_slice_ops.reduce_slice_max(placeholder, slices, tf.placeholder_with_default(np.int64(axis), []))
        got = session.run(largest, {placeholder: data})
    parts = [data.take(np.arange(begin, min(end, data.shape[axis])), axis).max(axis, initial=-np.inf) for begin, end in slices]
    np.testing.assert_array_equal(got, np.stack(parts, axis))


def test_a_matrix_that_leaves_many_distributions_in_place():
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(_left_in_place(tf.eye(3))), np.full(3, 1 / 3), rtol=1e-6)


def test_the_spectrum_of_a_real_kernel_is_hermitian():
    # TensorFlow 1.15 multiplies an int32 with a float there, and raises TypeError for every operator.
    with tf.Session() as session:
        session.run(tf.linalg.LinearOperatorCirculant(np.array([4, 1j, -1j], np.complex64)).assert_hermitian_spectrum())
        with pytest.raises(tf.errors.InvalidArgumentError, match="Spectrum was not Hermitian"):
            session.run(tf.linalg.LinearOperatorCirculant(np.array([4, 1j, 1j], np.complex64)).assert_hermitian_spectrum())
