"""Queues that shuffle, sort and pad."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.threads import LONG, SHORT


def test_shuffle_queue_draws_as_tensorflow_does():
    queue = tf.RandomShuffleQueue(100, 5, tf.int32, shapes=[[]], seed=4)
    with tf.Session() as session:
        session.run(queue.enqueue_many([tf.range(20)]))
        assert session.run(queue.dequeue_many(15)).tolist() == [5, 7, 12, 6, 15, 3, 14, 8, 9, 19, 11, 0, 10, 18, 16]  # of TensorFlow 1.15


def test_shuffle_queue_keeps_some_until_it_is_closed():
    queue = tf.RandomShuffleQueue(10, 3, tf.int32, shapes=[[]])
    take = queue.dequeue()
    with tf.Session() as session:
        session.run(queue.enqueue_many([tf.range(5)]))
        first = [session.run(take, options=LONG) for _ in range(2)]
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"RandomShuffleQueue '_\d+_random_shuffle_queue'"):
            session.run(take, options=SHORT)
        session.run(queue.close())
        assert sorted(first + [session.run(take, options=LONG) for _ in range(3)]) == list(range(5))


def test_shuffle_queue_needs_room_above_its_minimum():
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="min_after_dequeue 5 must be < capacity 5"):
        session.run(tf.RandomShuffleQueue(5, 5, tf.int32).size())


def test_priority_queue():
    queue = tf.PriorityQueue(10, [tf.string], shapes=[[]])
    assert [d.name for d in queue.dtypes] == ["int64", "string"]
    with tf.Session() as session:
        session.run(queue.enqueue_many([np.array([3, 1, 2, 1], np.int64), ["c", "a", "b", "a2"]]))
        keys, values = session.run(queue.dequeue_many(4))
    assert (keys.tolist(), values.tolist()) == ([1, 1, 2, 3], [b"a", b"a2", b"b", b"c"])


def test_padding():
    queue = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], shapes=[[None, 2], []])
    x = tf.placeholder(tf.int32)
    with tf.Session() as session:
        session.run([queue.enqueue([np.ones((2, 2), np.int32), "x"])])
        session.run([queue.enqueue([np.full((1, 2), 5, np.int32), "y"])])
        numbers, words = session.run(queue.dequeue_many(2))
        assert sorted(numbers.tolist()) == [[[1, 1], [1, 1]], [[5, 5], [0, 0]]] and sorted(words.tolist()) == [b"x", b"y"]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"tuple component 0. Expected \[\?,2\], got \[1,3\]"):
            session.run(queue.enqueue([x, "z"]), {x: [[1, 2, 3]]})
        assert session.run(queue.dequeue_many(0))[0].shape == (0, 0, 2)


def test_padding_queue_needs_ranks():
    with pytest.raises(ValueError, match="Shapes must be provided for all components"):
        tf.PaddingFIFOQueue(10, [tf.int32, tf.int32], shapes=[[]])
    with pytest.raises(ValueError, match="defined rank"):
        tf.PaddingFIFOQueue(10, [tf.int32], shapes=[tf.TensorShape(None)])
    with pytest.raises(ValueError, match="fully defined"):
        tf.FIFOQueue(10, [tf.int32], shapes=[[None]])
