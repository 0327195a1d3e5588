"""The hook that writes timelines."""
from __future__ import annotations

import json

import pytest

import penstock as tf
from penstock.train.global_step import global_step_read


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
