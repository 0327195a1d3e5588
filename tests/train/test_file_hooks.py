"""Hooks that write checkpoints and summaries."""
from __future__ import annotations

import pytest

import penstock as tf
from support.hooks import Steps, after_run


@pytest.mark.parametrize("early", [True, False])
def test_summaries_come_every_so_many_steps(tmp_path, early):
    """Whether a run reads the step before or after it is counted."""
    tf.train.create_global_step()
    hook = tf.train.SummarySaverHook(save_steps=5, output_dir=str(tmp_path), summary_op=tf.summary.scalar("s", 1.0))
    hook.begin()
    asked = []
    for step in range(1, 18):
        if "summary" in hook.before_run(None).fetches:
            asked.append(step)
        after_run(hook, Steps(step), {"global_step": step - early})
    tf.summary.FileWriterCache.clear()
    assert asked == [1, 6, 11, 16]


def test_checkpoints_by_seconds(clock, tmp_path):
    step = tf.train.create_global_step()
    count = tf.assign_add(step, 1)
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_secs=60)
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        for _ in range(5):
            session.run(count)
            clock.now += 25
    assert [path.rsplit("-")[-1] for path in tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths] == ["0", "4", "5"]


def test_the_speed_of_training(clock, tmp_path, caplog):
    count = tf.assign_add(tf.train.create_global_step(), 1)
    hook = tf.train.StepCounterHook(every_n_steps=4, output_dir=str(tmp_path))
    with caplog.at_level("INFO", "tensorflow"), tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        for _ in range(9):
            session.run(count)
            clock.now += 0.5
        tf.summary.FileWriterCache.clear()
    found = [(event.step, value.tag, value.simple_value) for path in tmp_path.iterdir() for event in tf.train.summary_iterator(str(path))
             for value in event.summary.value]
    assert found == [(5, "global_step/sec", 2.0), (9, "global_step/sec", 2.0)]
    assert "global_step/sec: 2" in caplog.text


def test_a_step_that_is_not_counted(caplog):
    tf.train.create_global_step()
    x = tf.constant(1)
    with tf.train.SingularMonitoredSession(hooks=[tf.train.StepCounterHook()]) as session:
        for _ in range(10):
            session.run(x)
    assert caplog.text.count("The global step does not grow") == 5
