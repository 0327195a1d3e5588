"""The state of random ops: it belongs to a node in a session."""
from __future__ import annotations

import threading

import numpy as np

import penstock as tf


def test_a_session_continues_and_a_new_one_repeats():
    with tf.Graph().as_default() as graph:
        x = tf.random_uniform([3], seed=1)
    with tf.Session(graph=graph) as first, tf.Session(graph=graph) as second:
        a, b = first.run(x), first.run(x)
        assert not np.array_equal(a, b)
        assert np.array_equal(second.run(x), a) and np.array_equal(second.run(x), b)


def test_two_nodes_with_the_same_seed_agree():
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b = sess.run([tf.random_normal([3], seed=1), tf.random_normal([3], seed=1)])
    assert np.array_equal(a, b)


def test_unseeded_sessions_differ():
    with tf.Graph().as_default() as graph:
        x = tf.random_uniform([4])
    with tf.Session(graph=graph) as first, tf.Session(graph=graph) as second:
        assert not np.array_equal(first.run(x), second.run(x))


def test_steps_in_threads_draw_disjoint_numbers():
    with tf.Graph().as_default() as graph:
        x = tf.random_uniform([4], seed=1)
    found: list[tuple[float, ...]] = []
    with tf.Session(graph=graph) as sess:
        def work():
            for _ in range(20):
                found.append(tuple(sess.run(x).tolist()))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with tf.Session(graph=graph) as sess:
        expected = {tuple(sess.run(x).tolist()) for _ in range(80)}
    assert set(found) == expected


def test_graph_seed_depends_on_the_number_of_ops():
    def draw(extra):
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(7)
            if extra:
                tf.constant(1.0)
            return sess.run(tf.random_uniform([2]))
    assert np.array_equal(draw(False), draw(False)) and not np.array_equal(draw(False), draw(True))


def test_random_flips_take_the_seed_that_tensorflow_gives_them():
    """By the count of ops before it, among them the node where TensorFlow checks the rank: seed2 was recorded from it."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        tf.image.random_flip_left_right(tf.ones([3, 3, 3]))
        drawn = graph.get_operation_by_name("random_flip_left_right/random_uniform/RandomUniform")
    assert drawn.get_attr("seed2") == 5
