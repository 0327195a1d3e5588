"""What TensorFlow's own tests and libraries call inside of it: private functions of input pipelines, statistics of operations, forms of feeds."""
from __future__ import annotations

import json
import unittest

import numpy as np
import pytest

import penstock as tf
from penstock.contrib.learn.io import graph_io
from penstock.contrib.training import sequence_batches
from penstock.data import element_nest
from penstock.graph import statistics
from penstock.ops.sparse import sets
from penstock.platform import gfile
from penstock.variables.partitioned import PartitionedVariable

pytestmark = pytest.mark.process


def test_a_filter_between_reading_and_batching(tmp_path):
    path = tmp_path / "ages"
    path.write_text("\n".join(map(str, [2, 0, 1, 0, 3])))
    keys, ages = graph_io.keyed_batch(str(path), 2, tf.TextLineReader, randomize_input=False, num_epochs=1, read_batch_size=2, queue_capacity=4,
                                      filter_fn=lambda keys, lines: tf.string_to_number(lines) < 2)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert sess.run(ages).tolist() == [b"0", b"1"]
        assert sess.run([keys, ages])[1].tolist() == [b"0"]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(ages)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=5, ignore_live_threads=True)


def test_files_that_a_replaced_glob_gives(monkeypatch):
    tf.install_as_tensorflow(era=False)
    from tensorflow.python.platform import gfile as inner  # here: only after the alias is installed
    before = gfile.Glob
    inner.Glob = lambda pattern: [f"{pattern}.{number}" for number in range(2)]
    try:
        assert graph_io._file_names("data", True) == ["data.0", "data.1"]
    finally:
        inner.Glob = before
    assert gfile.Glob is before


def test_sparse_sequences_through_one_table():
    rows = [tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "c"], [4, 5]), tf.SparseTensor([[1, 4], [2, 3]], ["d", "e"], [4, 5])]
    (one, keys, stored), (other, _, _) = (sequence_batches.deconstruct_sparse_tensor_seq({"key": row}, shared_name="a") for row in rows)
    batch = {"key": tf.stack([one["key"][1:], other["key"][1:]])}
    sequence_batches.reconstruct_sparse_tensor_seq(batch, keys, stored, batch_size=2, num_unroll=3)
    with tf.Session() as sess:
        value = sess.run(batch["key"])
    assert value.indices.tolist() == [[0, 1, 0], [1, 0, 4], [1, 1, 3]] and value.values.tolist() == [b"c", b"d", b"e"]
    assert value.dense_shape.tolist() == [2, 3, 5]


def test_statistics_of_types_of_operations():
    @statistics.RegisterStatistics("OfTheTest", "flops")
    def _(graph, node):
        return statistics.OpStats("flops", len(node.name))

    node = tf.NodeDef(name="four", op="OfTheTest")
    total = statistics.get_stats_for_node_def(None, node, "flops")
    total += statistics.OpStats("flops", 3)
    assert total.value == 7 and statistics.get_stats_for_node_def(None, node, "bytes").value is None
    with pytest.raises(KeyError, match="two functions"):
        statistics.RegisterStatistics("OfTheTest", "flops")(print)
    with pytest.raises(ValueError, match="Can't add"):
        total += statistics.OpStats("bytes", 3)


def test_feeds_names_and_lines():
    x = tf.placeholder(tf.float32, [1, 2], name=b"x")
    with tf.Session() as sess:
        assert sess.run(x * 2, {(x,): np.array([[1.0, 2.0]])}).tolist() == [[2.0, 4.0]]
        assert sess.run(b"x:0", {x: [[1.0, 2.0]]}).tolist() == [[1.0, 2.0]]
    lines = x.op.traceback_with_start_lines
    assert [line[:4] for line in lines] == x.op.traceback and json.dumps([line[4] for line in lines])


