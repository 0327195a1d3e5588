"""Calls that were guessed: what differs from the guess in any way is not taken for it."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.imperative.recording import Recording
from support.imperative import imperative

pytestmark = pytest.mark.process


def guessed(graph):
    """How many states know what comes next."""
    states, seen = [graph.thread.recording.tree.root], []
    while states:
        state = states.pop()
        seen.append(state)
        states += [known[0].state for known in state.calls.values() if known[0].state is not None and known[0].state not in seen + states]
    return sum(state.guess is not None for state in seen)


def turns(turn, count=6):
    """What a function returns, call by call; most calls must have been guessed."""
    with imperative() as graph:
        results = [turn(number) for number in range(count)]
        return results, guessed(graph)


def test_a_chain_is_guessed():
    def turn(number):
        x = tf.constant([1.0, float(number)])
        for _ in range(10):
            x = tf.tanh(x) * 1.5 + 0.25
        return x.numpy()

    results, count = turns(turn)
    assert count >= 20
    x = np.array([1.0, 5.0], np.float32)
    for _ in range(10):
        x = np.tanh(x) * np.float32(1.5) + np.float32(0.25)
    np.testing.assert_allclose(results[5], x, rtol=1e-5)


@pytest.mark.parametrize("values", [[2.0, 3.0], [1.0, 1], [1.0, True], [0.0, -0.0], [-0.0, 0.0], [2.0, float("nan")]])
def test_numbers(values):
    def turn(number):
        x = tf.constant([1.0, 2.0])
        for _ in range(3):
            x = (x + 1.0) * values[number // 3]
        return np.copysign(1.0, x.numpy()) * np.abs(x.numpy())

    results, _ = turns(turn)
    for number in (2, 5):
        x = np.array([1.0, 2.0])
        for _ in range(3):
            x = (x + 1.0) * values[number // 3]
        np.testing.assert_allclose(results[number], x, rtol=1e-6)
        np.testing.assert_array_equal(np.signbit(results[number]), np.signbit(x))


def test_attributes():
    def turn(number):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]]) * 1.0
        for _ in range(3):
            x = tf.matmul(x, x, transpose_b=number >= 3)
        return x.numpy()

    results, _ = turns(turn)
    for number in (2, 5):
        x = np.array([[1.0, 2.0], [3.0, 4.0]])
        for _ in range(3):
            x = x @ (x.T if number >= 3 else x)
        np.testing.assert_allclose(results[number], x, rtol=1e-6)


def test_inputs():
    def turn(number):
        x = tf.constant([1.0, 2.0])
        y, z = x * 2.0, x * 3.0
        return (tf.tanh(y if number < 3 else z) + tf.subtract(*((y, z) if number % 2 else (z, y)))).numpy()

    results, _ = turns(turn)
    x = np.array([1.0, 2.0])
    for number in range(6):
        np.testing.assert_allclose(results[number], np.tanh(x * (2 if number < 3 else 3)) + (-x if number % 2 else x), rtol=1e-5, atol=1e-6)


def test_devices_and_gradients_of_ones_own():
    @tf.RegisterGradient("TenTimes")
    def ten_times(op, dy):
        return dy * 10.0

    def turn(number):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * 1.0
            if number < 4:
                z = tf.square(y)
            else:
                with tf.get_default_graph().gradient_override_map({"Square": "TenTimes"}):
                    z = tf.square(y)
        with tf.device("/cpu:0" if number % 2 else None):
            w = z * 2.0
        return float(tape.gradient(z, x).numpy()), float(w.numpy()), "CPU:0" in w.device

    results, _ = turns(turn, 8)
    assert [each[0] for each in results] == [4.0] * 4 + [10.0] * 4
    assert {each[1:] for each in results} == {(8.0, True)}


def test_functions_at_another_depth():
    def deep(x, depth):
        return tf.tanh(x) * 1.5 if depth == 0 else deep(x, depth - 1)

    def turn(number):
        x = tf.constant([0.5]) + 1.0
        for _ in range(4):
            x = deep(x, number % 3)
        return x.numpy()

    results, _ = turns(turn)
    x = np.array([1.5])
    for _ in range(4):
        x = np.tanh(x) * 1.5
    np.testing.assert_allclose(results, [x] * 6, rtol=1e-6)


def by_key(turn, monkeypatch, count=5):
    """What a function returns, call by call, and what the last turn has recorded without a guess."""
    with imperative():
        calls, slow = [], (Recording.follow, Recording.add)
        monkeypatch.setattr(Recording, "follow", lambda recording, call, edges: calls.append(call.definition.type) or slow[0](recording, call, edges))
        monkeypatch.setattr(Recording, "add", lambda recording, op, tag=None: calls.append(op.type) or slow[1](recording, op, tag))
        results = []
        for number in range(count):
            calls.clear()
            results.append(turn(number))
        return results, list(calls)


def test_lists_and_several_outputs(monkeypatch):
    def turn(number):
        x = tf.constant([[1.0, 2.0, 3.0, float(number)]]) * 2.0
        for _ in range(3):
            a, b = tf.split(x, 2, 1)
            x = tf.concat([b, a + 1.0], 1)
        return x.numpy().tolist()

    results, calls = by_key(turn, monkeypatch)
    assert results == [[[7.0, 2.0 * number + 1.0, 4.0, 6.0]] for number in range(5)]
    assert calls == []


def test_lists_of_another_length():
    def turn(number):
        x = tf.constant([1.0]) * 2.0
        parts = [x] * (2 if number < 3 else 3)
        return tf.concat(parts, 0).numpy().tolist(), tf.add_n(parts).numpy().tolist()

    results, _ = turns(turn)
    assert results == [([2.0, 2.0], [4.0])] * 3 + [([2.0] * 3, [6.0])] * 3


def test_variables_that_come_in(monkeypatch):
    variables = []

    def turn(number):
        if not variables:
            variables.extend(tf.Variable([float(value), 1.0], use_resource=True) for value in range(3))
        first, second, third = variables
        x = tf.constant([1.0, 2.0])
        y = tf.tanh(x) * first + second
        second.assign_add(y)
        return (y * third + second).numpy().tolist()

    results, calls = by_key(turn, monkeypatch, 4)
    assert calls == []
    state = [np.array([float(value), 1.0]) for value in range(3)]
    x = np.tanh([1.0, 2.0])
    for result in results:
        y = x * state[0] + state[1]
        state[1] = state[1] + y
        np.testing.assert_allclose(result, y * state[2] + state[1], rtol=1e-5)


def test_values_of_another_shape_that_come_in():
    def turn(number):
        x = tf.constant(np.full([2 + number // 3], 2.0, np.float32))
        z = tf.constant(np.full([2 + number // 3], 3.0, np.float32))
        return (tf.subtract(x, z if number % 2 else x) * 2.0).numpy().tolist()

    results, _ = turns(turn, 8)
    assert results == [[-2.0 if number % 2 else 0.0] * (2 + number // 3) for number in range(8)]


def test_a_number_that_is_also_a_tensor_of_the_program():
    def turn(number):
        x = tf.constant([1.0, 2.0])
        y = x * 3.0
        return (y + (3.0 if number < 3 else 4.0)).numpy().tolist(), (x * 4.0).numpy().tolist()

    results, _ = turns(turn)
    assert results == [([6.0 + (number >= 3), 9.0 + (number >= 3)], [4.0, 8.0]) for number in range(6)]
