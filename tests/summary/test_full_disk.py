"""A full disk under the event files: a warning that names the file, events that are lost, and training that goes on."""
from __future__ import annotations

import errno
import os

import pytest

import penstock as tf
from penstock.platform import event_file


@pytest.fixture
def disk(monkeypatch):
    """How many bytes there is room for."""
    room, write = [1 << 30], os.pwrite

    def limited(descriptor, data, position):
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = write(descriptor, bytes(data[:room[0]]), position)
        room[0] -= count
        return count

    monkeypatch.setattr(event_file.os, "pwrite", limited)
    return room


def scalar(step):
    return tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=step)]), step


def steps_in(folder):
    (name,) = os.listdir(folder)
    events = list(tf.train.summary_iterator(str(folder / name)))
    assert events[0].file_version == "brain.Event:2"
    return [event.step for event in events[1:]]


def test_events_are_dropped_and_then_written_again(tmp_path, disk, caplog):
    with tf.summary.FileWriter(str(tmp_path), max_queue=1) as writer:
        writer.add_summary(*scalar(1))
        disk[0] = 10  # in the middle of a record
        for step in (2, 3, 4):
            writer.add_summary(*scalar(step))
        assert steps_in(tmp_path) == [1], "what is there can be read"
        disk[0] = 1 << 30
        for step in (5, 6):
            writer.add_summary(*scalar(step))
    assert steps_in(tmp_path) == [1, 5, 6]
    (name,) = os.listdir(tmp_path)
    warnings = [record.message for record in caplog.records if name in record.message]
    assert len(warnings) == 2 and str(tmp_path) in warnings[0] and "No space left on device" in warnings[0] and "3 were lost" in warnings[1]


def test_a_disk_that_is_full_from_the_start(tmp_path, disk, caplog):
    disk[0] = 0
    with tf.summary.FileWriter(str(tmp_path), max_queue=1) as writer:
        writer.add_summary(*scalar(1))
        disk[0] = 1 << 30
        writer.add_summary(*scalar(2))
    assert steps_in(tmp_path) == [2]


def test_training_goes_on(tmp_path, disk, caplog):
    step = tf.train.get_or_create_global_step()
    advance = tf.assign_add(step, 1)
    tf.summary.scalar("step", step)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), save_summaries_steps=1, save_checkpoint_steps=100,
                                           log_step_count_steps=0) as sess:
        disk[0] = 0
        for _ in range(30):
            last = sess.run(advance)
    tf.summary.FileWriterCache.clear()
    warnings = [record.message for record in caplog.records if str(tmp_path) in record.message]  # writers of others may be open
    assert last == 30 and sum("No space left on device" in message for message in warnings) == 1
