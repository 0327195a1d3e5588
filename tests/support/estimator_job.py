"""An estimator's training for tests: the known way of ``support.training``, as a program that is one task of TF_CONFIG, or all there is.

    python -m support.estimator_job FOLDER LAST_STEP [experiment [SCHEDULE]]

With ``experiment`` it is an Experiment of ``tf.contrib.learn``, run by ``learn_runner``: by the schedule of its task, or another one.
It prints ``from STEP`` for each session that trains, ``step STEP`` after each run, ``evaluated STEP`` after each evaluation, and ``done STEP`` at the
end.
"""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import penstock as tf
from support.process import end_with_parent, environment
from support.training import RATE, SAVE_EVERY, TARGET, Program, Watch


def _say(*words):
    print(*words, flush=True)


class _Gate(Watch):
    """Waits after each step until the file ``limit`` beside the model's folder allows more steps; without that file, it goes on."""

    def __init__(self, folder):
        super().__init__(say=_say)
        self._limit = Path(folder).parent / "limit"

    def after_run(self, run_context, run_values):
        super().after_run(run_context, run_values)
        while self._limit.exists() and self.step >= int(self._limit.read_text() or 0):
            time.sleep(0.01)


class _Told(tf.train.SessionRunHook):
    """Says which step was evaluated."""

    def begin(self):
        self._step = tf.train.get_global_step()

    def end(self, session):
        _say("evaluated", int(session.run(self._step)))


def model_fn(features, labels, mode):
    """|w - target|^2."""
    w = tf.get_variable("w0", [2], initializer=tf.zeros_initializer())
    loss = tf.reduce_sum(tf.square(w - TARGET)) + 0.0 * tf.reduce_sum(features["x"])
    train = tf.train.GradientDescentOptimizer(RATE).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def input_fn():
    return tf.data.Dataset.from_tensors({"x": [1.0]}).repeat()


def learn_model_fn(features, labels, mode):
    """The same for ``tf.contrib.learn``."""
    spec = model_fn(features, labels, tf.estimator.ModeKeys.TRAIN)
    return {"x": features["x"]}, spec.loss, spec.train_op


def learn_input_fn():
    return {"x": tf.constant([1.0])}, None


def experiment(folder, last_step, schedule=None):
    """The body of the program, as an experiment."""
    config = tf.contrib.learn.RunConfig(model_dir=folder, save_checkpoints_steps=SAVE_EVERY, save_summary_steps=None, log_step_count_steps=None)
    watch = _Gate(folder)

    def make(run_config, hparams):
        return tf.contrib.learn.Experiment(
            tf.contrib.learn.Estimator(learn_model_fn, config=run_config), learn_input_fn, learn_input_fn, train_steps=int(last_step), eval_steps=1,
            train_monitors=[watch], eval_hooks=[_Told()], eval_delay_secs=0, continuous_eval_throttle_secs=0, check_interval_secs=0)
    tf.contrib.learn.learn_runner.run(make, run_config=config, schedule=schedule)
    _say("done", watch.step)


def main(folder, last_step, kind=None, schedule=None):
    """The body of the program."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
    if kind == "experiment":
        experiment(folder, last_step, schedule)
        return
    config = tf.estimator.RunConfig(folder, save_checkpoints_steps=SAVE_EVERY, save_summary_steps=None, log_step_count_steps=None,
                                    experimental_max_worker_delay_secs=0)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    watch = _Gate(folder)
    tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(input_fn, max_steps=int(last_step), hooks=[watch]),
        tf.estimator.EvalSpec(input_fn, steps=1, hooks=[_Told()], start_delay_secs=0, throttle_secs=0))
    _say("done", watch.step)


class Job(Program):
    """The program above in a process of its own: the ``task`` (job, index) of a cluster, or alone."""

    def __init__(self, folder, last_step, cluster=None, task=None, kind=()):
        variables = environment()
        variables["PYTHONPATH"] = os.pathsep.join([variables["PYTHONPATH"], str(Path(__file__).parents[1])])
        variables.pop("TF_CONFIG", None)
        if cluster is not None:
            variables["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": task[0], "index": task[1]}, "environment": "cloud"})
        words = [sys.executable, "-m", "support.estimator_job", str(folder), str(last_step), *kind]
        self.process = subprocess.Popen(words, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = []


if __name__ == "__main__":
    end_with_parent()
    main(*sys.argv[1:])
