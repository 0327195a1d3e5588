"""The file that lists the checkpoints of a folder."""
from __future__ import annotations

import pytest

import penstock as tf


def test_state_file(tmp_path):
    folder = str(tmp_path)
    assert tf.train.get_checkpoint_state(folder) is None and tf.train.latest_checkpoint(folder) is None
    tf.train.update_checkpoint_state(folder, f"{folder}/b", [f"{folder}/a", f"{folder}/b"], all_model_checkpoint_timestamps=[1.5, 2.5])
    state = tf.train.get_checkpoint_state(folder)
    assert list(state.all_model_checkpoint_paths) == [f"{folder}/a", f"{folder}/b"] and list(state.all_model_checkpoint_timestamps) == [1.5, 2.5]
    assert tf.train.latest_checkpoint(folder) is None  # the file speaks of a checkpoint that is not there
    (tmp_path / "checkpoint").write_text("no such field: 1")
    assert tf.train.get_checkpoint_state(folder) is None
    with pytest.raises(ValueError, match="timestamps"):
        tf.train.update_checkpoint_state(folder, "a", ["a"], all_model_checkpoint_timestamps=[1, 2])
    with pytest.raises(RuntimeError, match="conflicts"):
        tf.train.update_checkpoint_state(folder, f"{folder}/checkpoint")
