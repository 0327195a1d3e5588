"""Producers: queues of strings, numbers and slices, epoch after epoch."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.queue_runners import all_of, running

# --- producers -------------------------------------------------------------------------------------------------------

def test_string_input_producer_in_order():
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    with running() as session:
        assert all_of(session, queue.dequeue()) == [b"a", b"b", b"c"] * 2


def test_string_input_producer_shuffled_as_tensorflow_does():
    queue = tf.train.string_input_producer(list("abcdef"), num_epochs=2, shuffle=True, seed=1)
    with running() as session:
        found = b"".join(all_of(session, queue.dequeue()))
    assert found == b"dfaebcfecadb"  # of TensorFlow 1.15
    assert sorted(found[:6]) == sorted(found[6:]) == sorted(b"abcdef")


def test_string_input_producer_needs_strings():
    with pytest.raises(ValueError, match="non-null"):
        tf.train.string_input_producer([])
    queue = tf.train.string_input_producer(tf.placeholder_with_default(np.empty(0, object).astype(str), [None]))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="string_input_producer requires a non-null input tensor"):
        session.run(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].enqueue_ops)
    assert queue.name == "input_producer"


def test_range_and_slices():
    queue = tf.train.range_input_producer(4, num_epochs=1, shuffle=False)
    slices = tf.train.slice_input_producer([np.arange(6).reshape(3, 2), ["x", "y", "z"]], num_epochs=1, shuffle=False)
    with running() as session:
        assert all_of(session, queue.dequeue()) == [0, 1, 2, 3]
        assert [(a.tolist(), b) for a, b in all_of(session, slices)] == [([0, 1], b"x"), ([2, 3], b"y"), ([4, 5], b"z")]


def test_limit_epochs_counts_in_a_local_variable():
    value = tf.train.limit_epochs(tf.constant(5), 2)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert all_of(session, value) == [5, 5]
    assert [variable.op.name for variable in tf.local_variables()] == ["limit_epochs/epochs"]


def test_match_filenames_once(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).touch()
    names = tf.train.match_filenames_once(str(tmp_path / "*"))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        (tmp_path / "c").touch()
        assert session.run(names).tolist() == [str(tmp_path / name).encode() for name in "ab"]


def test_summaries_tell_how_full_queues_are():
    tf.train.string_input_producer(["a"], capacity=4)
    tf.train.batch([tf.constant(1)], 2, capacity=5)
    tf.train.shuffle_batch([tf.constant(1)], 2, capacity=50, min_after_dequeue=10)
    with tf.Session() as session:
        tags = [tf.Summary.FromString(session.run(summary)).value[0].tag for summary in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert tags == ["input_producer/fraction_of_4_full", "batch/fraction_of_5_full", "shuffle_batch/fraction_over_10_of_40_full"]
