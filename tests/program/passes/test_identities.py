"""Identities: which of them go, and what must stay."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.program.passes import NONE
from support.programs import nodes_after, types_after

pytestmark = pytest.mark.process


def test_identities_go():
    x = tf.placeholder(tf.float32, [2])
    y = tf.exp(tf.stop_gradient(tf.identity(tf.identity(x))))
    assert types_after([y], [x]) == ["Exp"]


def test_fetched_identity_stays():
    x = tf.placeholder(tf.float32, [2])
    y = tf.identity(x)
    assert types_after([y, tf.exp(y)], [x]) == ["Identity", "Exp"]


def test_target_identity_stays():
    x = tf.placeholder(tf.float32, [2])
    y = tf.identity(tf.exp(x))
    assert types_after([], [x], targets=[y.op]) == ["Exp", "Identity"]


def test_identity_that_waits_stays():
    x = tf.placeholder(tf.float32, [2])
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        y = tf.identity(x)
    assert "Identity" in types_after([tf.exp(y)], [x])


def test_who_waits_for_an_identity_waits_for_its_input():
    v = tf.Variable(1.0, use_resource=False)
    update = tf.identity(v.assign_add(1.0))
    with tf.control_dependencies([update]):
        read = v + 0.5
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(read) == 2.5


def test_variable_is_read_when_it_is_used():
    v = tf.Variable(1.0, use_resource=False)
    read = tf.identity(v)
    with tf.control_dependencies([v.assign_add(1.0)]):
        late = read * 2.0
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(late) == 4.0


def test_stop_gradient_reads_a_variable_itself():
    v = tf.Variable(1.0, use_resource=False)
    assert types_after([tf.exp(tf.stop_gradient(v._ref()))]) == ["VariableV2", "Exp"]  # it is the variable, not a copy


def test_cast_to_the_same_type_goes():
    x = tf.placeholder(tf.float32, [2])
    same = x.graph.create_op("Cast", [x], [tf.float32], attrs={"DstT": tf.float32}).outputs[0]
    assert types_after([tf.exp(same)], [x]) == ["Exp"]
    assert types_after([tf.exp(tf.cast(x, tf.float64))], [x]) == ["Cast", "Exp"]


def test_groups_of_one_are_no_detour():
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.group(v.assign_add(1.0))]):
        y = tf.constant(2.0) * tf.placeholder_with_default(1.0, [])
    assert "NoOp" not in types_after([y])
    assert "NoOp" in types_after([y], options=NONE)


def test_users_of_a_constant_wait_in_its_place():
    x = tf.placeholder(tf.float32, [None])
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        shape = tf.constant([2, 3]) * 1
    y = tf.reshape(tf.exp(x), shape)
    nodes = {node.definition.type: node for node in nodes_after([y], [x])}
    assert not nodes["Const"].control and nodes["Reshape"].control
    with tf.Session() as session:
        session.run(v.initializer)
        for number in (2.0, 3.0, 4.0):
            assert session.run(y, {x: [0.0] * 6}).tolist() == [[1.0] * 3] * 2 and session.run(v) == number


def test_shapes_are_known_in_gradients_that_wait_for_updates():
    x = tf.placeholder(tf.float32, [4, 6, 6, 2])
    y = tf.layers.batch_normalization(tf.layers.conv2d(x, 3, 3), training=True)
    loss = tf.reduce_mean(tf.square(tf.layers.flatten(y)))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    assert [node.name for node in nodes_after([], [x], targets=[train]) if node.definition.type == "Const" and node.control] == []
