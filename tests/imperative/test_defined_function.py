"""``Defun``: values, types, gradients of one's own."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.imperative.defined_function import Defun

pytestmark = pytest.mark.process


def test_values_and_gradients():
    @Defun(tf.float32, tf.float32)
    def product(x, y):
        return x * y + 1.0

    @Defun(tf.float32, python_grad_func=lambda op, dy: dy * op.inputs[0] * 10.0, func_name="Square")
    def square(x):
        return x * x

    @Defun(tf.float32, tf.float32)
    def slope(x, dy):
        return dy * 7.0

    @Defun(tf.float32, grad_func=slope, shape_func=lambda op: [op.inputs[0].shape])
    def cube(x):
        return x * x * x

    x = tf.constant(3.0)
    with tf.Session() as session:
        y, z, w = product(x, 2.0), square(x, name="here"), cube(x)
        assert session.run([y, *tf.gradients(y, x)]) == [7.0, 2.0]
        assert session.run([z, *tf.gradients(z, x)]) == [9.0, 30.0]
        assert session.run([w, *tf.gradients(w, x)]) == [27.0, 7.0]
    assert square.name == "Square" and product.declared_input_types == [tf.float32, tf.float32]


def test_what_is_wrong_is_said():
    @Defun(tf.float32)
    def same(x):
        return x

    with pytest.raises(ValueError, match="number of arguments: 1"):
        same(1.0, 2.0)
    with pytest.raises((TypeError, ValueError)):
        same(tf.constant(1))
    with pytest.raises(TypeError, match="unexpected keyword"):
        Defun(tf.float32, nothing=1)(lambda x: x)
