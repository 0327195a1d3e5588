"""Backward walks that were seen before are blocks: the same gradients, also where values, shapes or structures change; memory stays flat."""
from __future__ import annotations

import gc
import resource
import weakref

import numpy as np
import pytest

import penstock as tf
from penstock.imperative.backward import SeenWalks
from support.imperative import imperative

pytestmark = pytest.mark.process


def walks(graph):
    return [] if graph.walks is None else list(graph.walks._walks.values())


def test_the_second_walk_is_a_block():
    with imperative() as graph:
        v = tf.Variable([[1.0], [2.0]])
        for factor in (1.0, 2.0, 3.0):
            x = tf.constant([[factor, 1.0]])
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(tf.matmul(x, v)))
            assert tape.gradient(loss, v).numpy().ravel().tolist() == [2 * (factor + 2) * factor, 2 * (factor + 2)]
        assert len(walks(graph)) == 1 and walks(graph)[0] is not None


def test_values_that_gradients_ask_for_are_checked():
    with imperative() as graph:
        x = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
        for axis in (0, 1, 0, 1):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.square(tf.reduce_mean(x, axis)))
            expected = np.broadcast_to(2 * x.numpy().mean(axis, keepdims=True) / x.numpy().shape[axis], [2, 3])
            np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected, rtol=1e-6)
        assert graph.walks is not None


def test_shapes_sources_and_unconnected_ones():
    with imperative():
        for size in (2, 3, 2):
            a, b = tf.ones([size]), tf.ones([size]) * 2.0
            with tf.GradientTape(persistent=True) as tape:
                tape.watch([a, b])
                y = a * 3.0
            for _ in range(2):
                da, db = tape.gradient(y, [a, b])
                assert da.numpy().tolist() == [3.0] * size and db is None
                assert tape.gradient(y, y).numpy().tolist() == [1.0] * size


def test_second_order_and_custom_gradients_are_walked_each_time():
    @tf.custom_gradient
    def twice(x):
        return x * 2.0, lambda dy: dy * tf.constant(factor)

    with imperative():
        for factor in (5.0, 7.0):
            x = tf.constant(3.0)
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = x * x * x
                first = inner.gradient(y, x)
            assert (first.numpy(), outer.gradient(first, x).numpy()) == (27.0, 18.0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = twice(x)
            assert tape.gradient(y, x).numpy() == factor


def test_sparse_gradients():
    with imperative():
        table = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2))
        for row in (1, 2, 3):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(tf.nn.embedding_lookup(table, tf.constant([0, row])) ** 2.0)
            grad = tape.gradient(y, table)
            assert isinstance(grad, tf.IndexedSlices) and grad.indices.numpy().tolist() == [0, row]
            np.testing.assert_allclose(grad.values.numpy(), 2 * table.numpy()[[0, row]])


def test_memory_forgets_old_structures(monkeypatch):
    monkeypatch.setattr("penstock.imperative.backward._MOST", 3)
    with imperative() as graph:
        graph.walks = SeenWalks()
        for size in range(1, 8):
            x = tf.ones([size])
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * 2.0
            assert tape.gradient(y, x).numpy().tolist() == [2.0] * size
        assert len(walks(graph)) == 3


def test_data_in_constants_is_not_remembered():
    with imperative() as graph:
        for value in range(20):
            assert tf.reduce_sum(tf.constant(np.full([4, 4], value, np.float32))).numpy() == 16 * value
        assert len(graph._kinds) < 5 and len(graph._inferred) < 5


def test_functions_are_one_operation():
    with imperative() as graph:
        v = tf.Variable(1.0)

        @tf.function
        def update(x):
            v.assign_add(x)

        before = len(graph.thread.recording.operations)
        for _ in range(3):
            update(tf.constant(2.0))
        assert len(graph.thread.recording.operations) - before == 3 and v.numpy() == 7.0


def train(steps, look=10):
    """Peak memory, in KB, after a tenth of the steps and after all of them."""
    peaks = []
    with imperative() as graph:
        w = tf.Variable(np.ones([8, 8], np.float32))
        optimizer = tf.train.AdamOptimizer(0.001)
        x = tf.constant(np.ones([4, 8], np.float32))
        for step in range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            if step % look == 0:
                assert np.isfinite(loss.numpy())
            assert len(graph.thread.recording.operations) <= 4096
            if step in (steps // 10, steps - 1):
                gc.collect()
                peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peaks


def test_memory_stays_flat():
    first, last = train(600)
    assert last - first < 8000


def test_a_loop_that_is_never_looked_at_stays_bounded():
    first, last = train(1200, look=10**9)
    assert last - first < 20000


@pytest.mark.nightly
def test_memory_stays_flat_over_ten_thousand_steps():
    first, last = train(10_000)
    assert last - first < 10_000


def test_variables_of_other_shapes_are_another_structure():
    with imperative():
        for value in ([1.0, 2.0], [3.0, 4.0], 2.0, 5.0, [1.0]):
            v = tf.Variable(value, use_resource=True)
            for _ in range(3):
                with tf.GradientTape() as tape:
                    y = v * 2.0
                np.testing.assert_array_equal(tape.gradient(y, v).numpy(), np.full(np.shape(value), 2.0))


def test_a_tape_that_is_entered_again_goes_on():
    with imperative():
        x, tape = tf.constant([1.0, 2.0]), tf.GradientTape()
        with tape:
            tape.watch(x)
            y = x * x
        aside = y * 5.0
        with tape:
            z = y * x
        assert tape.gradient(z + aside, x) is None
        with tape:
            tape.watch(x)
            z = x * 3.0
        np.testing.assert_array_equal(tape.gradient(z, x).numpy(), [3.0, 3.0])


def test_gradients_that_the_program_drops_do_not_leave_their_segment():
    """A reference cycle would keep them until the garbage is collected: they would be computed as values, and structures change when it is."""
    with imperative():
        v, w = [tf.Variable([[1.0, 2.0], [3.0, 4.0]], use_resource=True) for _ in range(2)]

        def update():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.matmul(v, w))
            gradients = tape.gradient(loss, [v, w])
            for variable, gradient in zip((v, w), gradients):
                variable.assign_sub(0.125 * gradient)
            return loss, weakref.ref(gradients[1])

        gc.collect()
        gc.disable()
        try:
            dropped = []
            for _ in range(6):
                loss, gradient = update()
                dropped.append(gradient() is None)
                loss.numpy()
        finally:
            gc.enable()
        assert dropped[-3:] == [True] * 3
