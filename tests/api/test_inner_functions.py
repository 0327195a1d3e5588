"""Inner functions of TensorFlow's modules that programs call, at TensorFlow's paths; what is compared was printed by TensorFlow 1.15."""
from __future__ import annotations

import pytest
from tensorboard.compat.proto.event_pb2 import Event

import penstock as tf
from penstock.api.inside_ops import init_variable
from penstock.api.inside_session import FetchHandler
from penstock.api.inside_util import skip_common_stack_elements
from penstock.graph.graph_util import extract_graph_summary, reachable_nodes
from penstock.summary.file_writer import EventFileWriter
from penstock.summary.reading import summary_iterator

pytestmark = pytest.mark.process


def test_a_variable_gets_a_value_or_what_a_function_gives():
    v = tf.Variable([0.0, 0.0], name="v")
    by_value, by_function = init_variable(v, [1.0, 2.0]), init_variable(v, lambda shape, dtype: tf.fill(shape, tf.cast(3, dtype)))
    with tf.Session() as session:
        assert session.run(by_value).tolist() == [1.0, 2.0] and session.run(by_function).tolist() == [3.0, 3.0]
    assert by_value.op.name == "v/init" and by_value.op.type == "Assign"
    with pytest.raises(AssertionError, match="Variable shape unknown"):
        init_variable(tf.Variable([1.0], validate_shape=False), lambda shape, dtype: None)


def test_a_summary_of_a_graph_and_the_nodes_that_others_need():
    tf.identity(tf.add(tf.constant(1.0, name="a"), tf.constant(2.0, name="b"), name="sum"), name="c")
    inputs, nodes, numbers = extract_graph_summary(tf.get_default_graph().as_graph_def())
    assert inputs["sum"] == ["a", "b"] and nodes["c"].op == "Identity" and numbers == {"a": 0, "b": 1, "sum": 2, "c": 3}
    assert reachable_nodes(["sum"], inputs) == {"sum", "a", "b"}


def test_fetches_taken_apart_and_put_together():
    v, x = tf.Variable(1.0, name="v"), tf.placeholder(tf.float32, [], name="x")
    doubled = x * 2.0
    handler = FetchHandler(tf.get_default_graph(), [doubled, {"op": v.op, "x": x}], {x: 4.0})
    assert handler.fetches() == [doubled] and handler.targets() == [v.op]
    assert handler.build_results(None, [8.0]) == [8.0, {"op": None, "x": 4.0}]


def test_stacks_without_what_they_share():
    assert skip_common_stack_elements(["a", "b", "c"], ["a", "x"]) == ["b", "c"]
    assert skip_common_stack_elements(["a", "b"], ["a", "b", "c"]) == ["b"]


def test_a_writer_that_is_given_events(tmp_path):
    writer = EventFileWriter(str(tmp_path), 5, 60, ".mine")
    writer.add_event(Event(step=7))
    writer.close()
    (path,) = tmp_path.iterdir()
    assert path.name.endswith(".mine") and [event.step for event in summary_iterator(str(path))] == [0, 7]


@pytest.mark.parametrize("name, words", [("configure_gcs", "Google Cloud"), ("start_profiler", "tf.profiler.Profiler")])
def test_names_that_cannot_work_say_so(name, words):
    from penstock.api import explained
    with pytest.raises(tf.errors.UnimplementedError, match=words):
        getattr(explained, name)()
