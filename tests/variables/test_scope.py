"""Variable scopes: defaults, sharing, and what an error says. Names are compared with TensorFlow's in ``tests/golden``."""
from __future__ import annotations

import threading

import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_defaults_are_inherited_and_replaced():
    ones, zeros = tf.ones_initializer(), tf.zeros_initializer()
    with tf.variable_scope("a", initializer=ones, dtype=tf.float64, use_resource=True) as a:
        with tf.variable_scope("b", initializer=zeros) as b:
            v = tf.get_variable("v", [2])
    assert (a.initializer, b.initializer) == (ones, zeros) and b.dtype is tf.float64 and b.use_resource
    assert v.dtype.base_dtype is tf.float64 and v.op.type == "VarHandleOp" and v.name == "a/b/v:0"
    assert tf.get_variable_scope().initializer is None


def test_settings_of_the_current_scope():
    with tf.variable_scope("a") as scope:
        scope.set_initializer(tf.constant_initializer(3.0))
        scope.set_regularizer(lambda w: tf.reduce_sum(w, name="loss"))
        scope.set_dtype(tf.float64)
        scope.set_use_resource(True)
        scope.set_partitioner(None)
        scope.set_caching_device(None)
        scope.set_custom_getter(None)
        v = tf.get_variable("v", [])
        tf.get_variable("w", [], regularizer=tf.no_regularizer)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        assert sess.run(v) == 3 and len(losses) == 1 and losses[0].name == "a/v/Regularizer/loss:0"


def test_a_shared_variable_is_regularized_once():
    for reuse in (False, True):
        with tf.variable_scope("a", reuse=reuse):
            tf.get_variable("v", [], regularizer=tf.square)
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1


def test_reuse_variables():
    with tf.variable_scope("a") as scope:
        v = tf.get_variable("v", [])
        assert scope.reuse is False
        scope.reuse_variables()
        assert tf.get_variable("v", []) is v and scope.reuse is True
    with tf.variable_scope(scope, reuse=False):  # False means: as it was
        assert tf.get_variable("v") is v


def test_reuse_is_inherited():
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE), tf.variable_scope("b"):
        assert tf.get_variable("v", []) is tf.get_variable("v", [])


def test_existing_variable_names_the_line_that_made_it():
    tf.get_variable("v", [])
    with pytest.raises(ValueError, match=r"Variable v already exists, disallowed(.|\n)*test_scope.py"):
        tf.get_variable("v", [])


def test_an_error_leaves_the_scope():
    with pytest.raises(RuntimeError, match="inside"):
        with tf.variable_scope("a"):
            raise RuntimeError("inside")
    assert tf.get_variable_scope().name == "" and tf.get_default_graph().get_name_scope() == ""
    with pytest.raises(ValueError, match="valid scope name"):
        tf.variable_scope("a b").__enter__()
    assert tf.get_variable_scope().name == ""


def test_values_choose_the_graph(graph):
    with tf.Graph().as_default():
        with tf.variable_scope("a", values=[tf.constant(1.0)]):
            assert tf.get_default_graph() is not graph
        x = tf.constant(1.0)
    with tf.variable_scope("a", values=[x]):
        assert tf.get_variable("v", []).graph is x.graph


def test_each_thread_has_its_own_scope(graph):
    found = []

    def work():
        with graph.as_default():
            found.append(tf.get_variable_scope().name)

    with tf.variable_scope("a"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [""]


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


def test_scope_collections():
    tf.get_variable("v", [])
    with tf.variable_scope("a") as scope:
        v = tf.get_variable("v", [])
        local = tf.get_local_variable("l", [])
    with tf.variable_scope("ab"):
        tf.get_variable("v", [])
    assert scope.global_variables() == scope.trainable_variables() == [v] and scope.local_variables() == [local]


def test_variable_op_scope():
    with tf.variable_op_scope([], None, "d"):
        assert tf.get_variable("v", []).name == "d/v:0"


def test_the_store_is_per_graph():
    tf.get_variable("v", [])
    with tf.Graph().as_default():
        assert tf.get_variable("v", []).name == "v:0"


def test_creator_may_return_its_own_kind():
    def resources(next_creator, **kwargs):
        kwargs["use_resource"] = True
        return next_creator(**kwargs)

    with tf.variable_creator_scope(resources):
        assert tf.Variable(1.0).op.type == "VarHandleOp"
    assert tf.Variable(1.0).op.type == "VariableV2"


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
    with pytest.raises(ValueError, match=r"t/b does not exist(.|\n)*originally defined at(.|\n)*test_scope.py"):
        fresh()
    count = tf.make_template("u", lambda: tf.Variable(1.0))
    count()
    with pytest.raises(ValueError, match="Trainable variable created"):
        count()
