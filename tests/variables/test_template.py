"""tf.make_template."""
from __future__ import annotations

import pytest

import penstock as tf


def test_template():
    def line(x, slope):
        return x * tf.get_variable("k", [], initializer=tf.constant_initializer(slope))

    twice = tf.make_template("twice", line, slope=2.0)
    with tf.Session() as sess:
        results = [twice(1.0), twice(3.0)]
        sess.run(tf.global_variables_initializer())
        assert sess.run(results) == [2, 6]
    assert twice.name == "twice" and twice.variable_scope.name == "twice" and [v.name for v in twice.variables] == ["twice/k:0"]
    assert twice.trainable_variables == twice.weights and twice.non_trainable_variables == []


def test_template_that_makes_new_variables():
    names = iter("abc")
    fresh = tf.make_template("t", lambda: tf.get_variable(next(names), []))
    fresh()
    with pytest.raises(ValueError, match=r"t/b does not exist(.|\n)*originally defined at(.|\n)*test_template.py"):
        fresh()
    count = tf.make_template("u", lambda: tf.Variable(1.0))
    count()
    with pytest.raises(ValueError, match="Trainable variable created"):
        count()


def test_scopes_of_templates_that_have_theirs_at_once():
    make = lambda: tf.make_template("t", lambda: tf.get_variable("k", []) + 1.0, create_scope_now_=True)
    first = make()
    assert [first().op.name, first().op.name] == ["t/add", "t_1/add"]  # the first call has the name scope of the variables
    second = make()
    assert [second().op.name, second().op.name, second.variable_scope.name] == ["t_1_1/add", "t_1_2/add", "t_1"]
