"""Variable scopes: defaults, sharing, and what an error says. Names are compared with TensorFlow's in ``tests/golden``."""
from __future__ import annotations

import gc
import threading

import pytest

import penstock as tf
from support.imperative import imperative


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


def test_a_block_that_is_entered_by_hand_lasts():
    """As in notebooks: nothing holds the block, and it is not left."""
    tf.variable_scope("a").__enter__()
    gc.collect()
    assert tf.get_variable("x", []).name == "a/x:0"


def test_imperative_scopes_share_nothing():
    """TensorFlow 1.15: AUTO_REUSE whatever is asked for, a new variable each time, and names that need not differ."""
    with imperative():
        assert tf.get_variable_scope().reuse is tf.AUTO_REUSE and tf.get_variable_scope().use_resource
        with tf.variable_scope("a", reuse=True) as scope:
            first, second = (tf.get_variable("v", initializer=[value]) for value in (1.0, 2.0))
        assert scope.reuse is tf.AUTO_REUSE and first.name == second.name == "a/v:0"
        assert (first.numpy(), second.numpy()) == (1.0, 2.0)
        with tf.variable_scope("b"):
            tf.get_variable_scope().reuse_variables()
            assert tf.get_variable("v", initializer=3.0).numpy() == 3.0 and tf.get_variable_scope().reuse is True
        assert len(list(tf.get_variable_scope().get_collection("variables"))) == 0
        assert tf.layers.dense(tf.ones([1, 2]), 2, name="n", reuse=True).shape == (1, 2)
        with pytest.raises(ValueError, match="use_resource cannot be set to false"):
            tf.get_variable_scope().set_use_resource(False)
        with pytest.raises(NotImplementedError, match="Caching devices"):
            tf.get_variable_scope().set_caching_device("/cpu:0")
        store = tf.contrib.eager.EagerVariableStore()
        with store.as_default():
            with tf.variable_scope("c", reuse=True):
                kept = tf.get_variable("v", [2])
            with tf.variable_scope("c"):
                assert tf.get_variable("v", [2]) is kept
