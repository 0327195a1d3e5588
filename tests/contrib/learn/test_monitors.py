"""tf.contrib.learn.monitors: when each kind looks at training, what it is shown, and how it stops it."""
from __future__ import annotations

import glob
import logging

import pytest

import penstock as tf

pytestmark = pytest.mark.process
learn, monitors = tf.contrib.learn, tf.contrib.learn.monitors


def model_fn(features, labels, mode):
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.square(w - 4.0, name="distance")
    return {"w": w + features}, loss, tf.train.GradientDescentOptimizer(0.25).minimize(loss, tf.train.get_global_step())


def inputs():
    return tf.zeros([2]), tf.zeros([2])


def fit(folder, watching, steps=6, every=None):
    config = learn.RunConfig(save_checkpoints_steps=every) if every else None
    return learn.Estimator(model_fn, str(folder), config).fit(input_fn=inputs, steps=steps, monitors=watching)


class Seen(monitors.EveryN):
    """Which steps it looks at, and when it is called."""

    def __init__(self, *args):
        super().__init__(*args)
        self.steps, self.last = [], None

    def every_n_step_begin(self, step):
        return ["w", "distance:0"]

    def every_n_step_end(self, step, outputs):
        self.steps.append((step, round(float(outputs["w"]), 3)))

    def every_n_post_step(self, step, session):
        self.last = step


def test_every_n(tmp_path):
    seen = Seen(3, 2)
    model = fit(tmp_path, [seen], steps=7)
    assert [step for step, _ in seen.steps] == [1, 2, 5] and seen.last == 7
    model.fit(input_fn=inputs, steps=3, monitors=[seen])
    assert [step for step, _ in seen.steps[3:]] == [8]


def test_stop_and_capture(tmp_path):
    capture = monitors.CaptureVariable("w", every_n=1)
    fit(tmp_path, [monitors.StopAtStep(num_steps=3), capture], steps=100)
    assert sorted(capture.values) == [1, 2, 3]
    assert fit(tmp_path, [monitors.StopAtStep(last_step=5)], steps=100).get_variable_value("global_step") == 5
    with pytest.raises(ValueError, match="Only one of"):
        monitors.StopAtStep(1, 2)


def test_logs(tmp_path, caplog):
    tf.logging.set_verbosity(tf.logging.INFO)
    logger = logging.getLogger("tensorflow")
    logger.addHandler(caplog.handler)
    try:
        fit(tmp_path, [monitors.PrintTensor({"far": "distance"}, every_n=2), monitors.LoggingTrainable(every_n=4)], steps=3)
    finally:
        logger.removeHandler(caplog.handler)
        tf.logging.set_verbosity(tf.logging.WARN)
    assert "Step 1: far = 16.0" in caplog.text and "Logging Trainable: Step 1: w:0 = " in caplog.text


def test_nan(tmp_path):
    def diverging(features, labels, mode):
        w = tf.get_variable("w", [], initializer=tf.ones_initializer())
        loss = tf.log(w - 2.0, name="nan")
        return w + features, tf.constant(0.0), tf.group(loss, tf.assign_add(tf.train.get_global_step(), 1))
    with pytest.raises(learn.NanLossDuringTrainingError):
        learn.Estimator(diverging, str(tmp_path)).fit(input_fn=inputs, steps=3, monitors=[monitors.NanLoss("nan", 1)])
    gentle = learn.Estimator(diverging, str(tmp_path / "b")).fit(input_fn=inputs, steps=9, monitors=[monitors.NanLoss("nan", 1, False)])
    assert gentle.get_variable_value("global_step") == 1


def test_saving(tmp_path):
    class Late(monitors.CheckpointSaver):
        def begin(self, max_steps=None):
            super().begin(max_steps)
            self._saver = tf.train.Saver()
    folder = str(tmp_path / "saved")
    fit(tmp_path / "model", [Late(folder, save_steps=3)], steps=5)
    assert [step for step in range(9) if tf.train.checkpoint_exists(f"{folder}/model.ckpt-{step}")] == [1, 4, 5]
    fit(tmp_path / "model", [monitors.StepCounter(1, folder), monitors.SummarySaver("loss", 1, folder)], steps=3)
    tf.summary.FileWriterCache.clear()
    tags = [value.tag for path in glob.glob(f"{folder}/*tfevents*") for event in tf.train.summary_iterator(path) for value in event.summary.value]
    assert tags.count("global_step/sec") == 2 and tags.count("loss") == 3
    with pytest.raises(ValueError, match="Can not provide both"):
        monitors.CheckpointSaver(folder, 1, 1)


def test_dumps_can_be_compared(tmp_path):
    one, two = monitors.GraphDump(), monitors.GraphDump()
    fit(tmp_path / "a", [one], steps=2)
    fit(tmp_path / "b", [two], steps=2)
    equal, different = one.compare(two, 2)
    assert "distance:0" in equal and not different
    two.data[2]["distance:0"] += 1
    assert list(one.compare(two, 2)[1]) == ["distance:0"]


def test_validation_stops_early(tmp_path):
    def flat(features, labels, mode):  # its loss grows from the second step on
        step = tf.cast(tf.train.get_global_step(), tf.float32)
        return {"y": features}, tf.abs(step - 2.0), tf.assign_add(tf.train.get_global_step(), 1)
    watching = monitors.ValidationMonitor(input_fn=inputs, eval_steps=1, every_n_steps=1, early_stopping_rounds=3, check_interval_secs=None)
    model = learn.Estimator(flat, str(tmp_path), learn.RunConfig(save_checkpoints_steps=1)).fit(input_fn=inputs, steps=50, monitors=[watching])
    assert watching.early_stopped and watching.best_value == 0.0 and watching.best_metrics["global_step"] == 2
    assert model.get_variable_value("global_step") < 10


def test_validation_of_a_missing_metric(tmp_path):
    watching = monitors.ValidationMonitor(input_fn=inputs, eval_steps=1, every_n_steps=1, early_stopping_rounds=1, early_stopping_metric="auc")
    with pytest.raises(ValueError, match="Metric auc missing from outputs"):
        fit(tmp_path, [watching], every=1)


def test_workers_run_those_for_all(tmp_path):
    class Config:
        is_chief = False

    class Estimator:
        config = Config()
    stop, seen, hook = monitors.StopAtStep(1), Seen(), tf.train.SessionRunHook()
    assert [type(each).__name__ for each in monitors.replace_monitors_with_hooks([seen, stop, hook], Estimator())] == [
        "SessionRunHook", "RunHookAdapterForMonitors"]
    assert monitors.replace_monitors_with_hooks([seen], Estimator()) == []
    with pytest.raises(TypeError, match="Monitors must be"):
        monitors.replace_monitors_with_hooks([3], Estimator())


def test_begin_and_end():
    monitor = monitors.BaseMonitor()
    monitor.begin(max_steps=2)
    for call, message in ((monitor.begin, "begin called twice"), (lambda: monitor.step_begin(3), "Invalid step 3"),
                          (lambda: monitor.step_end(1, {}), "step_end expected None but got 1"), (lambda: monitor.epoch_end(1), "expected None")):
        with pytest.raises(ValueError, match=message):
            call()
    monitor.epoch_begin(0)
    monitor.end()
