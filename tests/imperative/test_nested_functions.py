"""Traced functions inside of functions and of graphs, and gradients of functions with loops: traced once, effects once, TensorFlow's seeds."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.imperative.tape import GradientTape
from support.imperative import imperative

pytestmark = pytest.mark.process


def test_a_function_inside_another_is_traced_once():
    traced = []

    @tf.function
    def inner(x, k=2.0):
        traced.append("inner")
        return {"a": x * k, "b": [x, None]}

    @tf.function
    def outer(x):
        traced.append("outer")
        first, second = inner(x), inner(x * 2.0)
        assert first["b"][1] is None
        for _ in tf.range(2):
            x = inner(x)["a"]
        return first["a"] + second["b"][0] + x

    with imperative():
        assert [outer(tf.constant(1.0)).numpy() for _ in range(2)] == [8.0, 8.0]
        assert traced == ["outer", "inner"]


def test_a_function_of_a_function_sees_the_values_around_it():
    @tf.function
    def outer(x):
        @tf.function
        def local(z):
            return z + x
        return local(x * 2.0) * local(x * 3.0)

    with imperative():
        assert outer(tf.constant(2.0)).numpy() == 48.0 and outer(tf.constant(1.0)).numpy() == 12.0


def test_effects_of_nested_functions_keep_their_order():
    with imperative():
        v = tf.Variable(1.0)

        @tf.function
        def double(x):
            v.assign(v * 2.0)
            return v + x

        @tf.function
        def outer(x):
            a = double(x)
            v.assign_add(1.0)
            return a, double(x)

        assert [value.numpy() for value in outer(tf.constant(0.0))] == [2.0, 6.0] and v.numpy() == 6.0


def test_a_concrete_function_can_be_called_inside_another():
    @tf.function
    def twice(x):
        return x * 2.0

    with imperative():
        concrete = twice.get_concrete_function(tf.TensorSpec([], tf.float32))

        @tf.function
        def outer(x):
            return concrete(x) + concrete(x=x)

        assert outer(tf.constant(3.0)).numpy() == 12.0


def test_a_function_in_a_graph_is_traced_once():
    traced = []

    @tf.function
    def square(x):
        traced.append(1)
        return x * x

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(3.0)
        y = square(x) + square(x + 1.0)
        assert session.run([y, tf.gradients(y, x)[0]]) == [25.0, 14.0] and traced == [1]


def test_nested_functions_draw_the_numbers_of_tensorflow():
    """The numbers are those of TensorFlow 1.15.5."""
    @tf.function
    def inner(x):
        return x + tf.random.uniform([2])

    @tf.function
    def middle(x):
        return inner(inner(x) * 2) + tf.random.normal([2])

    @tf.function
    def outer(x):
        first = middle(x)
        return first, tf.random.uniform([2]), middle(first), tf.random.uniform([2])

    with imperative():
        tf.set_random_seed(3)
        drawn = [[value.numpy() for value in outer(tf.zeros([2]))] for _ in range(2)]
    np.testing.assert_allclose(drawn[0], [[2.9443, 2.5299], [0.3977, 0.8426], [8.8328, 7.5897], [0.2505, 0.8641]], atol=1e-4)
    np.testing.assert_allclose(drawn[1], [[-0.4332, -0.3195], [0.9487, 0.5228], [-1.2997, -0.9586], [0.9616, 0.6864]], atol=1e-4)


def test_the_gradient_of_a_function_with_a_loop_runs_nothing_again():
    with imperative():
        v, w = tf.Variable(2.0), tf.Variable(3.0)

        @tf.function
        def step(x):
            v.assign_add(1.0)
            for _ in tf.range(2):
                x = x * w
                v.assign_add(x)
            return x * v

        with GradientTape() as tape:
            y = step(tf.constant(1.0))
        assert [grad.numpy() for grad in tape.gradient(y, [v, w])] == [9.0, 90.0] and v.numpy() == 15.0 and y.numpy() == 135.0


def test_the_gradient_of_a_function_with_a_loop_has_the_numbers_that_were_drawn():
    with imperative():
        w = tf.Variable(3.0)

        @tf.function
        def noisy(x):
            noise = tf.random.uniform([3])
            for _ in tf.range(2):
                x = x * w * tf.random.uniform([])
            return x * noise

        for _ in range(3):
            with GradientTape() as tape:
                y = noisy(tf.ones([3]))
            np.testing.assert_allclose(tape.gradient(y, w).numpy(), 2.0 / 3.0 * tf.reduce_sum(y).numpy(), rtol=1e-5)


def test_a_persistent_tape_gives_higher_orders():
    @tf.function
    def power(x):
        y = tf.ones([])
        for _ in tf.range(4):
            y = y * x
        return y

    with imperative():
        x = tf.constant(2.0)
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            first = tape.gradient(power(x), x)
            second = tape.gradient(first, x)
            third = tape.gradient(second, x)
        assert (first.numpy(), second.numpy(), third.numpy()) == (32.0, 48.0, 48.0)
