"""Summaries and event files, read back as TensorBoard reads them."""
import numpy as np
import pytest

import penstock as tf


def test_event_file_round_trip(tmp_path):
    with tf.name_scope("scope"):
        scalar = tf.summary.scalar("loss value", tf.constant(2.5))
        tf.summary.histogram("weights", tf.constant([1.0, 2.0, -3.0]))
    with tf.Session() as session, tf.summary.FileWriter(str(tmp_path), session.graph) as writer:
        merged = session.run(tf.summary.merge_all())
        writer.add_summary(merged, 7)
    (path,) = tmp_path.iterdir()
    events = list(tf.train.summary_iterator(str(path)))
    assert events[0].file_version == "brain.Event:2" and events[1].graph_def and events[2].meta_graph_def
    values = {value.tag: value for value in events[3].summary.value}
    assert events[3].step == 7 and values["scope/loss_value"].simple_value == 2.5 and scalar.op.name == "scope/loss_value"
    histogram = values["scope/weights"].histo
    assert (histogram.min, histogram.max, histogram.num, histogram.sum_squares) == (-3, 2, 3, 14) and sum(histogram.bucket) == 3


def test_pictures_keep_their_bytes_or_are_scaled():
    pixels = np.arange(2 * 2 * 3, dtype=np.uint8).reshape(1, 2, 2, 3)
    floats = np.array([[0.0], [2.0], [np.nan]], np.float32).reshape(1, 3, 1, 1)
    with tf.Session() as session:
        for image, wanted in ((pixels, pixels[0]), (floats, np.array([0, 255, 255]).reshape(3, 1, 1))):
            summary = tf.Summary.FromString(session.run(tf.summary.image("picture", tf.constant(image), max_outputs=1)))
            assert summary.value[0].tag.endswith("/image")
            assert session.run(tf.image.decode_png(summary.value[0].image.encoded_image_string)).tolist() == wanted.tolist()


def test_errors_of_summaries():
    with pytest.raises(ValueError, match="string"):
        tf.summary.text("note", tf.constant(1.0))
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Nan in summary histogram for: h"):
            session.run(tf.summary.histogram("h", [np.nan]))
        one = tf.summary.scalar("a", 1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag"):
            session.run(tf.summary.merge([one, one]))


def test_a_writer_with_a_graph_writes_it_twice(tmp_path):
    """As TensorFlow: as a graph for TensorBoard, and as a MetaGraphDef without collections."""
    with tf.Graph().as_default() as graph:
        tf.Variable(1.0, name="v")
    for number, options in enumerate(({"graph": graph}, {"graph_def": graph.as_graph_def()})):
        tf.summary.FileWriter(str(tmp_path / str(number)), **options).close()
        (path,) = (tmp_path / str(number)).iterdir()
        events = list(tf.train.summary_iterator(str(path)))
        assert [event.WhichOneof("what") for event in events] == ["file_version", "graph_def", "meta_graph_def"]
        meta = tf.MetaGraphDef.FromString(events[2].meta_graph_def)
        assert meta.graph_def.SerializeToString() == events[1].graph_def and not meta.collection_def
