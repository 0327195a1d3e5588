"""What a step costs does not depend on what else is in the graph: counted in function calls, which no other program on the machine can disturb."""
from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock.distributed import worker
from penstock.native.config import config
from support.cluster import LocalCluster
from support.process import environment

pytestmark = pytest.mark.process


def calls(run):
    """How many functions are called, Python's own included; what other tests have left is not cleaned up meanwhile."""
    count = 0
    gc.collect()
    gc.disable()

    def see(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def counted(others):
    """The calls of the first, the second and the tenth run of three operations beside ``others``, and of a new step after the graph has grown."""
    with tf.Graph().as_default(), tf.Session() as session:
        other = tf.placeholder(tf.float32, [])
        for _ in range(others):
            other = tf.negative(other)
        x = tf.placeholder(tf.float32, [])
        y = x * 2.0 + 1.0
        found = [calls(lambda: session.run(y, {x: 1.0})) for _ in range(10)]
        tf.negative(other)
        z = x * 3.0
        return found[0], found[1], found[9], calls(lambda: session.run(z, {x: 1.0}))


def test_a_large_graph_costs_a_step_nothing():
    counted(10)  # imports, caches
    small, large = counted(10), counted(20_000)
    assert large == pytest.approx(small, abs=5)


# --- limits: what a steady step costs; they may go down only ---------------------------------------------------------------------------------

PYTHON_CALLS_NULL, PYTHON_CALLS_LOCAL, PYTHON_CALLS_CLUSTER = 8, 30, 672


class Counter:
    """Counts the Python functions that all threads call which are started after this one."""

    def __init__(self):
        self.count = 0

    def __call__(self, frame, event, argument):
        self.count += event == "call"


class Names(list):
    """The names of the Python functions that this thread calls."""

    def __call__(self, frame, event, argument):
        if event == "call":
            self.append(frame.f_code.co_name)


def training(worker="", ps=""):
    """(the variable, what to feed, a step of training and its loss)"""
    with tf.device(ps):
        w = tf.get_variable("w", [64, 10], initializer=tf.ones_initializer(), use_resource=False)
    with tf.device(worker):
        x = tf.placeholder(tf.float32, [None, 64])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
        step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return w, {x: np.ones((32, 64), np.float32)}, [step, loss]


def python_calls(session, fetches, feeds):
    """The Python functions that a steady step calls: the least of three, as what other tests have left behind may end during one."""
    for _ in range(5):
        session.run(fetches, feeds)
    return min((calls_of_step(session, fetches, feeds) for _ in range(3)), key=len)


def calls_of_step(session, fetches, feeds):
    names = Names()
    gc.disable()  # finalizers of other tests' objects are functions, too
    sys.setprofile(names)
    try:
        session.run(fetches, feeds)
    finally:
        sys.setprofile(None)
        gc.enable()
    return names


def null_step(value):
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    with tf.Session() as session:
        return python_calls(session, y, {x: value})


@pytest.mark.parametrize("value", ["2.0", "np.array(2, np.float32)"])
def test_a_null_step(value):
    """In a process of its own: other tests can have left what a step of eight calls has to ask."""
    program = f"import numpy as np\nfrom test_overhead import null_step\nprint(*null_step({value}))"
    here = Path(__file__).parent
    result = subprocess.run([sys.executable, "-c", program], env=environment(PYTHONPATH=os.pathsep.join([str(here), str(here.parent), *sys.path])),
                            capture_output=True, text=True, check=True)
    names = result.stdout.split()
    assert "run_in_order" in names and len(names) <= PYTHON_CALLS_NULL, names


def test_many_small_feeds_and_fetches(monkeypatch):
    """No function of Python is called for each of them."""
    monkeypatch.setattr(config, "mode", "eager")
    counts = []
    for number in (10, 110):
        inputs = [tf.placeholder(tf.float32, [4]) for _ in range(number)]
        outputs = [x * float(k) for k, x in enumerate(inputs)]
        with tf.Session() as session:
            counts.append(len(python_calls(session, outputs, dict.fromkeys(inputs, np.ones(4, np.float32)))))
    assert counts[1] <= counts[0] + 5


def test_a_steady_step_of_this_process(monkeypatch):
    monkeypatch.setattr(config, "mode", "eager")
    w, feeds, step = training()
    with tf.Session() as session:
        session.run(w.initializer)
        names = python_calls(session, step, feeds)
        assert len(names) <= PYTHON_CALLS_LOCAL, names


def cluster_calls(ps, build):
    """The Python functions that steady steps call on a cluster: their client, their master and all tasks. ``build`` makes what is initialised, the
    step, and what is fed."""
    counter = Counter()
    threading.setprofile(counter)
    sys.setprofile(counter)
    try:
        with tf.Graph().as_default():
            cluster = LocalCluster({"ps": ps, "worker": 1})
            initializers, step, feeds = build()
            session = cluster.session("/job:worker/replica:0/task:0")
            session.run(initializers)
            for _ in range(20):  # parts that are quick need no threads of their own
                session.run(step, feeds)
            before = settled(counter)
            for _ in range(9):
                session.run(step, feeds)
            found = (settled(counter) - before) / 9
            session.close()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def settled(counter):
    """The count when threads have ended what a step has left behind."""
    seen = -1
    while counter.count != seen:
        seen = counter.count
        time.sleep(0.2)
    return seen


def test_a_steady_step_of_a_cluster(monkeypatch):
    monkeypatch.setattr(config, "mode", "eager")

    def build():
        w, feeds, step = training("/job:worker/task:0", "/job:ps/task:0")
        return w.initializer, step, feeds

    assert cluster_calls(1, build) <= PYTHON_CALLS_CLUSTER


def test_the_work_of_a_step_is_linear_in_the_tasks_that_it_touches(monkeypatch):
    """Client, master and tasks together: a task more costs no more than each of the others does, one that the step does not touch next to nothing."""
    monkeypatch.setattr(config, "mode", "eager")
    monkeypatch.setattr(worker, "_QUICK", 60.0)  # seconds: on a crowded machine, too, parts of tasks are run in the same way

    def touching(tasks):
        def build():
            updates = []
            for index in range(tasks):
                with tf.device(f"/job:ps/task:{index}"):
                    variable = tf.get_variable(f"v{index}", [], initializer=tf.zeros_initializer(), use_resource=False)
                with tf.device("/job:worker/task:0"):
                    change = variable * 0.5
                updates.append(tf.assign_sub(variable, change).op)
            with tf.device("/job:worker/task:0"):
                return tf.global_variables_initializer(), tf.group(*updates), {}
        return build

    one, four, sixteen = (min(cluster_calls(16, touching(tasks)) for _ in range(2)) for tasks in (1, 4, 16))  # neighbours only add calls
    assert one > 100  # it was counted
    # Were it quadratic, a task more would cost four times as much. A busy poller reads fewer messages at a time: 1.5 was seen between neighbours.
    assert (sixteen - four) / 12 <= 2 * (four - one) / 3, (one, four, sixteen)
    assert cluster_calls(24, touching(1)) <= 1.5 * one