def test_what_is_computed_of_lists():
    assert tf.nn.embedding_lookup([[1.0, 2.0], [3.0]], [0, 1]).dtype is tf.float32
    assert tf.zeros([2**33, 1]).shape.as_list() == [2**33, 1]
    assert sets.SetSize(np.zeros([1, 2], np.int64), [1], np.array([1, 1], np.int64)).shape.ndims is None


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: tf.nn.max_pool(tf.placeholder(tf.float32), [1] * 4, [2, 1, 1, 1], "SAME"), tf.errors.UnimplementedError, "batch dimension"),
    (lambda: tf.nn.conv2d(tf.zeros([1, 4, 4, 1]), tf.zeros([1, 1, 1, 1]), [2, 1, 1, 1], "SAME"), tf.errors.InvalidArgumentError, "batch and depth"),
    (lambda: tf.raw_ops.ConcatOffset(concat_dim=4, shape=[[2, 3, 5], [2, 7, 5]]), tf.errors.InvalidArgumentError, "out of range: 4 vs. 3"),
    (lambda: tf.raw_ops.ConcatOffset(concat_dim=1, shape=[[[2, 3]], [[2, 7]]]), tf.errors.InvalidArgumentError, "should be a vector"),
    (lambda: tf.dynamic_partition(1.0, tf.constant(17), 7), tf.errors.InvalidArgumentError, r"partitions = 17 is not in \[0, 7\)"),
    (lambda: tf.decode_base64("abcde"), tf.errors.InvalidArgumentError, "1 modulo 4"),
    (lambda: tf.decode_base64("YW="), tf.errors.InvalidArgumentError, "Invalid character"),
    (lambda: tf.raw_ops.RestoreV2(prefix="m", tensor_names=["a", "b", "c"], shape_and_slices=["", ""], dtypes=[tf.float32] * 2), ValueError, "."),
])
def test_words_of_errors(make, error, message):
    with pytest.raises(error, match=message), tf.Session() as sess:
        sess.run(make())


def test_cells_of_a_library_that_reaches_them_through_rnn():
    tf.install_as_tensorflow(era=False)
    from tensorflow.python.ops.rnn import rnn_cell_impl  # here: only after the alias is installed

    class Cell(rnn_cell_impl.RNNCell):
        def __init__(self):
            """As cells of tflearn, without a call of the base class."""

        state_size = property(lambda self: rnn_cell_impl.LSTMStateTuple(3, 3))
        output_size = property(lambda self: 3)

        def __call__(self, inputs, state, scope=None):
            return inputs, state

    outputs, state = tf.nn.dynamic_rnn(Cell(), tf.ones([2, 4, 3]), dtype=tf.float32)
    assert outputs.shape == [2, 4, 3] and type(state) is tf.nn.rnn_cell.LSTMStateTuple


def test_rows_in_place():
    tf.install_as_tensorflow(era=False)
    from tensorflow.python.ops import inplace_ops  # here: only after the alias is installed
    x = tf.constant([[1.0, 2], [3, 4], [5, 6]])
    changed = [inplace_ops.alias_inplace_update(x, [0, 2], [[9, 9], [8, 8]]), inplace_ops.alias_inplace_add(x, 1, [1, 1]),
               inplace_ops.alias_inplace_sub(x, None, x), inplace_ops.inplace_update(x, [0], [[7, 7]]), inplace_ops.empty_like(x, init=True)]
    with tf.Session() as sess:
        values = sess.run([*changed, x])
        with pytest.raises(tf.errors.InvalidArgumentError, match="doesn't match"):
            sess.run(inplace_ops.alias_inplace_add(x, [0, 1], tf.placeholder_with_default([[1.0, 1.0]], None)))
    assert [value.tolist() for value in values] == [[[9, 9], [3, 4], [8, 8]], [[1, 2], [4, 5], [5, 6]], [[0, 0]] * 3, [[7, 7], [3, 4], [5, 6]],
                                                    [[0, 0]] * 3, [[1, 2], [3, 4], [5, 6]]]


def test_numbers_in_base_16_and_bad_probabilities():
    with tf.Session() as sess:
        assert sess.run(tf.string_to_number(["0xF", "-0x1p3", " 0x1.8p1 "])).tolist() == [15.0, -8.0, 3.0]
    with pytest.raises(ValueError, match="keep_prob must be"):
        tf.nn.dropout(tf.ones([2]), [0.0, 1.0])


def test_parts_that_do_not_make_a_variable():
    part = tf.Variable([0])
    for options, message in (({"variable_list": [], "partitions": [1]}, "empty"), ({"variable_list": [part], "partitions": [0]}, "positive"),
                             ({"variable_list": [part], "partitions": [1]}, "save_slice_info")):
        with pytest.raises(ValueError, match=message):
            PartitionedVariable(name="whole", shape=[1], dtype=tf.int32, **options)


def test_a_branch_that_is_not_taken_may_hold_shapes_that_do_not_fit():
    masks, size = tf.zeros([15, 60, 40]), tf.stack([50, 100])
    result = tf.cond(tf.shape(masks)[0] > 0, lambda: tf.zeros([15, 50, 100]), lambda: tf.reshape(masks, [-1, size[0], size[1]]))
    with tf.Session() as sess:
        assert sess.run(result).shape == (15, 50, 100)
    with pytest.raises(ValueError, match="evenly divisible"):
        tf.cond(tf.placeholder(tf.bool), lambda: tf.zeros([15, 50, 100]), lambda: tf.reshape(masks, [-1, 50, 100]))
    with pytest.raises(ValueError, match="evenly divisible"):
        tf.reshape(masks, [-1, size[0], size[1]])


