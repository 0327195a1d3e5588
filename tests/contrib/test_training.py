"""``tf.contrib.training``: loops that train and evaluate."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def no_open_writers():
    yield
    tf.summary.FileWriterCache.clear()


def _train(folder: str, steps: int) -> float:
    with tf.Graph().as_default():
        weight = tf.get_variable("weight", [], initializer=tf.ones_initializer())
        train_op = tf.contrib.training.create_train_op(tf.square(weight), tf.train.GradientDescentOptimizer(0.25))
        return tf.contrib.training.train(train_op, folder, hooks=[tf.train.StopAtStepHook(steps)], save_summaries_steps=None)


def test_train_returns_the_last_loss_and_leaves_a_checkpoint(tmp_path):
    assert _train(str(tmp_path), 3) == 0.0625
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-3")


def test_train_without_a_folder_saves_nothing():
    with pytest.raises(ValueError, match="logdir cannot be None when save_summaries_steps"):
        tf.contrib.training.train(tf.no_op(), None)


def _evaluated(batches: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The total over the batches of an evaluation of ``weight``."""
    weight = tf.get_variable("weight", [])
    total = tf.get_local_variable("total", [], initializer=tf.zeros_initializer())
    return total, tf.assign_add(total, weight)


@pytest.mark.parametrize("kind", [list, dict, None])
def test_evaluate_once_runs_until_the_hook_stops_it(tmp_path, kind):
    _train(str(tmp_path), 2)
    with tf.Graph().as_default():
        total, update = _evaluated(4)
        ops = {"update": update} if kind is dict else [update] if kind is list else update
        result = tf.contrib.training.evaluate_once(
            tf.train.latest_checkpoint(str(tmp_path)), eval_ops=ops, final_ops={"total": total}, hooks=[tf.contrib.training.StopAfterNEvalsHook(4)])
    assert result == {"total": 1.0}


def test_evaluate_repeatedly_ends_with_the_time_or_the_number(tmp_path):
    _train(str(tmp_path), 1)
    with tf.Graph().as_default():
        total, update = _evaluated(2)
        tf.summary.scalar("sum", total)
        hooks = [tf.contrib.training.StopAfterNEvalsHook(2), tf.contrib.training.SummaryAtEndHook(str(tmp_path / "eval"))]
        tf.train.get_or_create_global_step()
        result = tf.contrib.training.evaluate_repeatedly(str(tmp_path), eval_ops=[update], final_ops=total, hooks=hooks, eval_interval_secs=0,
                                                         timeout=0.01)
    assert result == 1.0
    events = [event for path in (tmp_path / "eval").iterdir() for event in tf.train.summary_iterator(str(path))]
    assert [(value.tag, value.simple_value, event.step) for event in events for value in event.summary.value] == [("sum", 1.0, 1)]


def test_a_summary_hook_needs_a_place():
    with pytest.raises(ValueError, match="One of log_dir or summary_writer"):
        tf.contrib.training.SummaryAtEndHook()
