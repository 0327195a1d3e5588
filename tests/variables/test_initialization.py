"""Initialization: lists of variables, and which of them have no value."""
from __future__ import annotations

import pytest

import penstock as tf


def test_reports(sess):
    a, b = tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b", use_resource=True)
    report, check = tf.report_uninitialized_variables(), tf.assert_variables_initialized()
    sess.run(a.initializer)
    assert sess.run(report).tolist() == [b"b"] and sess.run([tf.is_variable_initialized(v) for v in (a, b)]) == [True, False]
    with pytest.raises(tf.errors.FailedPreconditionError, match="b"):
        sess.run(check)
    sess.run(tf.global_variables_initializer())
    assert sess.run(report).tolist() == []
    sess.run(check)
    with tf.Graph().as_default():
        assert tf.report_uninitialized_variables().shape == (0,) and tf.assert_variables_initialized() is None


def test_old_names(sess):
    v, local = tf.Variable(1.0), tf.Variable(2.0, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    assert tf.all_variables() == [v]
    sess.run([tf.initialize_all_variables(), tf.initialize_local_variables(), tf.initialize_variables([v])])
    assert sess.run([v, local]) == [1, 2]


def test_no_variables(sess):
    init = tf.global_variables_initializer()
    assert init.type == "NoOp" and sess.run(init) is None
