"""Timers of hooks."""
from __future__ import annotations

import pytest

import penstock as tf


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
