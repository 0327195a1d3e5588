"""Every op remembers the user's line that made it, and errors show it."""
from __future__ import annotations

import inspect
import os

import pytest

import penstock as tf


def line_here() -> int:
    """The line of the caller."""
    return inspect.currentframe().f_back.f_lineno


def build(value):
    return tf.identity(value), line_here()


def test_an_op_keeps_file_and_line():
    tensor, line = build([1.0])
    found = [(os.path.basename(frame[0]), frame[1], frame[2]) for frame in tensor.op.traceback]
    assert (os.path.basename(__file__), line, "build") in found


def test_constants_made_for_an_op_carry_its_line():
    tensor, line = build([1.0])
    constant = tensor.op.inputs[0]
    assert any(frame[1] == line and frame[2] == "build" for frame in constant.op.traceback)


def test_outermost_frame_comes_first():
    tensor, _ = build([1.0])
    functions = [frame[2] for frame in tensor.op.traceback]
    assert functions.index("test_outermost_frame_comes_first") < functions.index("build")


def test_origin_is_one_readable_line():
    tensor, line = build([1.0])
    assert f"{os.path.basename(__file__)}:{line}" in tensor.op.origin
    assert "tf.identity(value)" in tensor.op.origin


def test_a_runtime_error_names_op_and_line():
    unfed = tf.placeholder(tf.float32, name="unfed")
    line = line_here() - 1
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(tf.identity(unfed))
    assert caught.value.op is unfed.op
    for part in ("unfed", f"{os.path.basename(__file__)}:{line}"):
        assert part in str(caught.value)
    assert caught.value.node_def.name == "unfed"


def test_gradients_carry_the_line_that_asked_for_them():
    x = tf.constant(2.0)
    gradient = tf.gradients(tf.identity(x), x)[0]
    line = line_here() - 1
    assert any(frame[1] == line for frame in gradient.op.traceback)
