"""py_func: what the function gets, what it may return, and what its errors become."""
from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import penstock as tf


def run(tensor):
    with tf.Session(graph=(tensor[0] if isinstance(tensor, list) else tensor).graph) as sess:
        return sess.run(tensor)


@pytest.mark.parametrize("error, expected", [
    (ValueError, tf.errors.InvalidArgumentError), (TypeError, tf.errors.InvalidArgumentError), (StopIteration, tf.errors.OutOfRangeError),
    (MemoryError, tf.errors.ResourceExhaustedError), (NotImplementedError, tf.errors.UnimplementedError), (RuntimeError, tf.errors.UnknownError),
    (KeyError, tf.errors.UnknownError), (SystemExit, tf.errors.UnknownError)])
def test_errors_keep_their_story(error, expected):
    def failing(x):
        raise error("boo")

    with tf.Graph().as_default():
        y = tf.py_func(failing, [1.0], tf.float32)
    with pytest.raises(expected) as caught:
        run(y)
    assert f"{error.__name__}: " in str(caught.value) and "in failing" in str(caught.value)
    assert isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize("result, types, message", [
    (np.float64(1), tf.float32, "is double, but expects float"), (3, tf.int32, "is int64, but expects int32"),
    ([1.0, 2.0], tf.float64, "returns 2 values, but expects to see 1 values"), (None, tf.float32, "returns 0 values, but expects to see 1 values")])
def test_results_are_checked(result, types, message):
    with tf.Graph().as_default():
        y = tf.py_func(lambda: result, [], types)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(y)


@pytest.mark.parametrize("order", ["<", ">"])
def test_results_may_have_their_bytes_in_either_order(order):
    with tf.Graph().as_default():
        y = tf.py_func(lambda: np.arange(3, dtype=f"{order}f4"), [], tf.float32)
        value, double = run([y, y * 2.0])
    assert value.dtype.isnative and value.tolist() == [0, 1, 2] and double.tolist() == [0, 2, 4]


def test_arguments_may_be_written_to():
    def greedy(x):
        x += 1
        return x

    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        first, second = run([tf.py_func(greedy, [x], tf.float32), tf.identity(x)])
    assert first.tolist() == [2, 3] and second.tolist() == [1, 2]


def test_a_later_write_to_a_result_is_not_seen():
    kept = np.zeros(2)
    with tf.Graph().as_default():
        value = run(tf.py_func(lambda: kept, [], tf.float64))
    kept[:] = 5
    assert value.tolist() == [0, 0]


def test_function_lives_as_long_as_its_graph():
    class Doubler:
        def __call__(self, x):
            return 2 * x

    double = Doubler()
    alive = weakref.ref(double)
    graph = tf.Graph()
    with graph.as_default():
        y = tf.py_func(double, [[1.0]], tf.float32)
    del double
    gc.collect()
    assert run(y).tolist() == [2.0]
    del graph, y
    gc.collect()
    assert alive() is None


def test_no_gradient_unless_overridden():
    @tf.RegisterGradient("TestPyFuncHalf")
    def half(op, dy):
        return dy * 0.5

    with tf.Graph().as_default() as graph:
        x = tf.constant(3.0)
        assert tf.gradients(tf.py_func(lambda v: v, [x], tf.float32), x) == [None]
        with graph.gradient_override_map({"PyFunc": "TestPyFuncHalf"}):
            y = tf.py_func(lambda v: v, [x], tf.float32)
        assert run(tf.gradients(y, x)) == [0.5]


def test_what_has_no_results_is_an_operation_if_it_has_effects():
    assert tf.py_func(lambda x: None, [1.0], []).type == "PyFunc"
    assert tf.py_func(lambda x: None, [1.0], [], stateful=False) == []


def test_records_are_refused():
    with pytest.raises(tf.errors.InternalError, match="Unsupported numpy data type"):
        run(tf.py_func(lambda: np.array([], [("a", np.float32)]), [], tf.float32))
