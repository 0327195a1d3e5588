"""References to variables that functions take: read where a value is wanted, by native code and by NumPy alike."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.process


def test_a_branch_reads_the_reference_that_an_update_returns():
    with tf.Graph().as_default():
        variable = tf.Variable(tf.zeros([9]), use_resource=False)
        updated = tf.assign_add(variable, tf.ones([9]))
        place = tf.argmax(updated, 0, output_type=tf.int32)
        result = tf.cond(updated[place] >= 0.6, lambda: updated[place] * 2.0, lambda: tf.constant(0.0))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert [session.run(result) for _ in range(4)] == [2.0, 4.0, 6.0, 8.0]
