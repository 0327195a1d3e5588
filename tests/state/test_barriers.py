"""Barriers: elements that are complete when all their components have come."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.ops.queues.barrier import Barrier
from support.threads import SHORT


def test_barrier():
    barrier = Barrier([tf.float32, tf.int32], shapes=[[], [2]], name="B")
    take = barrier.take_many(1)
    assert [tensor.shape.as_list() for tensor in (take.indices, take.keys, *take.values)] == [[1], [1], [1], [1, 2]]
    sizes = [barrier.ready_size(), barrier.incomplete_size()]
    with tf.Session() as session:
        session.run(barrier.insert_many(0, ["k1", "k2"], [1.0, 2.0]))
        assert session.run(sizes) == [0, 2]
        session.run(barrier.insert_many(1, ["k2"], [[1, 2]]))
        assert session.run(sizes) == [1, 1]
        taken = session.run(take)
        assert taken.indices.tolist() == [-2**63] and taken.keys.tolist() == [b"k2"]
        assert [value.tolist() for value in taken.values] == [[2.0], [[1, 2]]]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Key k1 already has a value for component 0 in barrier _\d+_B"):
            session.run(barrier.insert_many(0, ["k1"], [5.0]))
        session.run(barrier.insert_many(0, ["k3"], [5.0]))
        session.run(barrier.insert_many(1, ["k3", "k1"], [[1, 2], [3, 4]]))
        assert session.run(barrier.take_many(2)).keys.tolist() == [b"k1", b"k3"]  # in the order of their first components
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"Barrier '_\d+_B'"):
            session.run(take, options=SHORT)


def test_closed_barrier():
    barrier = Barrier([tf.float32, tf.int32], shapes=[[], []], name="B")
    with tf.Session() as session:
        session.run(barrier.insert_many(0, ["k"], [5.0]))
        session.run(barrier.close())
        with pytest.raises(tf.errors.CancelledError, match="attempted to insert a brand new key: new"):
            session.run(barrier.insert_many(0, ["new"], [1.0]))
        with pytest.raises(tf.errors.OutOfRangeError, match=r"insufficient elements \(requested 2, total size 1\)"):
            session.run(barrier.take_many(2))
        session.run(barrier.insert_many(1, ["k"], [5]))  # what was begun may be completed
        assert session.run(barrier.take_many(2, allow_small_batch=True)).keys.tolist() == [b"k"]
        with pytest.raises(tf.errors.OutOfRangeError, match="total size 0"):
            session.run(barrier.take_many(1, allow_small_batch=True))
        with pytest.raises(tf.errors.CancelledError, match="already closed"):
            session.run(barrier.close())
        session.run(barrier.close(cancel_pending_enqueues=True))
        with pytest.raises(tf.errors.CancelledError, match="Pending enqueues cancelled: 1"):
            session.run(barrier.insert_many(0, ["k"], [1.0]))


def test_barrier_mistakes():
    with pytest.raises(ValueError, match="Empty tensors are not supported"):
        Barrier([tf.float32], shapes=[[0]])
    barrier = Barrier([tf.float32], shapes=[[]])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Shape mismatch in tuple component 2. Expected \[\], got \[2\]"):
            session.run(barrier.insert_many(0, ["a"], [[1.0, 2.0]]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="component ID is out of range"):
            session.run(barrier.insert_many(1, ["a"], [1.0]))
