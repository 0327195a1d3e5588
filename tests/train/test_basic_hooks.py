"""Hooks that stop, log, wait and check, with sessions and clocks that tests control."""
from __future__ import annotations

import math

import numpy as np
import pytest

import penstock as tf
from penstock.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunValues
from support.hooks import Steps, after_run


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


def test_a_logging_hook_can_be_extended_as_programs_do():
    """The models of TensorFlow's own collection log the global step, too, and in their own way."""
    class Collecting(tf.train.LoggingTensorHook):
        def begin(self):
            super().begin()
            self._current_tensors["step"] = tf.train.get_global_step()
            self.values = []

        def _log_tensors(self, values):
            self._timer.update_last_triggered_step(self._iter_count)
            self.values.append((values["step"], [values[tag] for tag in self._tag_order]))

    step = tf.train.get_or_create_global_step()
    hook = Collecting({"b": tf.constant(2.0), "a": tf.constant(1.0)}, every_n_iter=2, at_end=True)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(3):
            session.run(step)
    assert hook.values == [(0, [1.0, 2.0])] * 3
