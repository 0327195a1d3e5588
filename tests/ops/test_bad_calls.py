"""Calls that cannot work, found by the fuzzer: each ends in an error that says why, soon, and without touching foreign memory."""
from __future__ import annotations

import time

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import lookup


def fails(op_type, *inputs, match, **attrs):
    """The call fails, while it is built or, if nothing is known of its inputs then, while it runs."""
    for source in (tf.constant, lambda value: tf.placeholder_with_default(value, None)):
        with tf.Graph().as_default(), tf.Session() as session, pytest.raises((ValueError, tf.errors.OpError), match=match):
            made = lookup(op_type)(*[source(value) for value in inputs], **attrs)
            session.run(made)


@pytest.mark.parametrize("step", [0, -1])
def test_windows_only_move_forward(step):
    image, gradient = np.ones((1, 4, 4, 2)), np.ones((1, 4, 4, 2))
    dilation = dict(strides=[1, step, 1, 1], rates=[1, 1, 1, 1], padding="SAME", match="must be > 0")
    fails("Dilation2DBackpropInput", image, np.ones((2, 2, 2)), gradient, **dilation)
    fails("Dilation2DBackpropFilter", image, np.ones((2, 2, 2)), gradient, **dilation)
    convolution = dict(strides=[1, step, 1, 1], padding="SAME", match="must be > 0")
    fails("Conv2DBackpropInput", np.array([1, 4, 4, 2], np.int32), np.ones((2, 2, 2, 2)), gradient, **convolution)
    fails("Conv2DBackpropFilter", image, np.array([2, 2, 2, 2], np.int32), gradient, **convolution)


def test_gradients_have_the_shape_of_the_output():
    rows, columns = np.array([0, 2, 3, 5]), np.array([0, 1, 3, 4])
    fails("FractionalAvgPoolGrad", np.array([2, 5, 4, 2]), np.ones((2, 3, 2, 2)), rows, columns, match="out_backprop must have the shape")
    output = np.ones((2, 3, 3, 2))
    fails("FractionalMaxPoolGrad", np.ones((2, 5, 4, 2)), output, output, rows + 7, columns, match="row_pooling_sequence")
    fails("MirrorPadGrad", np.ones((3, 7)), np.array([[2, 1], [0, 0]]), mode="REFLECT", match="less than the dimension size")
    fails("Conv2DBackpropFilter", np.ones((1, 4, 4, 6)), np.array([1, 1, 2, 4], np.int32), np.ones((1, 4, 4, 4)), strides=[1, 1, 1, 1],
          padding="SAME", match="number of groups")


def test_text_of_any_width_is_not_made():
    start = time.monotonic()
    fails("AsString", np.arange(3), width=2**31 - 1, match="at most")
    assert time.monotonic() - start < 5
    fails("AsString", np.arange(3), width=7, fill="(", match="Fill argument not supported")


def test_only_a_scalar_is_printed():
    fails("PrintV2", np.array([b"a", b"b"], object), match="rank 0")
    fails("PrintV2", np.array(b"a", object), output_stream="nowhere", match="Unknown output stream")


@pytest.mark.parametrize("rewrite", ["\\", "\\n"])
def test_a_rewrite_has_groups_and_backslashes(rewrite):
    fails("StaticRegexReplace", np.array([b"a"], object), pattern="a", rewrite=rewrite, match="Invalid rewrite")


def test_rewrites():
    with tf.Session() as session:
        found = session.run(lookup("StaticRegexReplace")([b"abc"], pattern="(b)", rewrite="<\\0\\1\\2\\\\>"))
    assert found.tolist() == [b"a<bb\\>c"]


def test_a_bad_pattern():
    fails("StaticRegexFullMatch", np.array([b"a"], object), pattern="*", match="Invalid pattern")


def test_paths_are_any_bytes_but_zero(tmp_path):
    (tmp_path / "caf\udce9").write_bytes(b"latin")
    with tf.Session() as session:
        assert session.run(tf.read_file(str(tmp_path).encode() + b"/caf\xe9")) == b"latin"
        assert session.run(tf.matching_files(str(tmp_path).encode() + b"/*")).tolist() == [str(tmp_path).encode() + b"/caf\xe9"]
    fails("ReadFile", np.array(b"a\0b", object), match="zero byte")


def test_columns_of_a_cross_have_the_same_rows():
    attrs = dict(hashed_output=True, num_buckets=9, hash_key=7, out_type=tf.int64, internal_type=tf.int64)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Expected batch size 2 got 1 at dense tensor 1"):
        session.run(lookup("SparseCross")([], [], [], [np.array([[1], [2]]), np.array([[1]])], **attrs))


def test_sizes_beyond_the_memory():
    with tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError):
        session.run(tf.fill(tf.placeholder_with_default(np.array([2**31 - 1] * 4, np.int32), None), 1.0))
