"""``tf.contrib.eager``: derivatives of functions, metrics, iterators, Python functions as operations, tests in both modes."""
from __future__ import annotations

import collections

import numpy as np
import pytest

import penstock as tf
from penstock.contrib.eager import modes
from support.imperative import imperative

pytestmark = pytest.mark.process
tfe = tf.contrib.eager


def product(x, y):
    return x * x * y


def test_derivatives_of_functions():
    with imperative():
        assert [grad.numpy() for grad in tfe.gradients_function(product)(3.0, 4.0)] == [24.0, 9.0]
        assert [grad.numpy() for grad in tfe.gradients_function(product, params=["y"])(3.0, 4.0)] == [9.0]
        value, grads = tfe.value_and_gradients_function(product, params=[0])(3.0, 4.0)
        assert value.numpy() == 36.0 and grads[0].numpy() == 24.0
        with pytest.raises(ValueError, match="returns None"):
            tfe.gradients_function(lambda x: None)(1.0)
        w = tfe.Variable(2.0, name="w")
        value, pairs = tfe.implicit_value_and_gradients(lambda x: w * x)(5.0)
        assert value.numpy() == 10.0 and [(grad.numpy(), variable) for grad, variable in pairs] == [(5.0, w)]
        with pytest.raises(ValueError, match="No trainable variables"):
            tfe.implicit_gradients(lambda x: x * x)(tf.constant(1.0))


def test_optimizers_take_functions():
    with imperative():
        w = tf.Variable(2.0)
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(tf.train.exponential_decay(0.1, step, 1, 0.5))
        for _ in range(2):
            optimizer.minimize(lambda: w * w, global_step=step)
        np.testing.assert_allclose(w.numpy(), 2.0 * 0.8 * 0.9, rtol=1e-6)
        assert step.numpy() == 2 and tf.train.get_global_step() is step
        with pytest.raises(RuntimeError, match="should be a function"):
            optimizer.minimize(w * w)


def test_metrics():
    with imperative():
        mean = tfe.metrics.Mean("mean")
        mean([1.0, 2.0])
        mean(6.0)
        assert mean.result().numpy() == 3.0 and mean.result().dtype is tf.float64
        mean.init_variables()
        mean([1.0, 3.0], weights=[3.0, 1.0])
        assert mean.result().numpy() == 1.5 and len(mean.variables) == 2
        accuracy = tfe.metrics.Accuracy()
        accuracy([1, 2, 3], [1, 2, 4])
        np.testing.assert_allclose(accuracy.result(), 2 / 3)
        other = tfe.metrics.Accuracy()
        other([1], [1])
        accuracy.aggregate([other])
        np.testing.assert_allclose(accuracy.result(), 3 / 4)
        binary, one_hot, sparse = tfe.metrics.BinaryAccuracy(0.5), tfe.metrics.CategoricalAccuracy(), tfe.metrics.SparseAccuracy()
        binary([1, 0], [0.7, 0.6])
        one_hot([[0, 1], [1, 0]], [[0.2, 0.8], [0.3, 0.7]])
        sparse([1, 1], [[0.2, 0.8], [0.3, 0.7]])
        assert [metric.result().numpy() for metric in (binary, one_hot, sparse)] == [0.5, 0.5, 1.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="unequal"):
            accuracy([1, 2], [1])


def test_metrics_in_a_graph():
    with tf.Graph().as_default(), tf.Session() as session:
        mean = tfe.metrics.Mean()
        values = tf.placeholder(tf.float32, [None])
        with tf.control_dependencies([tf.convert_to_tensor(mean(values))]):
            result = mean.result(write_summary=False)
        session.run(mean.init_variables())
        assert np.isfinite(session.run(mean.numer)) and result.dtype is tf.float64


def test_python_functions_have_gradients():
    with imperative():
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.py_function(lambda a: a * a * a, [x], tf.float32)
        assert y.numpy() == 27.0 and tape.gradient(y, x).numpy() == 27.0
        assert tf.py_func(lambda a: a + 1, [x], tf.float32).numpy() == 4.0
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(3.0)
        y, z = tf.py_function(lambda a: (a * a if a > 2 else a, a + 1.0), [x], [tf.float32, tf.float32])
        assert session.run([y, z, *tf.gradients(y, x)]) == [9.0, 4.0, 6.0]


