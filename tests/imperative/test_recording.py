"""States of a recording: the same calls are known again, and nothing that differs is taken for the same."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.imperative import imperative

pytestmark = pytest.mark.process


def known(graph):
    """How many states there are."""
    return graph.thread.recording.tree.count


def turns(count, turn):
    """The results of a function that is called again and again, and the states after the second call and the last."""
    with imperative() as graph:
        results, counts = [], []
        for number in range(count):
            results.append(turn(number))
            counts.append(known(graph))
        return results, counts


def test_a_turn_that_comes_again_adds_no_states():
    def turn(number):
        x = tf.constant([1.0, number])
        return (tf.tanh(x * 2.0) + tf.reduce_sum(x, 0)).numpy().tolist()

    results, counts = turns(6, turn)
    assert counts[1] > 0 and len(set(counts[1:])) == 1
    np.testing.assert_allclose(results, [(np.tanh([2.0, 2 * n]) + 1 + n).tolist() for n in range(6)], rtol=1e-6)


def test_numbers_are_told_apart():
    def turn(number):
        factor = [0.0, -0.0, 1.0, True, 1, 2.5][number % 6]
        return np.copysign(1.0, (tf.constant(3.0) * factor).numpy()) * abs(3.0 * factor)

    results, _ = turns(18, turn)
    assert [(np.signbit(value), abs(value)) for value in results] == 3 * [(False, 0), (True, 0), (False, 3), (False, 3), (False, 3), (False, 7.5)]


def test_one_value_twice_is_not_two_values():
    def turn(number):
        x, y = tf.constant(3.0), tf.constant(5.0)
        return (x * (x if number % 2 else y)).numpy()

    assert turns(6, turn)[0] == [15.0, 9.0] * 3


def test_values_that_shapes_follow_from():
    def turn(number):
        shape = tf.constant([2, 3] if number % 2 else [3, 2])
        x = tf.reshape(tf.range(6.0) * 1.0, shape) * 2.0
        return tf.reduce_sum(x, tf.constant(number % 2)).numpy().tolist()

    assert turns(8, turn)[0] == [[12.0, 18.0], [6.0, 24.0]] * 4


def test_variables_are_told_apart():
    with imperative():
        a, b = tf.Variable(1.0), tf.Variable(10.0)
        for turn in range(6):
            v = b if turn % 2 else a
            v.assign(v * 2.0)
            v.assign_add(1.0)
        assert (a.numpy(), b.numpy()) == (15.0, 87.0)


def test_attributes_lists_and_outputs():
    def turn(number):
        x = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
        product = tf.matmul(x, x, transpose_a=bool(number % 2), transpose_b=not number % 2)
        first, second = tf.unstack(product[:2, :2])
        return tf.concat([second, first, second] if number % 3 else [first, second], 0).numpy().tolist()

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for number, result in enumerate(turns(12, turn)[0]):
        product = x.T @ x if number % 2 else x @ x.T
        rows = [product[1, :2], product[0, :2], product[1, :2]] if number % 3 else [product[0, :2], product[1, :2]]
        assert result == np.concatenate(rows).tolist()


def test_what_the_program_holds_decides_what_leaves_a_segment():
    def turn(number):
        x = tf.constant([1.0, 2.0])
        y = x * 2.0
        z = y + 1.0
        if number % 2:
            del y
            return z.numpy().tolist(), None
        return z.numpy().tolist(), y.numpy().tolist()

    assert turns(6, turn)[0] == [([3.0, 5.0], [2.0, 4.0]), ([3.0, 5.0], None)] * 3


def test_tapes_that_watch_other_values():
    def turn(number):
        a, b = tf.constant(3.0), tf.constant(5.0)
        with tf.GradientTape() as tape:
            tape.watch(b if number % 2 else a)
            y = a * a * b
        grads = tape.gradient(y, [a, b])
        return [None if grad is None else grad.numpy() for grad in grads]

    assert turns(6, turn)[0] == [[30.0, None], [None, 9.0]] * 3


def test_a_tape_that_begins_later_or_pauses():
    def turn(number):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            if number % 2:
                tape.watch(x)
            y = x * x
            if number % 3 == 0:
                with tape.stop_recording():
                    y = y * 1.0
            if not number % 2:
                tape.watch(y)
            z = y * y
        grad = tape.gradient(z, x if number % 2 else y)
        return None if grad is None else grad.numpy()

    assert turns(12, turn)[0] == [8.0, 32.0, 8.0, None, 8.0, 32.0] * 2


def test_a_look_before_the_gradient():
    def turn(number):
        x = tf.constant(float(number))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
            if number % 2:
                assert y.numpy() == number**3
        return tape.gradient(y, x).numpy()

    assert turns(6, turn)[0] == [3.0 * number**2 for number in range(6)]


def test_gradients_of_ones_own_are_called_each_time():
    with imperative():
        for factor in (1.0, 2.0, 3.0):
            @tf.custom_gradient
            def scaled(x, factor=factor):
                return x * 1.0, lambda dy: dy * factor

            x = tf.constant(1.0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = scaled(x) * 2.0
            assert tape.gradient(y, x).numpy() == 2.0 * factor


def test_states_are_bounded(monkeypatch):
    monkeypatch.setattr("penstock.imperative.recording.MOST_STATES", 50)
    with imperative() as graph:
        for size in range(1, 60):
            assert (tf.ones([size]) * 2.0 + 1.0).numpy().tolist() == [3.0] * size
            assert known(graph) <= 60


def test_errors_name_the_line_of_this_call():
    def first(x, index):
        return tf.gather(x, index)

    def second(x, index):
        return tf.gather(x, index)

    with imperative():
        x, index = tf.constant([1.0, 2.0]), tf.constant([9, 9])
        for _ in range(3):
            for function in (first, second):
                with pytest.raises(tf.errors.InvalidArgumentError, match=f"in {function.__name__}"):
                    (function(x * 1.0, index) * 2.0).numpy()


def test_devices_are_told_apart():
    with imperative():
        for turn in range(4):
            with tf.device("/cpu:0" if turn % 2 else None):
                y = tf.constant(1.0) + 1.0
            assert (y._edge[0]._device != "") is bool(turn % 2) and y.numpy() == 2.0


def test_a_tensor_that_is_the_constant_of_a_later_call():
    """Turns that differ only in that: the values that come in are one fewer."""
    with imperative() as graph:
        tensors = {0.5: tf.constant(0.5), 0.9: graph.number(0.9, tf.float32)}
        x = tf.constant([1.0, 2.0])
        for first in [0.5, 0.5, 0.5, 0.9, 0.9, 0.9, 0.5, 0.5, 0.9]:
            np.testing.assert_allclose((tf.negative(tensors[first]) + x * 0.9).numpy(), np.array([0.9, 1.8]) - first, rtol=1e-6)
