"""The variables that get_variable makes and shares."""
from __future__ import annotations

import pytest

import penstock as tf


def test_a_shared_variable_is_regularized_once():
    for reuse in (False, True):
        with tf.variable_scope("a", reuse=reuse):
            tf.get_variable("v", [], regularizer=tf.square)
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1


def test_existing_variable_names_the_line_that_made_it():
    tf.get_variable("v", [])
    with pytest.raises(ValueError, match=r"Variable v already exists, disallowed(.|\n)*test_store.py"):
        tf.get_variable("v", [])


def test_custom_getter_sees_the_arguments():
    seen = {}

    def getter(getter, name, **kwargs):
        seen.update(kwargs, name=name)
        kwargs["trainable"] = False
        return getter(name, **kwargs)

    with tf.variable_scope("a", custom_getter=getter):
        v = tf.get_variable("v", [2], constraint=tf.square)
    assert seen["name"] == "a/v" and seen["shape"] == [2] and seen["constraint"] is tf.square and not v.trainable
    assert v.constraint is tf.square and tf.trainable_variables() == []


def test_the_store_is_per_graph():
    tf.get_variable("v", [])
    with tf.Graph().as_default():
        assert tf.get_variable("v", []).name == "v:0"
