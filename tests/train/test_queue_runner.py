"""Queue runners: threads that fill queues, and their errors."""
from __future__ import annotations

import pytest

import penstock as tf
from support.queue_runners import all_of, counter, running


def test_the_last_thread_closes_the_queue():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(counter(10))] * 3))
    with running() as session:
        assert sorted(all_of(session, queue.dequeue())) == list(range(10))


def test_an_error_reaches_the_coordinator():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    failing = tf.py_func(lambda: 1 // 0, [], tf.int64)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.cast(failing, tf.int32))])
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord, start=True)
        with pytest.raises(tf.errors.OpError, match="ZeroDivisionError"):
            coord.join(threads, stop_grace_period_secs=10)


def test_an_error_without_a_coordinator_is_kept():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.cast(tf.py_func(lambda: 1 // 0, [], tf.int64), tf.int32))])
    with tf.Session() as session:
        for thread in runner.create_threads(session, start=True):
            thread.join(10)
    assert [type(error).__name__ for error in runner.exceptions_raised] == ["UnknownError"]


def test_threads_are_made_once_per_session():
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        threads = runner.create_threads(session, coord, start=True, daemon=True)
        assert [thread.name for thread in threads] == [f"QueueRunnerThread-fifo_queue-{name}" for name in ("fifo_queue_enqueue", "close_on_stop")]
        assert runner.create_threads(session, coord) == []
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)


def test_other_exceptions_may_end_the_input():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    x = tf.constant([1])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.gather(x, counter(10)))],
                                  queue_closed_exception_types=(tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError))
    tf.train.add_queue_runner(runner)
    with running() as session:
        assert all_of(session, queue.dequeue()) == [1]
    with pytest.raises(TypeError, match=r"tuple of tf\.error types"):
        tf.train.QueueRunner(queue, [queue.enqueue(1)], queue_closed_exception_types=[ValueError])


def test_proto_round_trip():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]], name="q")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    proto = runner.to_proto()
    assert (proto.queue_name, list(proto.enqueue_op_name), proto.close_op_name, proto.cancel_op_name) == ("q", ["q_enqueue"], "q_Close", "q_Close_1")
    again = tf.train.QueueRunner.from_proto(type(proto).FromString(proto.SerializeToString()))
    assert again.enqueue_ops == runner.enqueue_ops and again.name == "q"
    assert again.queue_closed_exception_types == (tf.errors.OutOfRangeError,)
    assert runner.to_proto(export_scope="elsewhere") is None


def test_start_needs_a_session():
    with pytest.raises(ValueError, match="No default session"):
        tf.train.start_queue_runners()
    with pytest.raises(TypeError, match=r"must be a `tf\.Session`"):
        tf.train.start_queue_runners(sess=3)
    with pytest.raises(ValueError, match="Must provide queue and enqueue_ops"):
        tf.train.QueueRunner()
