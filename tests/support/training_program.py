"""The program that jobs of ``support/training_job.py`` run: asynchronous or synchronous training, with a known answer.

    training_program.py FOLDER LAST_STEP PACE SAVE_EVERY [linear|rnn] [async|sync]

The asynchronous kind takes the number of a step from the global step with ``tf.count_up_to`` before it updates the weights: however many workers
there are, the job ends at exactly the step that was asked for. ``updates`` lives beside the weights, on the same ps, and counts their updates.
The two numbers differ by the updates that other workers made between the reading, or the writing, of the two while a checkpoint was saved or
restored, and by the steps that were counted and then failed.
Every worker writes event files of its own.
"""
from __future__ import annotations

import itertools
import json
import os
import sys
import time

import numpy as np

import penstock as tf

BATCH = 16
TRUE = np.array([[2.0], [-3.0], [0.5], [1.0]], np.float32)


def linear(last: int):
    """Regression by gradient descent with the rate 1 / last: the loss at the end tells how many updates there were."""
    w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
    return x, y, tf.matmul(x, w), tf.train.GradientDescentOptimizer(1.0 / last)


def rnn(last: int):
    """A recurrent network with partitioned variables, that adds up what it sees."""
    x, y = tf.placeholder(tf.float32, [None, 5, 4]), tf.placeholder(tf.float32, [None, 1])
    with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(2)):
        _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(8), x, dtype=tf.float32)
        guess = tf.layers.dense(state, 1)
    return x, y, guess, tf.train.AdamOptimizer(0.01)


def batch(model: str, random: np.random.RandomState):
    """Inputs and what they should give. Those of the linear model are orthogonal: chance has no part in how far an update leads."""
    if model == "linear":
        inputs = (np.sqrt(BATCH) * np.linalg.qr(random.normal(size=(BATCH, 4)))[0]).astype(np.float32)
        return inputs, inputs @ TRUE
    inputs = random.normal(size=(BATCH, 5, 4)).astype(np.float32)
    return inputs, 0.3 * np.mean(inputs @ TRUE, axis=1)


def build(model: str, mode: str, last: int, chief: bool):
    """(inputs, answers, loss, train op, hooks)."""
    step = tf.train.get_or_create_global_step()
    x, y, guess, optimizer = {"linear": linear, "rnn": rnn}[model](last)
    with tf.device(tf.trainable_variables()[0].device):
        updates = tf.get_variable("updates", [], tf.int64, initializer=tf.zeros_initializer(), trainable=False)
    loss = tf.reduce_mean(tf.square(guess - y))
    if mode == "sync":
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=2)
        train = optimizer.minimize(loss, global_step=step)
        return x, y, loss, train, [optimizer.make_session_run_hook(chief), tf.train.StopAtStepHook(last_step=last)]
    gradients = optimizer.compute_gradients(loss)
    with tf.control_dependencies([tf.count_up_to(step, last)]):
        applied = optimizer.apply_gradients(gradients)
    with tf.control_dependencies([applied]):
        return x, y, loss, tf.assign_add(updates, 1).op, []


def main(folder: str, last: str, pace: str, every: str, model: str = "linear", mode: str = "async") -> None:
    """The body of a task; TF_CONFIG says which one."""
    print("pid", os.getpid(), flush=True)
    config = json.loads(os.environ["TF_CONFIG"])
    job, index = config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(config["cluster"], job_name=job, task_index=index)
    if job == "ps":
        server.join()
        return
    with tf.device(tf.train.replica_device_setter(cluster=config["cluster"], worker_device=f"/job:worker/task:{index}")):
        x, y, loss, train, hooks = build(model, mode, int(last), index == 0)
        tf.summary.scalar("loss", loss)
        hooks.append(tf.train.SummarySaverHook(20, output_dir=f"events-{index}", summary_op=tf.summary.merge_all()))
    only = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    random, step = np.random.RandomState(os.getpid()), tf.train.get_global_step()
    with tf.train.MonitoredTrainingSession(
            server.target, is_chief=index == 0, checkpoint_dir=folder, save_checkpoint_secs=None, save_checkpoint_steps=int(every), hooks=hooks,
            save_summaries_steps=None, log_step_count_steps=None, config=only) as sess:
        inputs, answers = batch(model, random)
        print("at", sess.run(step, {x: inputs, y: answers}), flush=True)
        for run in itertools.count():
            if sess.should_stop():
                break
            inputs, answers = batch(model, random)
            value, _ = sess.run([loss, train], {x: inputs, y: answers})
            if run % 50 == 0:
                print("loss", value, flush=True)
            time.sleep(float(pace))


if __name__ == "__main__":
    main(*sys.argv[1:])
