"""Hooks of estimators: early stopping, evaluation in memory, progress on a terminal."""
from __future__ import annotations

import io
import os
import select
import sys

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
X = np.array([[1.0], [2.0], [3.0]], np.float32)
experimental = tf.estimator.experimental


def inputs(epochs=None):
    return tf.estimator.inputs.numpy_input_fn({"x": X}, 4 * X, batch_size=3, num_epochs=epochs, shuffle=False)


@pytest.fixture
def model(tmp_path):
    return tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], str(tmp_path), optimizer=tf.train.GradientDescentOptimizer(0.005))


def write_metrics(model, **values):
    """An event file with the values of metrics at steps 0, 10, 20, ..."""
    writer = tf.summary.FileWriter(model.eval_dir())
    for number in range(len(next(iter(values.values())))):
        summary = tf.Summary(value=[tf.Summary.Value(tag=name, simple_value=value[number]) for name, value in values.items()])
        writer.add_summary(summary, 10 * number)
    writer.close()


@pytest.mark.parametrize(("make", "stops"), [
    (lambda model: experimental.stop_if_higher_hook(model, "accuracy", 0.6, run_every_secs=None, run_every_steps=1), True),
    (lambda model: experimental.stop_if_higher_hook(model, "accuracy", 0.9, run_every_secs=None, run_every_steps=1), False),
    (lambda model: experimental.stop_if_lower_hook(model, "loss", 0.5, run_every_secs=None, run_every_steps=1), True),
    (lambda model: experimental.stop_if_lower_hook(model, "loss", 0.5, min_steps=20, run_every_secs=None, run_every_steps=1), False),
    (lambda model: experimental.stop_if_no_increase_hook(model, "accuracy", 20, run_every_secs=None, run_every_steps=1), True),
    (lambda model: experimental.stop_if_no_increase_hook(model, "accuracy", 30, run_every_secs=None, run_every_steps=1), False),
    (lambda model: experimental.stop_if_no_decrease_hook(model, "loss", 20, run_every_secs=None, run_every_steps=1), True),
    (lambda model: experimental.stop_if_no_decrease_hook(model, "loss", 20, min_steps=20, run_every_secs=None, run_every_steps=1), False)])
def test_early_stopping(model, make, stops):
    write_metrics(model, accuracy=[0.5, 0.7, 0.65, 0.7], loss=[1.0, 0.4, 0.6, 0.5])
    model.train(inputs(), steps=4, hooks=[make(model)])
    assert model.get_variable_value("global_step") == (1 if stops else 4)


def test_metrics_are_read_in_the_order_of_steps(model):
    write_metrics(model, loss=[1.0, 0.5])
    assert list(tf.contrib.estimator.read_eval_metrics(model.eval_dir()).items()) == [(0, {"loss": 1.0}), (10, {"loss": 0.5})]
    assert not tf.contrib.estimator.read_eval_metrics(model.eval_dir("nowhere"))


def test_other_workers_stop_with_the_chief(model):
    class Config:
        is_chief = False

    class Worker(tf.estimator.Estimator):
        config = Config()
    model.__class__ = Worker
    hook = experimental.make_early_stopping_hook(model, lambda: True)
    with tf.Graph().as_default():
        tf.train.create_global_step()
        hook.begin()
        variable = tf.global_variables("signal_early_stopping")[0]
        with tf.train.SingularMonitoredSession([hook]) as session:
            session.run(tf.train.get_global_step())
            assert not session.should_stop()
            session.raw_session().run(variable.initializer)
            variable.load(True, session.raw_session())
            session.run(tf.train.get_global_step())
            assert session.should_stop()


def test_evaluation_in_memory(model):
    hook = experimental.InMemoryEvaluatorHook(model, inputs(1), every_n_iter=2, name="memory")
    model.train(inputs(), steps=5, hooks=[hook])
    losses = {step: metrics["loss"] for step, metrics in tf.contrib.estimator.read_eval_metrics(model.eval_dir("memory")).items()}
    assert list(losses) == [0, 2, 4, 5]
    assert losses[0] == pytest.approx((16 * X ** 2).sum()) and losses[0] > losses[2] > losses[4] > losses[5]
    assert losses[5] == pytest.approx(model.evaluate(inputs(1))["loss"])


def test_the_chief_stops_at_its_step(model):
    model.train(inputs(), hooks=[experimental.make_stop_at_checkpoint_step_hook(model, 3)])
    assert model.get_variable_value("global_step") == 3


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal(model, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    model.train(inputs(), max_steps=7)
    model.evaluate(inputs(1))
    shown = sys.stderr.getvalue()
    assert "7/7" in shown and "loss=" in shown and "steps/s" in shown
    (line,) = [line for line in shown.replace("\r", "\n").splitlines() if line.startswith("evaluation at step 7: ")]
    assert "average_loss " in line and "loss " in line


def test_a_terminal_that_does_not_know_its_width(model, monkeypatch):
    reader, writer = os.openpty()
    assert os.get_terminal_size(writer).columns == 0
    with os.fdopen(writer, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        model.train(inputs(), max_steps=3)
        terminal.flush()
        shown = ""
        while "3/3" not in shown:  # a terminal hands on what it has, piece by piece
            assert select.select([reader], [], [], 60)[0], shown
            shown += os.read(reader, 4096).decode()
    os.close(reader)
    assert "steps/s" in shown


def test_no_progress_elsewhere(model, capsys):
    model.train(inputs(), max_steps=2)
    model.evaluate(inputs(1))
    assert "steps/s" not in capsys.readouterr().err


def test_the_bar_ends_with_an_error(model, monkeypatch):
    class Fails(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            raise RuntimeError("enough")
    monkeypatch.setattr(sys, "stderr", Terminal())
    filters = list(tf.logging.get_logger().filters) if hasattr(tf.logging, "get_logger") else None
    with pytest.raises(RuntimeError, match="enough"):
        model.train(inputs(), max_steps=2, hooks=[Fails()])
    assert sys.stderr.getvalue().endswith("\n")
    if filters is not None:
        assert tf.logging.get_logger().filters == filters