def test_a_program_s_distribution_has_the_parameters_of_its_base():
    class Named:
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)

    class NamedNormal(Named, tf.distributions.Normal):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)

    assert NamedNormal(0.0, 1.0).parameters["scale"] == 1.0
    assert tf.ones([]).op._set_control_flow_context(None) is None


def test_a_global_step_that_is_a_vector():
    step = tf.Variable([123], name="global_step")
    with tf.Session() as sess:
        sess.run(step.initializer)
        assert tf.train.global_step(sess, step) == 123


@pytest.mark.parametrize(("options", "message"), [
    ({"n_classes": 1}, "multi-class classification"), ({"n_classes": 2, "label_vocabulary": {"a": 1}}, "must be a list or tuple"),
    ({"n_classes": 2, "thresholds": [0.5, 1.0]}, r"must be in \(0, 1\) range. Given: 1.0")])
def test_words_of_heads_with_several_labels(options, message):
    with pytest.raises(ValueError, match=message):
        tf.contrib.estimator.multi_label_head(**options)


class _Case(unittest.TestCase):
    """For its assertions."""


def test_writers_that_keep_what_is_written():
    testing = tf.contrib.testing
    testing.FakeSummaryWriter.install()
    try:
        with pytest.raises(ValueError, match="already installed"):
            testing.FakeSummaryWriter.install()
        writer = tf.summary.FileWriterCache.get("nowhere")
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=2.0)]).SerializeToString(), 3)
        writer.add_graph(tf.get_default_graph())
        writer.assert_summaries(_Case(), "nowhere", expected_summaries={3: {"loss": 2.0}}, expected_added_graphs=[tf.get_default_graph()])
        with pytest.raises(AssertionError):
            writer.assert_summaries(_Case(), expected_summaries={4: {}})
        with pytest.raises(ValueError, match="Invalid global_step"):
            writer.add_meta_graph(None, -1)
    finally:
        testing.FakeSummaryWriter.uninstall()
        tf.summary.FileWriterCache.clear()
    with pytest.raises(ValueError, match="not installed"):
        testing.FakeSummaryWriter.uninstall()


def test_the_last_summaries_of_a_folder(tmp_path):
    testing = tf.contrib.testing
    assert testing.latest_event_file(str(tmp_path)) is None and list(testing.latest_events(str(tmp_path))) == []
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step in (1, 2):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=1 / step)]), step)
    events = testing.latest_summaries(str(tmp_path))
    assert [event.step for event in events] == [1, 2] and testing.simple_values_from_events(events, ["loss"]) == {"loss": 0.5}
    testing.assert_summary(["loss"], {"loss": 0.5}, testing.to_summary_proto(events[1].summary.SerializeToString()))
    with pytest.raises(ValueError, match="Expected tags"):
        testing.assert_summary(["loss", "more"], {}, events[0].summary)


def test_a_list_in_a_circle():
    counter = tf.Variable(tf.constant(-1, tf.int64))
    following = tf.contrib.input_pipeline.obtain_next(tf.constant(["a", "b"]), counter)
    with tf.Session() as sess:
        sess.run(counter.initializer)
        assert [sess.run(following) for _ in range(3)] == [b"a", b"b", b"a"]


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: element_nest.pack_sequence_as(1, [2, 3]), ValueError, "Structure is a scalar"),
    (lambda: element_nest.pack_sequence_as((1, 2), "ab"), TypeError, "must be a sequence"),
    (lambda: element_nest.map_structure(3, (1,)), TypeError, "func must be callable"),
    (lambda: element_nest.map_structure(max), ValueError, "at least one structure"),
    (lambda: element_nest.map_structure(max, (1,), {"a": 2}), TypeError, "same sequence type"),
    (lambda: element_nest.flatten_up_to((1, 2), "ab"), TypeError, "must also be a sequence. Input has type"),
    (lambda: element_nest.flatten_up_to((1, 2), (1,)), ValueError, "same sequence length")])
def test_words_about_structures_of_elements(call, error, message):
    assert element_nest.map_structure(max, (1,), {"a": 2}, check_types=False) == (2,)
    with pytest.raises(error, match=message):
        call()
