"""Percentiles, and moving means and variances, against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

ds = tf.contrib.distributions
X = np.random.RandomState(0).rand(3, 5, 4).astype(np.float32)


@pytest.mark.parametrize("q", [0, 33.3, 47, 100])
@pytest.mark.parametrize("interpolation", ["lower", "higher", "nearest"])
def test_percentiles(q, interpolation):
    with tf.Graph().as_default(), tf.Session() as sess:
        for axis in (None, 1, [0, -1]):
            wanted = np.percentile(X, q, axis=tuple(axis) if isinstance(axis, list) else axis, method=interpolation, keepdims=True)
            found, kept = sess.run([ds.percentile(X, q, axis, interpolation), ds.percentile(X, q, axis, interpolation, keep_dims=True)])
            np.testing.assert_array_equal(kept, wanted)
            np.testing.assert_array_equal(found, wanted.reshape(found.shape))


def test_wrong_percentiles():
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(ValueError, match="interpolation"):
            ds.percentile(X, 50, interpolation="bad")
        with pytest.raises(ValueError, match=r"Expected.*ndims"):
            ds.percentile(X, [50.0])
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(ds.percentile(X, 101.0, validate_args=True))


def test_moving_statistics():
    values = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]], np.float32)
    mean, variance, exponential = np.zeros(2), np.zeros(2), np.ones(2)
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2])
        moving = ds.moving_mean_variance(x, 0.9)
        log_mean = tf.Variable([0.0, 0.0])
        update = ds.assign_log_moving_mean_exp(log_mean, x, 0.9)
        assert [v.op.name for v in tf.global_variables()][:2] == ["moving_mean_variance/moving_variance", "moving_mean_variance/moving_mean"]
        sess.run(tf.global_variables_initializer())
        for value in values:
            variance = 0.9 * (variance + 0.1 * (value - mean) ** 2)
            mean = 0.9 * mean + 0.1 * value
            exponential = 0.9 * exponential + 0.1 * np.exp(value)
            found = sess.run([*moving, update], {x: value})
            np.testing.assert_allclose(found, [mean, variance, np.log(exponential)], rtol=1e-5)
        with pytest.raises(TypeError, match="float type"):
            ds.assign_moving_mean_variance(tf.Variable([1]), tf.Variable([1]), [1], 0.9)


def test_the_old_name_of_an_argument():
    with tf.Graph().as_default():
        old = ds.Independent(ds.Normal([0.0, 1.0], [1.0, 1.0]), reduce_batch_ndims=1)
        assert old.event_shape.as_list() == [2] and old.parameters["reinterpreted_batch_ndims"] == 1
        with pytest.raises(ValueError, match="both"):
            ds.Independent(ds.Normal([0.0], [1.0]), reduce_batch_ndims=1, reinterpreted_batch_ndims=1)
