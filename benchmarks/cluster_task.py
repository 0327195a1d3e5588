"""One task of a cluster that is measured: a ps, or a worker that runs steps and prints how long they took, as JSON.

Usage: python cluster_task.py FRAMEWORK JOB INDEX SETTINGS     (SETTINGS: JSON, see ``cluster.py``)

A worker prints "ready" when its graph has run once, and begins when it reads a line, so that all workers begin
together. This file also runs inside TensorFlow's Python, so it keeps to the standard library and NumPy.
"""
from __future__ import annotations

import importlib
import json
import sys
import threading
import time

ROWS, WIDTH = 32, 64  # the rows of an embedding that a step uses, and how long they are


def load(framework):
    """The framework's TensorFlow 1 interface, in graph mode."""
    if framework == "penstock":
        return importlib.import_module("penstock")
    tf = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    return tf


# --- models: (variables, their gradients) on the worker --------------------------------------------------------------

def ps_device(index):
    """The device of a parameter server."""
    return f"/job:ps/task:{index}/device:CPU:0"


def shards(tf, count, shape):
    """One variable on each ps."""
    variables = []
    for index in range(count):
        with tf.device(ps_device(index)):
            variables.append(tf.get_variable(f"shard_{index}", shape, initializer=tf.zeros_initializer()))
    return variables


def dense(tf, settings, floats):
    """All of the parameters are read and updated."""
    variables = shards(tf, settings["ps"], [floats])
    return variables, [variable * 1e-6 for variable in variables]


def sparse(tf, settings, rows):
    """A few rows of an embedding, which is spread over the parameter servers, are read and updated."""
    count = settings["ps"]
    variables = shards(tf, count, [rows // count, WIDTH])
    gradients = []
    for index, variable in enumerate(variables):
        ids = tf.random_uniform([ROWS // count], 0, rows // count, tf.int32, seed=index + 1)
        with tf.device(ps_device(index)):
            gathered = tf.gather(variable, ids)
        gradients.append(tf.IndexedSlices(gathered * 1e-6, ids))
    return variables, gradients


def lookup(tf, settings):
    """(what to initialise, the step): rows of an embedding by a plain ``embedding_lookup`` over its shards, and an update of them by an optimizer."""
    ids = tf.random_uniform([ROWS], 0, settings["size"], tf.int32, seed=1)
    rows = tf.nn.embedding_lookup(shards(tf, settings["ps"], [settings["size"] // settings["ps"], WIDTH]), ids)
    loss = tf.reduce_sum(rows * 1e-6)
    optimizers = {"sgd": tf.train.GradientDescentOptimizer, "adagrad": tf.train.AdagradOptimizer, "adam": tf.train.AdamOptimizer,
                  "ftrl": tf.train.FtrlOptimizer}
    step = optimizers[settings["optimizer"]](0.01).minimize(loss) if settings["optimizer"] else loss.op
    return tf.global_variables_initializer(), step


def model_of(tf, settings):
    """The variables of the model and a gradient for each."""
    kind, size = settings["model"], settings["size"]
    if kind in ("null", "scalar"):
        return dense(tf, settings, 1)
    if kind == "dense":
        return dense(tf, settings, size // 4 // settings["ps"])
    return sparse(tf, settings, size)


def asynchronous(tf, settings):
    """(what to initialise, the step, None): each worker updates as it likes."""
    if settings["model"] == "lookup":
        return (*lookup(tf, settings), None)
    variables, gradients = model_of(tf, settings)
    if settings["model"] == "null":
        return tf.global_variables_initializer(), tf.add_n(gradients).op, None
    updates = []
    for variable, gradient in zip(variables, gradients):
        if isinstance(gradient, tf.IndexedSlices):
            updates.append(tf.scatter_sub(variable, gradient.indices, gradient.values).op)
        else:
            updates.append(tf.assign_sub(variable, gradient).op)
    return tf.global_variables_initializer(), tf.group(*updates), None


def synchronous(tf, settings):
    """(what to initialise, the step, the optimizer): gradients are averaged over all workers but the backups."""
    variables, gradients = model_of(tf, settings)
    with tf.device(ps_device(0)):
        step = tf.get_variable("step", [], tf.int64, initializer=tf.zeros_initializer(), trainable=False)
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), settings["workers"] - settings["backup"],
                                               settings["workers"])
    train = optimizer.apply_gradients(list(zip(gradients, variables)), global_step=step)
    return tf.global_variables_initializer(), train, optimizer


# --- tasks -----------------------------------------------------------------------------------------------------------

def wait_for_line():
    """Until the one who measures says go."""
    print("ready", flush=True)
    sys.stdin.readline()


def timed_steps(run, seconds, delay):
    """Runs steps for so many seconds; the time that each took."""
    times = []
    end = time.perf_counter() + seconds
    last = time.perf_counter()
    while last < end:
        if delay:
            time.sleep(delay)
        run()
        now = time.perf_counter()
        times.append(now - last)
        last = now
    return times


def work(tf, server, index, settings):
    """A worker: build, initialise, warm up, wait for the others, run."""
    build = synchronous if settings["sync"] else asynchronous
    with tf.device(f"/job:worker/task:{index}/device:CPU:0"):
        initialise, step, sync = build(tf, settings)
    start_tokens = sync.get_init_tokens_op() if sync is not None and index == 0 else None
    session = tf.Session(server.target)
    if index == 0:
        session.run(initialise)
    wait_for_line()
    if sync is not None:
        session.run(sync.chief_init_op if index == 0 else sync.local_step_init_op)
        if index == 0:
            sync.get_chief_queue_runner().create_threads(session, daemon=True, start=True)
            session.run(start_tokens)

    def run():
        session.run(step)

    timed_steps(run, settings["warmup"], 0.0)
    delay = settings["straggler"] if index == settings["workers"] - 1 else 0.0
    times = timed_steps(run, settings["seconds"], delay)
    print(json.dumps({"times": times, "version": tf.__version__}), flush=True)
    if sync is not None:  # others may still need the steps of this worker
        threading.Thread(target=repeat, args=(tf, run), daemon=True).start()
    sys.stdin.readline()


def repeat(tf, run):
    """Runs steps until the session ends."""
    try:
        while True:
            run()
    except tf.errors.OpError:
        return


def main():
    """Starts the task."""
    framework, job, index, settings = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
    tf = load(framework)
    server = tf.train.Server(tf.train.ClusterSpec(settings["cluster"]), job_name=job, task_index=index)
    if job == "ps":
        print("ready", flush=True)
        server.join()
    else:
        work(tf, server, index, settings)


if __name__ == "__main__":
    main()
