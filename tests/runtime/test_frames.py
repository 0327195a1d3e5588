"""Graphs made of the bare control-flow nodes: dead tensors, frames, iterations."""
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
