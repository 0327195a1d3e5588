"""What an op's class may say, and what becomes of a class that says something else."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import OpDef, lookup
from penstock.graph.properties import PROPERTIES, Properties
from penstock.ops.common import FLOATS, like


def define(signature="x: T -> y: T", **members) -> OpDef:
    """An op that is not registered."""
    body = type("Body", (), {"shape": like("x"), "kernel": lambda x: x, **members})
    return OpDef("Tried", signature, {"T": FLOATS}, body)


def test_properties_have_defaults_and_are_declared_on_the_class():
    assert all(getattr(define(), name) == getattr(Properties, name) for name in PROPERTIES)
    assert define(elementwise=True, reduces="sum").elementwise and not Properties.elementwise


@pytest.mark.parametrize("name", ["elementwize", "lowers", "gradients"])
def test_a_name_that_means_nothing_is_an_error(name):
    with pytest.raises(TypeError, match=f"op Tried: '{name}' is neither a function nor a property of ops"):
        define(**{name: True})
    assert define(**{f"_{name}": True}).type == "Tried"


def test_an_op_needs_a_shape_function():
    with pytest.raises(TypeError, match="op Tried has no shape function"):
        OpDef("Tried", "x: T -> y: T", {"T": FLOATS}, type("Body", (), {}))


def test_a_function_takes_inputs_and_attributes():
    with pytest.raises(TypeError, match="'z' of <lambda> is neither an input nor an attribute"):
        define(shape=lambda z: z.shape)


def test_a_kernel_that_needs_the_session():
    assert define(kernel=lambda ctx, x: x).needs_context and not define().needs_context


def test_inputs_by_keyword():
    x = tf.constant([1.0])
    assert lookup("AddV2")(x=x, y=x).shape == [1]
    with pytest.raises(TypeError, match="No argument for input y of op AddV2"):
        lookup("AddV2")(x=x)


def test_several_outputs_are_a_named_tuple():
    quantized = tf.quantize([1.0, -2.0], -3.0, 3.0, tf.quint8)
    assert type(quantized).__name__ == "QuantizeV2" and quantized._fields == ("output", "output_min", "output_max")
    with tf.Session() as session:
        assert session.run(quantized).output_max == 3.0
        assert session.run(tf.as_string([np.nan, 1.5], width=6, precision=1, fill="0")).tolist() == [b"   nan", b"0001.5"]
