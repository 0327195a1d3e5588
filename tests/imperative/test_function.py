"""Traced functions: when they are traced, what they return, effects, gradients, signatures and methods."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.imperative.function import defun
from penstock.imperative.tape import GradientTape
from support.imperative import imperative

pytestmark = pytest.mark.process


def test_one_trace_per_signature():
    traced = []

    @tf.function
    def double(x, factor=2.0):
        traced.append(x.shape.as_list())
        return x * factor

    with imperative():
        assert double(tf.ones([2])).numpy().tolist() == [2.0, 2.0]
        assert double(tf.ones([2]) * 3.0).numpy().tolist() == [6.0, 6.0]
        assert double(tf.ones([3])).shape == (3,) and double(tf.ones([2]), factor=5.0).numpy()[0] == 5.0
        assert traced == [[2], [3], [2]]


def test_structures_come_back():
    @defun
    def split(pair):
        return {"sum": pair[0] + pair[1], "none": None, "list": [pair[0], 3]}

    with imperative():
        result = split((tf.constant(1.0), tf.constant(2.0)))
        assert result["sum"].numpy() == 3.0 and result["none"] is None and result["list"][1].numpy() == 3


def test_effects_and_variables():
    with imperative():
        v = tf.Variable(1.0)

        @tf.function
        def add(a):
            v.assign_add(a)
            return v * a

        assert [add(tf.constant(2.0)).numpy() for _ in range(2)] == [6.0, 10.0] and v.numpy() == 5.0
        with GradientTape() as tape:
            y = add(tf.constant(3.0))
        assert tape.gradient(y, v).numpy() == 3.0


def test_gradients_go_through_loops_to_any_order():
    @tf.function
    def power(x):
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, tf.ones([])])[1]

    with imperative():
        x = tf.constant(3.0)
        with GradientTape() as outer:
            outer.watch(x)
            with GradientTape() as inner:
                inner.watch(x)
                y = power(x)
            first = inner.gradient(y, x)
        assert (y.numpy(), first.numpy(), outer.gradient(first, x).numpy()) == (27.0, 27.0, 18.0)
        assert power(x).numpy() == 27.0  # also after its loop keeps more than it did


def test_input_signatures():
    traced = []

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def total(x):
        traced.append(x.shape.as_list())
        return tf.reduce_sum(x) / tf.cast(tf.shape(x)[0], tf.float32)

    with imperative():
        assert total(tf.ones([3, 2])).numpy() == 2.0 and total(np.ones([5, 2], np.float32)).numpy() == 2.0
        assert traced == [[None, 2]]
        with pytest.raises(ValueError, match="input_signature"):
            total(tf.ones([3, 3]))


def test_methods_are_traced_per_object():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        @tf.function
        def __call__(self, x):
            return x * self.factor

        @tf.function
        def again(self, x):
            return self(x) * self.factor

    with imperative():
        two, three = Scale(2.0), Scale(3.0)
        x = tf.constant(1.0)
        assert [two.again(x).numpy(), three.again(x).numpy()] == [4.0, 9.0]


def test_a_training_step():
    with imperative():
        w = tf.Variable([[1.0], [1.0]])
        optimizer = tf.train.GradientDescentOptimizer(0.1)

        @defun
        def step(x, y):
            with GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            return loss

        rng = np.random.RandomState(0)
        x = rng.normal(size=(16, 2)).astype(np.float32)
        losses = [float(step(tf.constant(x), tf.constant(x @ np.float32([[2.0], [-1.0]])))) for _ in range(60)]
        assert losses[-1] < 1e-3 * losses[0]


def test_branches_and_loops_of_functions_have_seeds_of_their_own():
    """The numbers are TensorFlow 1.15's: in functions, branches and loops count their own operations."""
    def loop(x, **options):
        return tf.while_loop(lambda i, s: i < 3, lambda i, s: [i + 1, s + tf.random_uniform([2]) * x], [0, tf.zeros([2])], **options)[1]

    @tf.function
    def turns(x):
        return loop(x), tf.random_uniform([2])

    @tf.function
    def counted(x):
        return loop(x, maximum_iterations=2), tf.random_uniform([2])

    @tf.function
    def branch(x):
        return tf.cond(x > 0.0, lambda: tf.random_uniform([2]), lambda: tf.random_uniform([2]) * x), tf.random_uniform([2])

    with imperative():
        tf.set_random_seed(3)
        for function, argument, wanted in ((turns, 1.0, [[1.9865, 0.51742], [0.9355, 0.52217]]),
                                           (counted, 1.0, [[1.0962, 0.30917], [0.9355, 0.52217]]),
                                           (branch, 1.0, [[0.22319, 0.66804], [0.36016, 0.01932]])):
            np.testing.assert_allclose([each.numpy() for each in function(tf.constant(argument))], wanted, rtol=1e-4)


def test_a_signature_alone_makes_a_concrete_function():
    with imperative():
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32, name="why")])
        def scaled(x, y):
            return x * y

        concrete = scaled.get_concrete_function()
        assert [tensor.name for tensor in concrete.inputs] == ["x:0", "why:0"]
        assert [spec.name for spec in concrete.structured_input_signature[0]] == ["x", "why"]
        np.testing.assert_array_equal(concrete(tf.constant([1.0, 2.0]), tf.constant(3.0)), [3, 6])
        assert scaled.get_concrete_function() is concrete


def test_inputs_of_concrete_functions_have_the_names_of_parameters():
    with imperative():
        @tf.function
        def scaled(x, pair, _hidden=2.0, flag=True):
            return x * pair[0] * pair[1] * _hidden if flag else x

        one = tf.TensorSpec([], tf.float32)
        concrete = scaled.get_concrete_function(one, [one, one], tf.constant(5.0))
        assert [tensor.name for tensor in concrete.inputs] == ["x:0", "pair:0", "pair_1:0", "placeholder:0"]
        other = scaled.get_concrete_function(one, pair=[one, tf.TensorSpec([], tf.float32, name="second")])
        assert [tensor.name for tensor in other.inputs] == ["x:0", "pair:0", "second:0"]
        assert float(other(x=tf.constant(2.0), pair=[tf.constant(3.0), tf.constant(4.0)])) == 48
        assert float(other(tf.constant(2.0), [3.0, 4.0])) == 48


def test_arguments_of_a_concrete_function_by_name():
    with imperative():
        concrete = tf.function(lambda x, y: x - y).get_concrete_function(tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.float32))
        one, three = tf.constant(1.0), tf.constant(3.0)
        assert float(concrete(three, one)) == float(concrete(three, y=one)) == float(concrete(y=one, x=three)) == 2.0
        with pytest.raises(TypeError, match="no value for its argument 'y'; it has 'z'"):
            concrete(three, z=one)
