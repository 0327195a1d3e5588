"""Functions of datasets: what they capture, and what they leave of the graph."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.execute.pipeline import Pipeline
from support.pipelines import drain, listed

Dataset, experimental = tf.data.Dataset, tf.data.experimental


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_captured_variable(use_resource):
    variable = tf.Variable(np.int64(10), use_resource=use_resource)
    iterator = Dataset.range(3).map(lambda x: x + variable).make_initializable_iterator()
    x = iterator.get_next()
    with tf.Session() as sess:
        sess.run(variable.initializer)
        sess.run(iterator.initializer)
        assert drain(sess, x) == [10, 11, 12]
        sess.run(variable.assign(20))
        sess.run(iterator.initializer)
        assert drain(sess, x) == [20, 21, 22]


def test_random_ops_draw_anew_for_each_element():
    tf.set_random_seed(3)
    values = listed(Dataset.range(4).map(lambda _: tf.random_uniform([], seed=1)))
    assert len(set(values)) == 4


def test_names_in_functions_do_not_touch_the_graph(graph):
    Dataset.range(3).map(lambda x: tf.multiply(x, 2, name="product"))
    assert tf.multiply(1, 2, name="product").op.name == "product"
    assert not [op.name for op in graph.get_operations() if "arg0" in op.name]


def test_collections_hold_nothing_of_functions():
    def function(x):
        tf.summary.scalar("inside", x)
        tf.add_to_collection("mine", x)
        return x
    dataset = Dataset.range(3).map(function)
    tf.summary.scalar("outside", 1.0)
    assert tf.get_collection("mine") == [] and len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 1
    with tf.Session() as sess:
        sess.run(tf.summary.merge_all())
    assert listed(dataset) == [0, 1, 2]


def test_control_flow_inside_functions():
    def collatz(x):
        return tf.while_loop(lambda n, steps: n > 1, lambda n, steps: (tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1), steps + 1),
                             [x, 0])[1]
    assert listed(Dataset.range(1, 8).map(collatz)) == [0, 1, 7, 2, 5, 8, 16]
    assert listed(Dataset.range(1, 8).map(collatz, num_parallel_calls=3)) == [0, 1, 7, 2, 5, 8, 16]


def test_nested_functions_capture_through_levels():
    offset = tf.constant(100, tf.int64)
    nested = Dataset.range(3).flat_map(lambda x: Dataset.range(x).map(lambda y: x * 10 + y + offset))
    assert listed(nested) == [110, 120, 121]


def test_control_dependencies_of_a_function_run_first():
    counter = tf.Variable(0, use_resource=True)
    with tf.control_dependencies([counter.assign_add(1)]):
        iterator = Dataset.range(2).map(lambda x: x + 1).make_initializable_iterator()
    with tf.Session() as sess:
        sess.run(counter.initializer)
        sess.run(iterator.initializer)
        assert sess.run(counter) >= 1 and drain(sess, iterator.get_next()) == [1, 2]


def test_map_needs_a_function_and_a_result():
    with pytest.raises(TypeError, match="callable"):
        Dataset.range(3).map(3)
    with pytest.raises(TypeError, match="Unsupported return value"):
        Dataset.range(3).map(lambda x: None)


def test_the_error_names_the_op_and_the_line():
    x = Dataset.range(3).map(lambda v: tf.gather([1, 2], v + 5)).make_one_shot_iterator().get_next()
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(x)
    assert "indices" in str(caught.value) and "test_traced_function.py" in str(caught.value)


def test_plans_of_random_functions_are_used_again_and_their_numbers_begin_anew(monkeypatch):
    planned = []
    monkeypatch.setattr(Pipeline, "_function_plan", lambda self, function, *rest, plan=Pipeline._function_plan, **options:
                        (planned.append(function.name), plan(self, function, *rest, **options))[1])
    with tf.Graph().as_default(), tf.Session() as session:
        numbers = Dataset.from_tensor_slices(np.arange(60, dtype=np.float32))
        iterator = numbers.map(lambda x: tf.random_uniform([], seed=3) + 0 * x, num_parallel_calls=2).make_initializable_iterator()
        element = iterator.get_next()
        epochs = []
        for _ in range(6):
            session.run(iterator.initializer)
            epochs.append(sorted(session.run(element) for _ in range(60)))
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(element)
    assert len(set(epochs[0])) == 60 and all(epoch == epochs[0] for epoch in epochs[1:])
    assert sum("map" in name for name in planned) <= 3, planned
