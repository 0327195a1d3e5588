"""What debug ops make of watched tensors: the numbers are those of TensorFlow 1.15.5 for the same program."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.debug.tfdbg.dump_dir import DebugDumpDir
from penstock.debug.tfdbg.watching import watch_graph
from penstock.session.debug_ops import DebugOp

INF, NAN = np.inf, np.nan
SUMMARIES = {
    "b": [1, 5, 0, 0, 0, 2, 3, 0, 0, 1, .6, .24, 10, 1, 5],
    "empty": [1, 0, 0, 0, 0, 0, 0, 0, INF, -INF, NAN, NAN, 1, 2, 0, 3],
    "i": [1, 4, 0, 0, 1, 1, 2, 0, -2, 5, 1, 6.5, 3, 2, 2, 2],
    "v": [0, 0, 0, 0, 0, 0, 0, 0, INF, -INF, NAN, NAN, 1, 1, 2],
    "y": [1, 5, 1, 1, 0, 1, 1, 1, 0, .69314718, .34657359, .12011325, 1, 1, 5],
}
WITH_BOUNDS = {  # of -1.5 and 1.5, without those that are healthy
    "_arg_x_0_0": [1, 5, 0, 0, 1, 1, 1, 2, -1, 2, .5, 1.25, 1, 1, 5],
    "i": [1, 4, 0, 1, 0, 1, 1, 1, -2, 5, 1, 6.5, 3, 2, 2, 2],
    "y": [1, 5, 1, 1, 0, 1, 1, 1, 0, .69314718, .34657359, .12011325, 1, 1, 5],
}


def dumps(tmp_path, debug_ops, **options):
    """{(node, debug op): value} of a run."""
    x = tf.placeholder(tf.float32, [None], name="x")
    v = tf.Variable(tf.zeros([2]), name="v")
    fetches = [tf.log(x, name="y"), tf.greater(x, 0.0, name="b"), tf.constant([[1, 0], [-2, 5]], name="i") + 1, tf.zeros([0, 3], name="empty"),
               tf.identity(tf.constant("text"), name="s"), v.initializer]
    run_options = tf.RunOptions()
    watch_graph(run_options, tf.get_default_graph(), debug_ops, f"file://{tmp_path}", **options)
    with tf.Session() as session:
        session.run(fetches, {x: [1, 0, -1, 2, INF]}, options=run_options)
    return {(datum.node_name, datum.debug_op): datum.get_tensor() for datum in DebugDumpDir(str(tmp_path)).dumped_tensor_data}


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_numeric_summaries(tmp_path):
    values = dumps(tmp_path, ["DebugNumericSummary"], tolerate_debug_op_creation_failures=True)
    for name, expected in SUMMARIES.items():
        np.testing.assert_allclose(values[name, "DebugNumericSummary"], expected, rtol=1e-6, err_msg=name)
    assert ("s", "DebugNumericSummary") not in values


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_bounds_and_what_is_healthy(tmp_path):
    values = dumps(tmp_path, ["DebugNumericSummary(lower_bound=-1.5; upper_bound=1.5; mute_if_healthy=true)"],
                   tolerate_debug_op_creation_failures=True)
    for name, expected in WITH_BOUNDS.items():
        np.testing.assert_allclose(values[name, "DebugNumericSummary"], expected, rtol=1e-6, err_msg=name)
    assert not {("b", "DebugNumericSummary"), ("empty", "DebugNumericSummary")} & set(values)


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_several_ops_of_one_tensor(tmp_path):
    values = dumps(tmp_path, ["DebugNanCount", "DebugIdentity"], tolerate_debug_op_creation_failures=True)
    assert values["y", "DebugNanCount"].tolist() == [1] and values["i", "DebugNanCount"].tolist() == [0]
    assert values["s", "DebugIdentity"] == b"text" and ("s", "DebugNanCount") not in values and ("b", "DebugNanCount") not in values


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_a_tensor_that_an_op_does_not_take(tmp_path):
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"DebugNumericSummary for tensor .*does not take string"):
        dumps(tmp_path, ["DebugNumericSummary"])


@pytest.mark.parametrize(("text", "message"), [
    ("DebugNoSuch", "no such debug op"), ("DebugNanCount(", "no such debug op"), ("DebugNanCount(foo=1)", "no attribute 'foo'"),
    ("DebugNumericSummary(lower_bound=abc)", "invalid value 'abc'"), ("DebugIdentity(gated_grpc=perhaps)", "invalid value 'perhaps'")])
def test_texts_that_are_wrong(text, message):
    with pytest.raises(tf.errors.FailedPreconditionError, match=message):
        DebugOp(text)


def test_texts_that_are_right():
    assert DebugOp("DebugIdentity(gated_grpc=True)").gated and not DebugOp(" DebugNanCount() ").gated
