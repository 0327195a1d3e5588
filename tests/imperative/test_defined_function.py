"""``Defun``: values, types, gradients of one's own."""
from __future__ import annotations

import pytest
from tensorboard.compat.proto.function_pb2 import FunctionDefLibrary

import penstock as tf
from penstock.imperative.defined_function import Defun, from_definition, from_library

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
    assert square.name == "Square" and product.declared_input_types == (tf.float32, tf.float32)


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
    with pytest.raises(ValueError, match="Unknown keyword arguments"):
        same(1.0, device="/cpu:0")
    with pytest.raises(ValueError, match="are not supported"):
        Defun()(lambda x=1: x)
    with pytest.raises(ValueError, match="specified input types"):
        Defun(tf.float32)(lambda x, y: x)
    with pytest.raises(ValueError, match="can not return None"):
        Defun()(lambda: (None, None))()
    with pytest.raises(tf.errors.InvalidArgumentError, match="output names size = 2 outputs size = 1"):
        Defun(tf.float32, out_names=["a", "b"])(lambda x: x)(1.0)


def test_names_of_results():
    """As TensorFlow's, where a call is one node."""
    twice = Defun(tf.float32, func_name="Twice")(lambda x: x * 2.0)
    parts = Defun(tf.float32)(lambda x: (x + 1.0, x - 1.0))
    with tf.Graph().as_default():
        assert [twice(1.0).name, twice(1.0).name, twice(1.0, name="mine").name] == ["Twice:0", "Twice_1:0", "mine:0"]
        assert [tensor.name for tensor in parts(1.0, name="p")] == ["p:0", "p:1"]


def test_definitions():
    def shifted(x):
        """x + 1."""
        return x + 1.0

    function = Defun(tf.float32, noinline=True)(shifted)
    definition = function.definition
    assert function.name == definition.signature.name and function.name.startswith("shifted_") and definition.signature.description == "x + 1."
    assert definition.attr["_noinline"].b and [arg.type for arg in definition.signature.input_arg] == [1]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(2.0)
        y = from_definition(definition)(x)
        assert session.run([y, *tf.gradients(y, x)]) == [3.0, 1.0]
    assert Defun()(shifted).instantiate([tf.float64]).definition.signature.input_arg[0].type == 2


def test_captures():
    with tf.Graph().as_default():
        c = tf.constant(10.0)
        function = Defun(tf.float32)(lambda x: x + c)
        assert function.captured_inputs == [c] and len(function.definition.signature.input_arg) == 2
        assert Defun(tf.float32, capture_by_value=True)(lambda x: x + c).captured_inputs == []


def test_libraries():
    slope, other = (Defun(tf.float32, tf.float32, func_name=name)(lambda x, dy: x * dy) for name in ("Slope", "Other"))
    square = Defun(tf.float32, func_name="Sq", grad_func=slope)(lambda x: x * x)
    library = FunctionDefLibrary(function=[slope.definition, square.definition])
    library.gradient.add(function_name="Sq", gradient_func="Slope")
    found = {function.name: function for function in from_library(library)}
    assert found["Sq"].grad_func_name == "Slope" and found["Slope"].grad_func_name is None
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(3.0)
        assert session.run(tf.gradients(found["Sq"](x), x)) == [3.0]
    library.gradient.add(function_name="Slope", gradient_func="Sq")
    with pytest.raises(ValueError, match="cyclic gradient functions"):
        from_library(library)
    library.gradient.add(function_name=other.name, gradient_func="Sq")
    with pytest.raises(ValueError, match="FunctionDefLibrary missing 'Other' FunctionDef"):
        from_library(library)


def test_a_variable_is_read_once():
    """So that the seeds of what follows are TensorFlow's: the read, and the call."""
    same = Defun(func_name="same")(lambda x: x)
    with tf.Graph().as_default() as graph:
        variable = tf.get_variable("v", [2], use_resource=True)
        before = len(graph.get_operations())
        same(variable)
        assert [op.type for op in graph.get_operations()[before:]] == ["ReadVariableOp", "same_float32"]
