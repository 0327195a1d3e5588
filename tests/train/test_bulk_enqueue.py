"""Queue runners that take many records at a time: what comes out of the queue is what one at a time gives."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.state import queues
from penstock.train import queue_runner
from penstock.train.bulk_enqueue import bulk_enqueue
from support.queue_runners import all_of, running


def example(number):
    features = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=[number, number / 2])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


@pytest.fixture
def files(tmp_path):
    """Three files of 50 examples, numbered through."""
    names = [str(tmp_path / f"{part}.tfrecord") for part in range(3)]
    for part, name in enumerate(names):
        with tf.python_io.TFRecordWriter(name) as writer:
            for number in range(50 * part, 50 * part + 50):
                writer.write(example(number))
    return names


def parsed(names):
    _, record = tf.TFRecordReader().read(tf.train.string_input_producer(names, num_epochs=1, shuffle=False))
    return tf.parse_single_example(record, {"x": tf.FixedLenFeature([2], tf.float32), "label": tf.FixedLenFeature([], tf.int64)})


@pytest.fixture
def bulks(monkeypatch):
    """The forms for many records that queue runners got."""
    made = []

    def noting(session, op):
        made.append(bulk_enqueue(session, op))
        return made[-1]

    monkeypatch.setattr(queue_runner, "bulk_enqueue", noting)
    return made


@pytest.mark.parametrize("capacity", [8, 40, 1000])
def test_batches_of_records(files, bulks, capacity):
    features = parsed(files)
    batch = tf.train.batch([features["label"], features["x"] * 2.0], 40, capacity=capacity, allow_smaller_final_batch=True)
    with running() as session:
        found = all_of(session, batch)
    assert any(bulks)
    assert np.concatenate([label for label, _ in found]).tolist() == list(range(150))
    assert np.concatenate([x for _, x in found]).tolist() == [[2.0 * number, number] for number in range(150)]


def test_a_bad_record_is_an_error_after_those_before_it(files, bulks):
    with tf.python_io.TFRecordWriter(files[1]) as writer:
        for content in (example(50), b"\xff\xff", example(51)):
            writer.write(content)
    label = tf.train.batch([parsed(files)["label"]], 1, capacity=400)
    coordinator, found = tf.train.Coordinator(), []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OpError):
            while True:
                found.extend(session.run(label))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example"):
            coordinator.join(threads, stop_grace_period_secs=10)
    assert any(bulks) and found == list(range(51))


def test_what_differs_between_runs_stays_one_by_one(files, bulks):
    label = parsed(files)["label"]
    batch = tf.train.batch([label, tf.random_uniform([])], 50)
    with running() as session:
        assert np.concatenate([label for label, _ in all_of(session, batch)]).tolist() == list(range(150))
    assert bulks and not any(bulks)


def test_a_batch_wakes_its_reader_when_it_is_complete(monkeypatch):
    woken, notify = [], queues._Place.notify
    monkeypatch.setattr(queues._Place, "notify", lambda place: (woken.append(place.missing()), notify(place)))
    queue = tf.FIFOQueue(100, tf.int32, shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7)]))
    with running() as session:
        assert session.run(queue.dequeue_many(64)).tolist() == [7] * 64
    assert sum(missing > 1 for missing in woken) <= 4
