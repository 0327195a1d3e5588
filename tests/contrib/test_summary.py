"""``tf.contrib.summary``: what ops write to event files themselves, and when."""
from __future__ import annotations

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef

import penstock as tf

pytestmark = pytest.mark.process

summary = tf.contrib.summary


def _events(folder):
    return [event for path in sorted(folder.iterdir()) for event in tf.train.summary_iterator(str(path))]


def _scalars(folder):
    return [(event.step, value.tag, value.simple_value) for event in _events(folder) for value in event.summary.value]


def test_scalars_of_the_steps_that_are_recorded(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.train.get_or_create_global_step()
        writer = summary.create_file_writer(str(tmp_path), flush_millis=10)
        with writer.as_default(), summary.record_summaries_every_n_global_steps(2), tf.name_scope("scope"):
            summary.scalar("value", tf.cast(step, tf.float32) * 10.0, family="kind")
        session.run(tf.global_variables_initializer())
        session.run(summary.summary_writer_initializer_op())
        increment, flush = tf.assign_add(step, 1), writer.flush()
        told = []
        for _ in range(5):
            told += session.run(summary.all_summary_ops())
            session.run(increment)
        session.run(flush)
        assert told == [True, False, True, False, True]
        assert _scalars(tmp_path) == [(0, "kind/scope/kind/value", 0.0), (2, "kind/scope/kind/value", 20.0), (4, "kind/scope/kind/value", 40.0)]
        assert next(tmp_path.iterdir()).name.endswith(".v2")


def test_nothing_is_written_without_a_writer_or_unless_asked(tmp_path):
    with tf.Graph().as_default():
        with summary.always_record_summaries():
            assert summary.scalar("a", 1.0).type == "NoOp"
        with summary.create_file_writer(None).as_default(), summary.always_record_summaries():
            assert summary.scalar("a", 1.0).type == "NoOp"
        with summary.create_file_writer(str(tmp_path)).as_default(), tf.Session() as session:
            written = summary.scalar("a", 1.0, step=3)
            with summary.never_record_summaries():
                also = summary.scalar("b", 1.0, step=3)
            assert session.run([written, also]) == [False, False]
        with pytest.raises(RuntimeError, match="No default"):
            summary.initialize()


def test_all_kinds_and_the_graph(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        with summary.create_file_writer(str(tmp_path)).as_default() as writer, summary.always_record_summaries():
            summary.histogram("h", tf.constant([1.0, 2.0]), step=1)
            summary.image("i", tf.ones([2, 2, 2, 1]), max_images=1, step=2)
            summary.audio("s", tf.zeros([1, 4]), 8.0, 1, step=3)
            summary.generic("g", tf.constant([5, 6]), step=4)
            event = summary.import_event(tf.constant(Event(step=9, wall_time=1.0).SerializeToString()))
            close = writer.close()
            summary.initialize(graph, session)
        session.run(summary.all_summary_ops())
        session.run(event)
        session.run(close)
    events = _events(tmp_path)
    by_step = {event.step: value for event in events for value in event.summary.value}
    assert by_step[1].histo.num == 2.0 and by_step[2].image.width == 2 and by_step[3].audio.sample_rate == 8.0
    np.testing.assert_array_equal(tf.make_ndarray(by_step[4].tensor), [5, 6])
    assert [event.wall_time for event in events if event.step == 9] == [1.0]
    (written,) = (event.graph_def for event in events if event.graph_def)
    assert {node.name for node in GraphDef.FromString(written).node} <= {op.name for op in graph.get_operations()}


def test_a_writer_that_was_not_opened(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        with summary.create_file_writer(str(tmp_path)).as_default(), summary.always_record_summaries():
            written = summary.scalar("a", 1.0, step=1)
        with pytest.raises(tf.errors.FailedPreconditionError, match="summary_writer_initializer_op"):
            session.run(written)


def test_graphs_come_as_tensors():
    with tf.Graph().as_default() as graph, pytest.raises(TypeError, match="needs a tf"):
        summary.graph(graph)
    assert summary.eval_dir("model") == "model/eval" and summary.eval_dir("model", "big") == "model/eval_big"


def test_summaries_of_version_2_that_take_their_step(tmp_path):
    v2 = tf.compat.v2.summary
    with tf.Graph().as_default(), v2.create_file_writer(str(tmp_path)).as_default() as writer, tf.Session() as session:
        written = [v2.audio("sound", tf.zeros([1, 8, 1]), 4, step=3), v2.write("whole", tf.constant([1.0, 2.0]), step=4)]
        with pytest.raises(ValueError, match="Unknown encoding"):
            v2.audio("sound", tf.zeros([1, 8, 1]), 4, step=3, encoding="mp3")
        session.run(writer.init())
        session.run(written)
        session.run(writer.close())
    values = {value.tag: (event.step, value) for event in _events(tmp_path) for value in event.summary.value}
    sounds = [value for _, value in values.values() if value.HasField("audio")]
    assert [(each.audio.sample_rate, each.audio.length_frames) for each in sounds] == [(4.0, 8)]
    assert values["whole"][0] == 4 and tf.make_ndarray(values["whole"][1].tensor).tolist() == [1.0, 2.0]
