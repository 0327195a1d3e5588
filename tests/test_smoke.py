"""The first file to run: in five seconds, does the whole path from graph to trained model stand?"""
from __future__ import annotations

import numpy as np

import penstock as tf


def test_arithmetic():
    with tf.Session() as session:
        assert session.run(tf.constant(2.0) * 3 + 1) == 7.0


def test_matrix_product_and_feeds():
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.matmul(x, [[1.0], [2.0]])
    with tf.Session() as session:
        assert session.run(y, {x: [[1, 1], [2, 3]]}).tolist() == [[3], [8]]


def test_gradient():
    x = tf.constant(3.0)
    slope, = tf.gradients(x * x, [x])
    with tf.Session() as session:
        assert session.run(slope) == 6.0


def test_variable_and_control_dependency():
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign_add(2.0)]):
        after = v.read_value()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(after) == 3.0


def test_training_by_hand():
    random = np.random.RandomState(0)
    inputs = random.standard_normal((64, 3)).astype(np.float32)
    wanted = inputs @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
    w = tf.Variable(tf.zeros([3, 1]))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    step = w.assign_sub(0.3 * tf.gradients(loss, [w])[0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], {x: inputs, y: wanted})[0] for _ in range(60)]
    assert losses[-1] < 1e-4 < losses[0]


def test_graph_def_round_trip():
    tf.identity(tf.constant([1.0, 2.0]), name="y")
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        y, = tf.import_graph_def(graph_def, return_elements=["y:0"])
        with tf.Session() as session:
            assert session.run(y).tolist() == [1, 2]


def test_softmax_classifier_step():
    x = tf.placeholder(tf.float32, [None, 4])
    labels = tf.placeholder(tf.int64, [None])
    w, b = tf.Variable(tf.zeros([4, 3])), tf.Variable(tf.zeros([3]))
    logits = tf.matmul(x, w) + b
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value = session.run(loss, {x: np.eye(4, dtype=np.float32), labels: [0, 1, 2, 0]})
    assert abs(value - np.log(3)) < 1e-6
