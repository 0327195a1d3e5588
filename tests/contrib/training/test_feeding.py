"""Queues that are filled from arrays, data frames and generators."""
from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import penstock as tf
from penstock.contrib.training.feeding import ArrayFeedFn, enqueue_data


def rows_of(data, **options):
    """What a queue of ``data`` gives, a row at a time, to its end."""
    with tf.Graph().as_default(), tf.Session() as sess:
        row = enqueue_data(data, capacity=10, **options).dequeue()
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coordinator)
        result = []
        try:
            while True:
                result.append([np.asarray(part).tolist() for part in sess.run(row)])
        except tf.errors.OutOfRangeError:
            coordinator.request_stop()
            coordinator.join(threads)
        return result


def test_arrays():
    array = np.arange(6).reshape(3, 2)
    assert rows_of(array, num_epochs=1) == [[0, [0, 1]], [1, [2, 3]], [2, [4, 5]]]
    assert rows_of(OrderedDict(a=array, b=np.array([7, 8, 9])), enqueue_size=2, num_epochs=2)[2:4] == [[2, [4, 5], 9], [0, [0, 1], 7]]
    shuffled = rows_of(array, shuffle=True, seed=3, num_epochs=1)
    assert sorted(shuffled) == [[0, [0, 1]], [1, [2, 3]], [2, [4, 5]]]


def test_generators_and_frames():
    def rows():
        for number in range(3):
            yield {"b": np.float32(number), "a": np.array([number])}

    assert rows_of(rows, num_epochs=1)[:3] == [[[0], 0.0], [[1], 1.0], [[2], 2.0]]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.5, 2.5]}, index=[10, 20])
    assert rows_of(frame, num_epochs=1) == [[10, 1.5], [20, 2.5]]


def test_epochs_end_within_a_batch():
    feed = ArrayFeedFn(["index", "rows"], np.arange(3), batch_size=2, num_epochs=1)
    assert feed()["index"] == [0, 1] and feed()["index"] == [2]
    with pytest.raises(tf.errors.OutOfRangeError, match="Already emitted 1 epochs"):
        feed()
    with pytest.raises(TypeError, match="DataFrame"):
        enqueue_data([1, 2], 10)


def test_rows_of_different_lengths_are_padded():
    def rows():
        for length in (1, 3, 2):
            yield {"a": np.arange(1, length + 1), "b": np.float32(length)}
    queue = enqueue_data(rows, 100, enqueue_size=4, num_epochs=1, pad_value=-1)
    coordinator = tf.train.Coordinator()
    with tf.Session() as session:
        tf.train.start_queue_runners(session, coordinator)
        a, b = session.run(queue.dequeue_many(2))
        coordinator.request_stop()
    assert a.tolist() == [[1, -1, -1], [1, 2, 3]] and b.tolist() == [1.0, 3.0]
    with pytest.raises(NotImplementedError, match="only available with generator usage"):
        enqueue_data(np.zeros(3), 100, pad_value=0)
    with pytest.raises(NotImplementedError, match="padding and shuffling"):
        enqueue_data(rows, 100, shuffle=True, pad_value=0)
