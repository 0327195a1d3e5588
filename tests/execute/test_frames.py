"""Graphs made of the bare control-flow nodes: dead tensors, frames, iterations."""
import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock.ops.flow import primitives as p


def counting_loop(limit, dead_start=None):
    """A loop of bare nodes that counts up to ``limit``; returns its Exit."""
    start = tf.constant(0) if dead_start is None else dead_start
    enter = p.Enter(start, frame_name="loop")
    bound = p.Enter(limit, frame_name="loop", is_constant=True)
    merge, _ = p.Merge([enter, enter])
    go_on = p.LoopCond(tf.less(merge, bound))
    leave, stay = p.Switch(merge, go_on)
    following = p.NextIteration(tf.add(stay, p.Enter(tf.constant(1), frame_name="loop", is_constant=True)))
    merge.op._update_input(1, following)
    return p.Exit(leave)


def test_switch_and_merge():
    flag = tf.placeholder(tf.bool, [])
    false, true = p.Switch(tf.constant(5.0), flag)
    merged, index = p.Merge([tf.negative(false), tf.square(true)])
    with tf.Session() as session:
        assert session.run([merged, index], {flag: True}) == [25.0, 1]
        assert session.run([merged, index], {flag: False}) == [-5.0, 0]


def test_fetching_a_dead_tensor_is_an_error():
    false, _ = p.Switch(tf.constant(5.0), tf.constant(True))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
        session.run(tf.square(false))


@pytest.mark.parametrize("limit", [0, 1, 5, 300])
def test_loop(limit):
    bound = tf.placeholder(tf.int32, [])
    result = counting_loop(bound)
    with tf.Session() as session:
        assert session.run(result, {bound: limit}) == limit


def test_a_dead_loop_is_skipped_and_its_exits_are_dead():
    flag = tf.placeholder(tf.bool, [])
    false, true = p.Switch(tf.constant(0), flag)
    counted = counting_loop(tf.constant(3), true)
    merged, _ = p.Merge([counted, tf.subtract(false, 1)])
    with tf.Session() as session:
        assert session.run(merged, {flag: True}) == 3
        assert session.run(merged, {flag: False}) == -1


def test_nothing_runs_behind_a_dead_tensor():
    calls = []
    _, true = p.Switch(tf.constant(1.0), tf.constant(False))
    false, _ = p.Switch(tf.constant(2.0), tf.constant(False))
    side_effect = tf.py_func(lambda v: calls.append(v) or np.float32(v), [true], tf.float32)
    merged, index = p.Merge([side_effect, false])
    with tf.Session() as session:
        assert session.run([merged, index]) == [2.0, 1] and not calls


def test_gradients_say_what_to_do():
    x = tf.placeholder(tf.float32, [])
    false, _ = p.Switch(x, tf.constant(False))
    with pytest.raises(LookupError, match=r"tf\.cond"):
        tf.gradients(false, x)


def test_a_kernel_that_waits_heeds_the_deadline():
    _, true = p.Switch(tf.constant(1.0), tf.constant(True))
    queue = tf.FIFOQueue(1, [tf.float32], [[]], name="slow")
    total = true + queue.dequeue()
    with tf.Session() as session:
        start = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"'slow_Dequeue' at FIFOQueue '.*slow'"):
            session.run(total, options=tf.RunOptions(timeout_in_ms=50))
        assert time.monotonic() - start < 20, "waits for the queue"
        session.run(queue.enqueue([2.0]))
        assert session.run(total) == 3.0  # the step that gave up took nothing


def test_a_loop_without_end_heeds_the_deadline():
    result = counting_loop(tf.constant(1 << 30))
    with tf.Session() as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(result, options=tf.RunOptions(timeout_in_ms=50))


def test_closing_the_session_ends_a_kernel_that_waits():
    _, true = p.Switch(tf.constant(1.0), tf.constant(True))
    total = true + tf.FIFOQueue(1, [tf.float32], [[]]).dequeue()
    session, found = tf.Session(), []

    def wait():
        try:
            session.run(total)
        except tf.errors.CancelledError as error:
            found.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while not session._backend._steps and thread.is_alive():
        time.sleep(0.001)
    session.close()
    thread.join(5.0)
    assert not thread.is_alive() and "closed" in found[0].message


def test_kernels_of_one_step_wait_for_each_other():
    _, true = p.Switch(tf.constant(4.0), tf.constant(True))
    queue = tf.FIFOQueue(1, [tf.float32], [[]])
    taken = queue.dequeue()
    with tf.Session() as session:
        assert session.run([taken, queue.enqueue([true])])[0] == 4.0
