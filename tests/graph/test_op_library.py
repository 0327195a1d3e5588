"""Ops that are declared by protos and called by name; what is said of arguments that do not fit is what TensorFlow says."""
from __future__ import annotations

import pytest
from google.protobuf import text_format
from tensorboard.compat.proto.op_def_pb2 import OpDef

import penstock as tf
from penstock.graph.op_library import OpDefLibrary

PAIR = ("name: 'Pair' input_arg { name: 'input' type_attr: 'T' } input_arg { name: 'b' type_attr: 'T' } output_arg { name: 'out' type_attr: 'T' } "
        "attr { name: 'T' type: 'type' allowed_values { list { type: DT_STRING type: DT_INT32 } } } "
        "attr { name: 'n' type: 'int' has_minimum: true minimum: 2 }")
MANY = "name: 'Many' input_arg { name: 'a' type: DT_INT32 number_attr: 'N' } attr { name: 'N' type: 'int' has_minimum: true minimum: 2 }"


@pytest.fixture
def library():
    made = OpDefLibrary()
    for text in (PAIR, MANY):
        made.add_op(text_format.Parse(text, OpDef()))
    with tf.Graph().as_default():
        yield made


def test_a_call(library):
    out = library.apply_op("Pair", input_=1, b=[2, 3], n=3, name="p")
    assert out.dtype == tf.int32 and list(out.op.node_def.input) == ["p/input", "p/b"] and out.op.get_attr("n") == 3


@pytest.mark.parametrize("op_type, given, error, words", [
    ("None", {}, RuntimeError, "Unrecognized Op name None"),
    ("Pair", {"b": 1, "n": 2}, TypeError, "No argument for input input"),
    ("Pair", {"input": 1, "b": 2}, TypeError, "No argument for attr n"),
    ("Pair", {"input": 1, "b": 2, "n": 2, "T": tf.int32}, TypeError, "Should not specify value for inferred attr 'T'."),
    ("Pair", {"input": 1, "b": 2, "n": 2, "c": 3}, TypeError, "unexpected keyword arguments: c"),
    ("Pair", {"input": 1, "b": 2, "n": 1}, ValueError, "Attr 'n' of 'Pair' Op passed 1 less than minimum 2."),
    ("Pair", {"input": 1, "b": 2, "n": "two"}, TypeError, "Expected int for argument 'n' not 'two'."),
    ("Pair", {"input": 1.5, "b": 2.5, "n": 2}, TypeError, "'input' has DataType float32 not in list of allowed values: int32, string"),
    ("Pair", {"input": 1, "b": "x", "n": 2}, TypeError, "Expected int32 passed to parameter 'b' of op 'Pair', got 'x' of type 'str' instead."),
    ("Many", {"a": [1]}, ValueError, "List argument 'a' to 'Many' Op with length 1 shorter than minimum length 2."),
    ("Many", {"a": [1, "x"]}, TypeError, "have types [int32, string] that do not match expected type int32."),
    ("Many", {"a": 1}, TypeError, "Expected list for 'a' argument to 'Many' Op, not 1."),
])
def test_what_does_not_fit(library, op_type, given, error, words):
    with pytest.raises(error) as caught:
        library.apply_op(op_type, **given)
    assert words in str(caught.value)


@pytest.mark.parametrize("text, words", [
    ("name: 'A' input_arg { name: 'a' type_attr: 'T' }", "Inconsistent OpDef for 'A', missing attr 'T'"),
    ("name: 'A' output_arg { name: 'a' type_attr: 'T' } attr { name: 'T' type: 'int' }", "used as a type_attr but has type int"),
    ("name: 'A' output_arg { name: 'a' }", "must have one type field not 0")])
def test_declarations_must_be_consistent(text, words):
    with pytest.raises(TypeError, match=words):
        OpDefLibrary().add_op(text_format.Parse(text, OpDef()))
