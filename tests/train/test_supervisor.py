"""The Supervisor: sessions, services and threads of the first releases."""
from __future__ import annotations

import time

import pytest

import penstock as tf


def events(folder):
    return [event for path in sorted(folder.glob("*tfevents*")) for event in tf.train.summary_iterator(str(path))]


def test_services_save_and_summarize(tmp_path):
    step = tf.train.create_global_step()
    count = tf.assign_add(step, 1)
    tf.summary.scalar("s", tf.cast(step, tf.float32))
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0.05, save_model_secs=0.05)
    with supervisor.managed_session() as session:
        while session.run(count) < 20:
            time.sleep(0.01)
    found = events(tmp_path)
    tags = {value.tag for event in found for value in event.summary.value}
    assert tags == {"s", "global_step/sec"}
    statuses = [event.session_log.status for event in found if event.WhichOneof("what") == "session_log"]
    assert statuses[0] == 1 and statuses[-1] == 2 and 3 in statuses  # start, stop, and checkpoints in between
    assert tf.train.latest_checkpoint(str(tmp_path)) is not None and (tmp_path / "graph.pbtxt").exists()

    resumed = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    with resumed.managed_session(start_standard_services=False) as session:
        assert 0 < session.run(step) <= 20


def test_errors_of_the_body_and_of_threads_come_out():
    tf.Variable(1.0)
    supervisor = tf.train.Supervisor()
    with pytest.raises(KeyError, match="body"):
        with supervisor.managed_session():
            raise KeyError("body")

    def fail():
        raise KeyError("thread")

    with pytest.raises(KeyError, match="thread"):
        with supervisor.managed_session():
            supervisor.loop(None, fail)
            supervisor.wait_for_stop()
    with supervisor.managed_session():  # the end of the input is not an error
        raise tf.errors.OutOfRangeError(None, None, "end")


def test_loops_stop():
    tf.Variable(1.0)
    supervisor, calls = tf.train.Supervisor(), []
    with supervisor.managed_session() as session:
        supervisor.Loop(0.01, calls.append, args=(1,))
        while len(calls) < 3:
            time.sleep(0.01)
        supervisor.RequestStop()
        assert supervisor.ShouldStop() and session.run(tf.get_default_graph().get_tensor_by_name("Variable:0")) == 1.0
    made = len(calls)
    time.sleep(0.05)
    assert len(calls) == made


def test_queue_runners_run():
    value = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    supervisor, seen = tf.train.Supervisor(), []
    with supervisor.managed_session() as session:
        while True:
            seen.append(int(session.run(value)))
    assert seen == [0, 1, 2]


def test_only_the_chief_writes(tmp_path):
    tf.Variable(1.0)
    with pytest.raises(ValueError, match="all Variables must have their device set"):
        tf.train.Supervisor(is_chief=False)
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            tf.Variable(1.0)
        supervisor = tf.train.Supervisor(is_chief=False, logdir=str(tmp_path))
        assert supervisor.summary_writer is None and supervisor.save_path is None and not list(tmp_path.iterdir())
        with pytest.raises(RuntimeError, match="Only chief"):
            supervisor.start_standard_services(None)


def test_computed_summaries(tmp_path):
    step = tf.train.create_global_step()
    summary = tf.summary.scalar("late", tf.constant(2.0))
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None, save_model_secs=0)
    with supervisor.managed_session() as session:
        session.run(step.initializer)
        supervisor.summary_computed(session, session.run(summary))
        supervisor.stop()  # a second time at the end of the block: nothing is left to stop
    assert [value.tag for event in events(tmp_path) for value in event.summary.value if value.tag == "late"] == ["late"]


def test_the_graph_goes_to_a_writer_of_ones_own(tmp_path):
    tf.summary.scalar("c", tf.constant(1.0))
    writer = tf.summary.FileWriter(str(tmp_path))
    supervisor = tf.train.Supervisor(logdir="", summary_op=None, summary_writer=writer)
    with supervisor.managed_session():
        pass
    (path,) = tmp_path.iterdir()
    assert [event.WhichOneof("what") for event in tf.train.summary_iterator(str(path))][1:3] == ["graph_def", "meta_graph_def"]
