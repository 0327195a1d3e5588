"""Partitioned variables: one tensor in several variables."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.variables import KINDS


@KINDS
@pytest.mark.parametrize("axis", [0, 1])
def test_parts_make_the_whole(sess, axis, resource):
    value = np.arange(35, dtype=np.float32).reshape(7, 5)
    whole = tf.get_variable("p", initializer=tf.constant(value), partitioner=tf.fixed_size_partitioner(3, axis), use_resource=resource)
    sess.run(tf.global_variables_initializer())
    assert len(whole) == 3 and whole.shape == (7, 5) and whole.name == "p" and whole.dtype is tf.float32
    np.testing.assert_array_equal(sess.run(tf.convert_to_tensor(whole)), value)
    sess.run(whole.assign(value * 2))
    sess.run(whole.assign_add(value))
    sess.run(whole.assign_sub(np.ones_like(value)))
    np.testing.assert_array_equal(sess.run(whole.as_tensor()), value * 3 - 1)
    np.testing.assert_array_equal(np.concatenate(sess.run(list(whole)), axis), value * 3 - 1)


def test_initializers_know_the_whole(sess):
    seen = []

    def initializer(shape, dtype, partition_info):
        seen.append((shape, partition_info.full_shape, partition_info.var_offset, partition_info.single_offset(shape)))
        return tf.zeros(shape, dtype)

    tf.get_variable("p", [5, 2], initializer=initializer, partitioner=tf.fixed_size_partitioner(2))
    assert seen == [([3, 2], [5, 2], [0, 0], 0), ([2, 2], [5, 2], [3, 0], 3)]
    parts = tf.get_variable("eye", [4, 3], initializer=tf.initializers.identity(), partitioner=tf.fixed_size_partitioner(2))
    sess.run(tf.global_variables_initializer())
    assert sess.run(tf.identity(parts)).tolist() == np.eye(4, 3).tolist()


def test_sharing_and_its_errors():
    halves = tf.fixed_size_partitioner(2)
    whole = tf.get_variable("p", [4], partitioner=halves)
    with pytest.raises(ValueError, match="already exists"):
        tf.get_variable("p", [4], partitioner=halves)
    with pytest.raises(ValueError, match="No partitioner was provided"):
        tf.get_variable("p", [4])
    with tf.variable_scope("", reuse=True):
        assert tf.get_variable("p", [4], partitioner=halves) is tf.get_variable("p") is whole
        with pytest.raises(ValueError, match=r"specified shape \(5,\)"):
            tf.get_variable("p", [5], partitioner=halves)
        with pytest.raises(ValueError, match="specified partitions"):
            tf.get_variable("p", [4], partitioner=tf.fixed_size_partitioner(4))
    tf.get_variable("q", [4])
    with pytest.raises(ValueError, match="unpartitioned version"):
        tf.get_variable("q", [4], partitioner=halves)


def test_partitioner_of_a_scope_and_gradients(sess):
    with tf.variable_scope("a", partitioner=tf.fixed_size_partitioner(2), initializer=tf.ones_initializer()):
        w = tf.get_variable("w", [3, 2])
    loss = tf.reduce_sum(tf.matmul([[1.0, 2.0, 3.0]], w))
    gradients = tf.gradients(loss, list(w))
    sess.run(tf.global_variables_initializer())
    assert [g.tolist() for g in sess.run(gradients)] == [[[1, 1], [2, 2]], [[3, 3]]]
    assert [v.name for v in tf.trainable_variables()] == ["a/w/part_0:0", "a/w/part_1:0"]


@pytest.mark.parametrize(("partitions", "message"), [
    ([3, 1], "does not match the Variable's rank"), (3, "must return a sequence"), ([0], "zero partitions")])
def test_partitioner_is_checked(partitions, message):
    with pytest.raises(ValueError, match=message):
        tf.get_variable("p", [4], partitioner=lambda shape, dtype: partitions)


@pytest.mark.parametrize("shape", [[], (), tf.TensorShape([])])
def test_scalars_of_a_partitioned_scope_are_whole(shape):
    with tf.variable_scope("scope", partitioner=tf.fixed_size_partitioner(2)):
        step = tf.train.get_or_create_global_step()
        scale = tf.get_variable("scale", shape, initializer=tf.ones_initializer())
        table = tf.get_variable("table", [4, 1], initializer=tf.ones_initializer())
    with tf.variable_scope("scope", partitioner=tf.fixed_size_partitioner(2), reuse=True):
        assert tf.get_variable("scale", shape) is scale
    assert [v.op.name for v in tf.global_variables()] == ["scope/global_step", "scope/scale", "scope/table/part_0", "scope/table/part_1"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([step, scale, tf.reduce_sum(table)]) == [0, 1.0, 4.0]
