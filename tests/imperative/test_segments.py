"""Segments: what runs when, in which order, how often it is planned, and what is kept."""
from __future__ import annotations

import gc
import threading
import tracemalloc

import numpy as np
import pytest

import penstock as tf
from penstock.imperative.segments import Runner
from penstock.imperative.tape import GradientTape
from support.imperative import imperative

pytestmark = pytest.mark.process


def test_nothing_runs_before_it_is_looked_at():
    with imperative() as graph:
        x = tf.constant([1.0, 2.0])
        y = x * 2.0 + 1.0
        assert len(graph.thread.recording.operations) == 2 and y.shape == (2,) and y.dtype is tf.float32
        assert y.numpy().tolist() == [3.0, 5.0] and not graph.thread.recording.operations


def test_a_loop_is_planned_once(monkeypatch):
    with imperative() as graph:
        made = []
        place = Runner(None).pipeline.__class__.place
        monkeypatch.setattr(type(graph.runner.pipeline), "place", lambda self, *args, **options: made.append(1) or place(self, *args, **options))
        w = tf.Variable([[1.0], [2.0]])
        optimizer = tf.train.AdamOptimizer(0.1)
        losses = []
        for step in range(12):
            with GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(tf.matmul(tf.constant([[1.0, float(step)]]), w)))
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            losses.append(loss.numpy())
        assert len(made) <= 3, "the structure of a turn does not change"
        assert len(losses) == 12 and losses[1] != losses[0]


def test_effects_keep_the_order_of_the_program():
    with imperative():
        v = tf.Variable(1.0)
        before = v * 1.0
        v.assign(5.0)
        between = v * 1.0
        v.assign_add(2.0)
        for _ in range(3):
            v.assign(v * 2.0)
        assert [before.numpy(), between.numpy(), v.numpy()] == [1.0, 5.0, 56.0]


def test_a_loop_that_is_never_looked_at_does_not_grow():
    with imperative() as graph:
        x = tf.constant(0.0)
        for _ in range(10_000):
            x = x + 1.0
            assert len(graph.thread.recording.operations) <= 4096
        assert x.numpy() == 10_000.0


def test_variables_go_with_the_program():
    with imperative() as graph:
        resources = graph.runner.environment.resources
        v = tf.Variable(np.zeros(10))
        v.assign_add(np.ones(10))
        assert v.numpy().sum() == 10 and len(resources) == 1
        del v
        gc.collect()
        assert len(resources) == 0


def test_errors_name_the_line_and_come_again():
    with imperative():
        x = tf.gather(tf.constant([1.0, 2.0]), tf.constant([0, 1]) + tf.constant([9, 9]))
        y = x * 2.0
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)not in \[0, 2\).*test_segments"):
                y.numpy()
        assert (tf.constant(1.0) + 1.0).numpy() == 2.0  # the program goes on


