"""Hooks one by one, with sessions and clocks that tests control."""
from __future__ import annotations

import json
import math

import numpy as np
import pytest

import penstock as tf
from penstock.train import basic_hooks, hook_timers
from penstock.train.global_step import global_step_read
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunValues


class Clock:
    """Stands for the module ``time``."""

    def __init__(self):
        self.now = 1000.0

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(hook_timers, "time", clock)
    monkeypatch.setattr(basic_hooks, "time", clock)
    return clock


class Steps:
    """A session whose global step a test sets; whatever is run, the step comes out."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def run(self, fetches, feed_dict=None):
        return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]


def after_run(hook, session, results):
    """Calls ``after_run`` and returns whether the hook asked to stop."""
    context = SessionRunContext(SessionRunArgs(None), session)
    hook.after_run(context, SessionRunValues(results, None, None))
    return context.stop_requested


def test_timer_by_seconds(clock):
    timer = tf.train.SecondOrStepTimer(every_secs=10)
    assert timer.should_trigger_for_step(1) and timer.update_last_triggered_step(1) == (None, None)
    clock.now += 9.9
    assert not timer.should_trigger_for_step(2)
    clock.now += 0.2
    assert timer.should_trigger_for_step(3) and not timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(3) == (pytest.approx(10.1), 2)
    assert timer.last_triggered_step() == 3
    timer.reset()
    assert timer.last_triggered_step() is None and timer.should_trigger_for_step(3)


def test_stop_reads_the_step_again_when_it_is_near():
    tf.train.create_global_step()
    hook = tf.train.StopAtStepHook(last_step=10)
    hook.begin()
    assert not after_run(hook, Steps("not read"), 8), "8 + 1 is not near"
    assert not after_run(hook, Steps(9), 9), "others may count too: what was fetched is not the last word"
    assert after_run(hook, Steps(10), 9)


def test_steps_of_a_recovered_session_are_not_counted_anew():
    tf.train.create_global_step()
    hook = tf.train.StopAtStepHook(num_steps=10)
    hook.begin()
    hook.after_create_session(Steps(5), None)
    hook.after_create_session(Steps(8), None)
    assert after_run(hook, Steps(15), 14) and not after_run(hook, Steps(14), 13)


def test_logging_by_seconds(clock):
    lines = []
    hook = tf.train.LoggingTensorHook([tf.constant(1)], every_n_secs=5, formatter=lambda values: lines.append(values) or "")
    hook.begin()
    for _ in range(7):
        wanted = hook.before_run(None)
        hook.after_run(None, SessionRunValues(dict.fromkeys(wanted.fetches, 1) if wanted else None, None, None))
        clock.now += 2
    assert len(lines) == 3  # at 0, 6 and 12 seconds


def test_logging_a_line(caplog):
    tf.constant([1.5, 2.0], name="x")
    hook = tf.train.LoggingTensorHook({"b": "x:0", "a": "x"}, every_n_iter=1)
    with caplog.at_level("INFO", "tensorflow"), tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run("x:0")
    assert "a = [1.5 2. ], b = [1.5 2. ]" in caplog.text


def test_logging_a_number(caplog):
    """With the digits of its type, not those of a Python float."""
    tf.constant(0.1, name="x")
    with caplog.at_level("INFO", "tensorflow"), tf.train.MonitoredSession(hooks=[tf.train.LoggingTensorHook(["x:0"], every_n_iter=1)]) as session:
        session.run("x:0")
    assert [record.message for record in caplog.records if record.message.startswith("x")] == ["x:0 = 0.1"]


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


def test_nan(caplog):
    hook = tf.train.NanTensorHook(tf.constant(1.0))
    assert not after_run(hook, None, np.float32(1.0))
    with pytest.raises(tf.train.NanLossDuringTrainingError, match=r"NaN loss during training\."):
        after_run(hook, None, np.float32(math.nan))
    assert after_run(tf.train.NanTensorHook(tf.constant(1.0), fail_on_nan_loss=False), None, np.float32(math.nan))


def test_waiting_for_the_global_step(clock):
    tf.train.create_global_step()
    hook = tf.train.GlobalStepWaiterHook(30)
    hook.begin()
    context = SessionRunContext(SessionRunArgs(None), Steps(0, 10, 29, 30))
    started = clock.now
    hook.before_run(context)
    assert clock.now - started == 1.5 and context.session.steps == [30]
    context.session.steps = []  # from now on it does not look any more
    hook.before_run(context)


def test_final_ops():
    v = tf.Variable(0)
    add = tf.assign_add(v, 1)
    hook = tf.train.FinalOpsHook([v, v + 1])
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(add)
        assert hook.final_ops_values is None
    assert hook.final_ops_values == [1, 2]


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


def test_profiler(tmp_path):
    step = tf.train.create_global_step()
    hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
    with tf.control_dependencies([tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]), name="product"), global_step_read("this test")]):
        count = tf.assign_add(step, 1)  # what the hook reads is from before the update
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        for _ in range(5):
            session.run(count)
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["timeline-2.json", "timeline-4.json"]
    trace = json.loads((tmp_path / "timeline-2.json").read_text())
    assert any(event.get("args", {}).get("name") == "product" for event in trace["traceEvents"])


def test_profiles_go_to_the_working_folder_unless_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tf.summary.FileWriterCache, "_cache", {})
    for wrong in ({}, {"save_steps": 1, "save_secs": 1}):
        with pytest.raises(ValueError, match="every_secs"):
            tf.train.ProfilerHook(**wrong)
    assert not list(tmp_path.iterdir())
    count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    with tf.train.MonitoredTrainingSession(hooks=[tf.train.ProfilerHook(save_steps=2)]) as session:
        for _ in range(3):
            session.run(count)
    tf.summary.FileWriterCache.clear()
    assert sorted(path.name.partition(".")[0] for path in tmp_path.iterdir()) == ["events", "timeline-2"]
