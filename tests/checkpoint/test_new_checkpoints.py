"""Waiting for checkpoints that another process writes."""
from __future__ import annotations

import penstock as tf
from support.checkpoints import saved


def test_waiting_for_checkpoints(tmp_path):
    folder = str(tmp_path)
    assert list(tf.train.checkpoints_iterator(folder, timeout=0)) == []
    path = saved(tmp_path, v=1.0)
    asked = []
    seen = list(tf.train.checkpoints_iterator(folder, timeout=0, timeout_fn=lambda: asked.append(1) or len(asked) > 2))
    assert seen == [path] and len(asked) == 3
