"""A training job for tests: gradient descent with a known way, and its workers as programs of their own.

    python -m support.training async|sync|allreduce TASK CLUSTER FOLDER LAST_STEP

A program prints ``from STEP`` for each session that it opens, ``step STEP`` after each run, and at the end ``bits NUMBER`` (those of the weights) and
``done STEP``.
"""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import penstock as tf
from penstock.train.allreduce import AllReduceOptimizer
from support.cluster import PATIENCE, Processes
from support.process import end_with_parent, environment

SAVE_EVERY, RATE = 10, 0.0625
TARGET = np.array([1.0, -2.0], np.float32)


def weights_after(steps):
    """Gradient descent on |w - target|^2 from zero, in the arithmetic of the graph."""
    w = np.zeros(2, np.float32)
    for _ in range(steps):
        w = w - np.float32(RATE) * (np.float32(2) * (w - TARGET))
    return w


def model(ps=1, wrap=lambda optimizer: optimizer, tasks=None):
    """A variable on each ps (or on each of ``tasks``), all with the same way to go: (step, variables, train op)."""
    variables = []
    for task, where in enumerate(tasks or [f"/job:ps/task:{task}" for task in range(ps)]):
        with tf.device(where):
            if task == 0:
                step = tf.train.get_or_create_global_step()
            variables.append(tf.get_variable(f"w{task}", [2], initializer=tf.zeros_initializer()))
    loss = tf.add_n([tf.reduce_sum(tf.square(w - TARGET)) for w in variables])
    return step, variables, wrap(tf.train.GradientDescentOptimizer(RATE)).minimize(loss, global_step=step)


class Watch(tf.train.SessionRunHook):
    """From which step each session started, and where it is; calls ``at[step]`` once when that step is reached."""

    def __init__(self, at=None, say=lambda *words: None):
        self.sessions, self.at, self.step, self.weights, self._say = [], dict(at or {}), 0, None, say

    def begin(self):
        self._tensor, self._weights = tf.train.get_global_step(), tf.trainable_variables()[0]

    def after_create_session(self, session, coord):
        self.sessions.append(int(session.run(self._tensor)))
        self._say("from", self.sessions[-1])

    def after_run(self, run_context, run_values):
        self.step, self.weights = run_context.session.run([self._tensor, self._weights])
        self._say("step", self.step)
        action = self.at.pop(int(self.step), None)
        if action is not None:
            action()


def training_session(target, folder, last_step, hooks, is_chief=True):
    """The monitored session of a worker."""
    return tf.train.MonitoredTrainingSession(
        target, is_chief=is_chief, checkpoint_dir=folder, hooks=[*hooks, tf.train.StopAtStepHook(last_step=last_step)], save_checkpoint_secs=None,
        save_checkpoint_steps=SAVE_EVERY, save_summaries_steps=None, log_step_count_steps=None, stop_grace_period_secs=5)


# --- programs --------------------------------------------------------------------------------------------------------

class Servers(Processes):
    """A cluster of which only the ps run: workers are programs, which bring their own servers."""

    def __enter__(self):
        for index in range(len(self.spec["ps"])):
            self.start("ps", index)
        return self


class Program:
    """One of the programs above in a process of its own."""

    def __init__(self, role, task, cluster, folder, last_step):
        tests = str(Path(__file__).parents[1])
        variables = environment()
        variables["PYTHONPATH"] = os.pathsep.join([variables["PYTHONPATH"], tests])
        words = [role, str(task), json.dumps(cluster.spec), str(folder), str(last_step)]
        self.process = subprocess.Popen([sys.executable, "-m", "support.training", *words], env=variables, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.lines = []

    def until(self, word, at_least=0):
        """Reads on to the first line ``WORD NUMBER`` with a number that is large enough; returns the number."""
        for line in self.process.stdout:
            said, _, number = line.strip().partition(" ")
            self.lines.append(line.strip())
            if said == word and int(number) >= at_least:
                return int(number)
        raise AssertionError(f"the program ended with {self.process.wait(PATIENCE)}; it said {self.lines[-5:]}")

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.kill()
        self.process.stdin.close()
        self.process.stdout.close()


def _say(*words):
    print(*words, flush=True)


def main(role, task, cluster, folder, last_step):
    """The body of a program."""
    spec, here, chief = json.loads(cluster), f"/job:worker/task:{task}", int(task) == 0
    server = tf.train.Server(tf.train.ClusterSpec(spec), job_name="worker", task_index=int(task))
    watch = Watch(say=_say)
    hooks = [watch]
    with tf.device(here):
        train = _built(role, int(task), spec, here, hooks)[2]
    everyone_leads = role == "allreduce"
    with training_session(server.target, folder if chief else None, int(last_step), hooks, chief or everyone_leads) as session:
        while not session.should_stop():
            session.run(train)
            time.sleep(0.005)
    _say("bits", int.from_bytes(watch.weights.tobytes(), "little"))
    _say("done", watch.step)


def _built(role, task, spec, here, hooks):
    """The model for a role; what it needs is put in front of the hooks."""
    optimizers = []

    def wrap(optimizer):
        if role == "sync":
            optimizers.append(tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=2))
        elif role == "allreduce":
            optimizers.append(AllReduceOptimizer(optimizer, task, len(spec["worker"])))
        return (optimizers or [optimizer])[0]

    built = model(wrap=wrap, tasks=[here] if role == "allreduce" else None)
    if role == "sync":
        hooks.insert(0, optimizers[0].make_session_run_hook(task == 0, lost_worker_secs=None))
    elif role == "allreduce":
        hooks.insert(0, optimizers[0].make_session_run_hook())
    return built


if __name__ == "__main__":
    end_with_parent()
    with contextlib.suppress(BrokenPipeError):
        main(*sys.argv[1:])
