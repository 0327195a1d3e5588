"""One task of a cluster that is measured: a ps, or a worker that runs steps and prints how long they took, as JSON.

Usage: python cluster_task.py FRAMEWORK JOB INDEX SETTINGS     (SETTINGS: JSON, see ``cluster.py``)

A worker prints "ready" when its graph is there, "warm" when its steps have run for a while, and goes on when it reads a line, so that all workers
begin together. It is "settled" after a few steps beside the others: with many workers the first of them is warm long before the last. This file
also runs inside TensorFlow's Python, so it keeps to the standard library and NumPy.
"""
from __future__ import annotations

import importlib
import json
import sys
import threading
import time

LARGE = ("inception", "language")
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
    if settings["model"] == "partitioned":
        with tf.device(tf.train.replica_device_setter(settings["ps"])):
            table = tf.get_variable("table", [settings["size"], WIDTH], initializer=tf.zeros_initializer(),
                                    partitioner=tf.fixed_size_partitioner(settings["ps"]))
        rows = tf.nn.embedding_lookup(table, ids, partition_strategy="div")
    else:
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


def gradients_of(tf, settings):
    """Pairs of a gradient and its variable."""
    variables, gradients = model_of(tf, settings)
    return list(zip(gradients, variables))


def large(settings):
    """A model of the paper that computes: its optimizer, and pairs of a gradient and its variable. What is fed is noted in the settings."""
    import paper_models  # only Penstock has what it needs

    arguments = paper_models.parse([settings["model"], *settings["arguments"]])
    arguments.shards = settings["ps"]
    loss, optimizer, settings["feeds"] = paper_models.LARGE[settings["model"]](arguments)
    return optimizer, optimizer.compute_gradients(loss, colocate_gradients_with_ops=True)  # those of shards on the servers that hold them


def asynchronous(tf, settings):
    """(what to initialise, the step, None): each worker updates as it likes."""
    if settings["model"] in ("lookup", "partitioned"):
        return (*lookup(tf, settings), None)
    if settings["model"] in LARGE:
        optimizer, gradients = large(settings)
        train = optimizer.apply_gradients(gradients)  # makes variables, too
        return tf.global_variables_initializer(), train, None
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
    plain, gradients = large(settings) if settings["model"] in LARGE else (tf.train.GradientDescentOptimizer(1.0), gradients_of(tf, settings))
    with tf.device(ps_device(0)):
        step = tf.get_variable("step", [], tf.int64, initializer=tf.zeros_initializer(), trainable=False)
    optimizer = tf.train.SyncReplicasOptimizer(plain, settings["workers"] - settings["backup"], settings["workers"])
    train = optimizer.apply_gradients(gradients, global_step=step)
    return tf.global_variables_initializer(), train, optimizer


# --- tasks -----------------------------------------------------------------------------------------------------------

def wait_for_line(said):
    """Until the one who measures says go."""
    print(said, flush=True)
    sys.stdin.readline()


def timed_steps(run, seconds, delay, least):
    """Runs steps for so many seconds, and not less than so many of them; the time that each took."""
    times = []
    end = time.perf_counter() + seconds
    last = time.perf_counter()
    while last < end or len(times) < least:
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
    worker = f"/job:worker/task:{index}/device:CPU:0"
    with tf.device(tf.train.replica_device_setter(settings["ps"], worker_device=worker) if settings["model"] in LARGE else worker):
        initialise, step, sync = build(tf, settings)
    feeds = settings.pop("feeds", {})
    start_tokens = sync.get_init_tokens_op() if sync is not None and index == 0 else None
    session = tf.Session(server.target)
    if index == 0:
        session.run(initialise)
    wait_for_line("ready")
    if sync is not None:
        session.run(sync.chief_init_op if index == 0 else sync.local_step_init_op)
        if index == 0:
            sync.get_chief_queue_runner().create_threads(session, daemon=True, start=True)
            session.run(start_tokens)

    def run():
        session.run(step, feeds)

    timed_steps(run, settings["warmup"], 0.0, settings["warm"])
    delay = settings["straggler"] if index == settings["workers"] - 1 else 0.0
    if sync is None:  # synchronous steps are warm together in any case, and a worker that waited would hold up the others
        wait_for_line("warm")
        timed_steps(run, settings["warmup"] / 4, 0.0, settings["warm"] // 8)
        print("settled", flush=True)
    times = timed_steps(run, settings["seconds"], delay, settings["steps"])
    print(json.dumps({"times": times, "version": tf.__version__}), flush=True)
    threading.Thread(target=repeat, args=(tf, run), daemon=True).start()  # others are still measured, or need the steps of this one
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