def test_iterators():
    with imperative():
        dataset = tf.data.Dataset.range(5).map(lambda x: x * 2).batch(2)
        assert [batch.numpy().tolist() for batch in tfe.Iterator(dataset)] == [[0, 2], [4, 6], [8]]
        iterator = dataset.make_one_shot_iterator()
        assert iterator.get_next().numpy().tolist() == [0, 2] and next(iterator).numpy().tolist() == [4, 6]
        iterator.get_next()
        with pytest.raises(tf.errors.OutOfRangeError):
            iterator.get_next()
        with pytest.raises(RuntimeError, match="not supported when eager"):
            dataset.make_initializable_iterator()


def test_tests_run_in_both_modes():
    modes = []

    class Test(tf.test.TestCase):
        @tfe.run_test_in_graph_and_eager_modes()
        def test_sum(self):
            modes.append(tf.executing_eagerly())
            self.assertAllEqual(self.evaluate(tf.add(1, 2)), 3)

    Test("test_sum").debug()
    assert modes == [False, True]


def test_an_argument_that_is_given_twice_has_two_gradients():
    with imperative():
        both, x = tfe.gradients_function(tf.multiply), tf.constant(3.0)
        assert [each.numpy() for each in both(x, x)] == [3.0, 3.0]
        assert [each.numpy() for each in tfe.defun(lambda a: both(a, a))(x)] == [3.0, 3.0]
        assert [each.numpy().tolist() for each in both([[2.0]], [[5.0]])] == [[[5.0]], [[2.0]]]


def test_metrics_in_a_graph_count_when_they_are_run():
    with tf.Graph().as_default(), tf.Session() as sess:
        metric = tfe.metrics.Mean("two words")
        update, result = metric(tf.constant([1.0, 2.0])), metric.value()
        sess.run(metric.init_variables())
        sess.run(update)
        assert sess.run(result) == 1.5 and metric.variables[0].name == "two_words/numer:0"


def test_what_needs_graphs_says_so():
    with imperative():
        for call in (lambda: tf.metrics.mean([1.0]), lambda: tf.train.string_input_producer(["a"]), tf.summary.merge_all, tf.add_check_numerics_ops):
            with pytest.raises(RuntimeError, match="eager execution"):
                call()
        v = tf.Variable(2.0, use_resource=True)
        average = tf.train.ExponentialMovingAverage(0.5)
        average.apply([v])
        v.assign(4.0)
        average.apply([v])
        assert average.average(v).numpy() == 3.0


def test_the_global_step_of_a_cleared_session_is_forgotten(monkeypatch):
    with imperative() as graph:
        monkeypatch.setattr("penstock.graph.graph._global_graph", graph)
        step = tf.train.get_or_create_global_step()
        step.assign(7)
        tf.keras.backend.clear_session()
        assert int(tf.train.get_or_create_global_step()) == 0


def test_layers_of_a_sequential_network_and_templates_are_told():
    with imperative():
        network = tfe.Sequential([tf.layers.Dropout(0.999), lambda x: x * 2.0])
        assert network(tf.ones([4]), training=False).numpy().tolist() == [2.0] * 4
        assert 2.0 not in network(tf.ones([4]), training=True).numpy()
        doubled = tfe.make_template("doubled", lambda x, by: x * by * tf.get_variable("k", [], initializer=tf.ones_initializer()),
                                    create_graph_function_=True, by=2.0)
        assert doubled(tf.constant(3.0)).numpy() == 6.0


def test_python_control_flow_in_a_layer_that_is_not_dynamic_is_explained():
    class Choice(tf.keras.layers.Layer):
        def call(self, inputs):
            return inputs if bool(tf.reduce_sum(inputs) > 0.0) else -inputs

    with pytest.raises(TypeError, match=r"(?s)Pass `dynamic=True` to the class constructor.*using a `tf.Tensor` as a Python `bool`"):
        Choice()(tf.placeholder(tf.float32, [2]))


def test_num_gpus_counts_devices(monkeypatch):
    device = collections.namedtuple("device", "name device_type")
    monkeypatch.setattr(modes, "local_devices", lambda config: [device("/device:CPU:0", "CPU"), device("/device:GPU:0", "GPU")])
    assert tfe.num_gpus() == 1