def test_errors_of_shapes_and_types_come_at_the_call():
    with imperative():
        with pytest.raises(tf.errors.InvalidArgumentError, match="Matrix size-incompatible"):
            tf.matmul(tf.ones([2, 2]), tf.ones([3, 3]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a float tensor but is a int32"):
            tf.ones([2]) + tf.constant(1)
        with pytest.raises(RuntimeError, match="not compatible with eager"):
            tf.placeholder(tf.float32)
        with pytest.raises(RuntimeError, match="GradientTape"):
            tf.gradients(tf.ones([2]), tf.ones([2]))


def test_values_in_python():
    with imperative():
        x = tf.constant([[1, 2], [3, 4]])
        assert [row.numpy().tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2 and x.ndim == 2
        assert [10, 20, 30][tf.constant(1)] == 20 and list(range(tf.constant(2))) == [0, 1]
        assert bool(tf.constant(True)) and float(tf.constant(1.5)) == 1.5 and int(tf.constant(7)) == 7
        assert f"{tf.constant(2.5):.2f}" == "2.50" and "shape=(2, 2)" in str(x)
        array = x.numpy()
        array[0, 0] = 100
        assert x.numpy()[0, 0] == 1, "the program's copy is its own"
        np.testing.assert_array_equal(np.add(x, 1), [[2, 3], [4, 5]])


def test_graphs_and_values_side_by_side():
    with imperative():
        value = tf.constant(3.0) * 2.0
        with tf.Graph().as_default():
            assert not tf.executing_eagerly()
            y = tf.placeholder(tf.float32, []) + value  # a constant of the graph
            with tf.Session() as session:
                assert session.run(y, {y.op.inputs[0]: 1.0}) == 7.0
        assert tf.executing_eagerly()


def test_threads_have_recordings_of_their_own():
    with imperative() as graph:
        found = []

        def work(start):
            with graph.as_default():
                x = tf.constant(start)
                for _ in range(50):
                    x = x * 1.5 - 0.5
                found.append((start, float(x)))

        threads = [threading.Thread(target=work, args=(float(start),)) for start in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(start for start, _ in found) == [1.0, 2.0, 3.0, 4.0] and dict(found)[1.0] == 1.0


def test_seeds_are_those_of_tensorflow():
    with imperative():
        tf.set_random_seed(3)  # the numbers are TensorFlow 1.15's
        np.testing.assert_allclose(tf.random_normal([2]), [-0.8296372, -1.8266271], rtol=1e-6)
        np.testing.assert_allclose(tf.random_uniform([2]), [0.19457185, 0.18628204], rtol=1e-6)
        tf.set_random_seed(3)
        np.testing.assert_allclose(tf.random_normal([2]), [-0.8296372, -1.8266271], rtol=1e-6)
        np.testing.assert_allclose(tf.random_uniform([2], seed=5), [0.3976692, 0.84256816], rtol=1e-6)


def test_slices_of_variables_have_values_and_are_written():
    with imperative():
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        row = v[1]
        assert row.numpy().tolist() == [3.0, 4.0] and (v[0, 1] * 2.0).numpy() == 4.0
        row.assign([5.0, 6.0])
        assert v.numpy().tolist() == [[1.0, 2.0], [5.0, 6.0]] and row.numpy().tolist() == [3.0, 4.0]
        assert not hasattr(tf.constant([1.0])[0], "assign")


def test_a_value_has_no_operation():
    with imperative():
        x = tf.constant(1.0)
        for name in ("op", "graph", "name", "value_index"):
            with pytest.raises(AttributeError, match=f"Tensor.{name} is meaningless when eager execution is enabled"):
                getattr(x, name)
            assert not hasattr(x, name)


def test_what_counts_nodes_in_a_graph_needs_no_graph():
    with imperative():
        assert tf.boolean_mask(tf.constant([[1.0], [2.0]]), [False, True]).numpy().tolist() == [[2.0]]
        assert tf.zeros([tf.constant(2), 1]).numpy().tolist() == [[0.0], [0.0]]
        assert tf.sequence_mask([1, 2], tf.constant(2)).numpy().tolist() == [[True, False], [True, True]]


def test_values_of_a_new_structure_go_once_nothing_needs_them():
    with imperative():
        x = tf.ones([256 * 1024])
        for _ in range(40):
            x = tf.sin(x)
        tracemalloc.start()
        try:
            x.numpy()
            assert tracemalloc.get_traced_memory()[1] < 10 * 2**20  # 40 values have 40 MB
        finally:
            tracemalloc.stop()


def test_threads_see_the_variables_of_each_other():
    with imperative() as graph:
        total, weights, found, lock = tf.Variable(0.0), tf.Variable(tf.ones([4])), {}, threading.Lock()

        def work(number):
            with graph.as_default():
                for _ in range(10):
                    with GradientTape() as tape:
                        loss = tf.reduce_sum(weights * weights * float(number))
                    with lock:
                        total.assign_add(1.0)
                    found[number] = tape.gradient(loss, weights).numpy().tolist()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert total.numpy() == 40.0 and found == {number: [2.0 * number] * 4 for number in range(4)}


def test_a_value_that_was_read_under_a_lock_is_the_one_of_that_time():
    with imperative() as graph:
        counter, seen, lock = tf.Variable(0), [], threading.Lock()

        def work():
            with graph.as_default():
                for _ in range(20):
                    with lock:
                        value = counter.read_value()
                        counter.assign_add(1)
                    seen.append(value)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(int(value) for value in seen) == list(range(60))
