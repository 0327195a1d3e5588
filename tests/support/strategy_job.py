"""A model that a strategy trains, as a program that is one task of TF_CONFIG.

    python -m support.strategy_job session|estimator|servers|keras FOLDER

It prints the values of its trainable variables, as JSON, at the end.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import penstock as tf
from support.process import environment, line_of

STEPS, BATCH = 5, 6
STRATEGIES = {"session": tf.distribute.experimental.MultiWorkerMirroredStrategy, "estimator": tf.contrib.distribute.CollectiveAllReduceStrategy,
              "servers": tf.distribute.experimental.ParameterServerStrategy, "keras": tf.distribute.experimental.MultiWorkerMirroredStrategy}


def rows():
    """The data: more rows than all steps take."""
    x = np.sin(np.arange(2.0 * BATCH * (STEPS + 1))).reshape(-1, 2).astype(np.float32)
    return x, x.sum(1, keepdims=True)


def model_loss(x, y, start=0.0):
    """The loss of a model with dense and sparse gradients. ``start`` is in its first weights."""
    hidden = tf.layers.dense(x, 3, tf.tanh, kernel_initializer=tf.constant_initializer(0.25 + start))
    table = tf.get_variable("table", [2, 3], initializer=tf.constant_initializer(0.125 + start))
    hidden += tf.nn.embedding_lookup(table, tf.cast(x[:, 0] > 0, tf.int32))
    return tf.losses.mean_squared_error(y, tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer()))


def train_op(loss):
    """Momentum has slots, which must be alike on all workers, too."""
    return tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss, tf.train.get_or_create_global_step())


class Values(tf.train.SessionRunHook):
    """The trainable variables after each step."""

    def begin(self):
        self._variables = tf.trainable_variables()

    def after_run(self, run_context, run_values):
        self.last = run_context.session.run(self._variables)


def with_session(strategy, folder, values):
    """A loop of one's own: each batch is shared among the workers."""
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices(rows()).batch(BATCH))

        def step(batch):
            return train_op(model_loss(*batch, start=strategy.extended.worker) / strategy.num_replicas_in_sync)

        train = strategy.group(strategy.experimental_run(step, iterator))
        scaffold = tf.train.Scaffold(local_init_op=tf.group(tf.local_variables_initializer(), iterator.initializer))
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, scaffold=scaffold, hooks=[tf.train.StopAtStepHook(STEPS), values],
                                               save_checkpoint_steps=STEPS, save_checkpoint_secs=None, log_step_count_steps=None) as session:
            while not session.should_stop():
                session.run(train)


def with_estimator(strategy, folder, values):
    """An estimator: each worker reads its part of the rows."""
    def input_fn(input_context):
        size = input_context.get_per_replica_batch_size(BATCH)
        data = tf.data.Dataset.from_tensor_slices(rows()).shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
        return data.batch(size)

    def model_fn(features, labels, mode):
        loss = model_loss(features, labels, tf.distribute.get_replica_context().replica_id_in_sync_group)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op(loss))

    config = tf.estimator.RunConfig(folder, train_distribute=strategy, save_checkpoints_steps=STEPS, log_step_count_steps=None)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(input_fn, max_steps=STEPS, hooks=[values]), tf.estimator.EvalSpec(input_fn))


def with_servers(strategy, folder, values):
    """Variables on a parameter server: the worker adds its own number to one of them, so the order does not matter."""
    cluster, job, index = json.loads(os.environ["TF_CONFIG"])["cluster"], *json.loads(os.environ["TF_CONFIG"])["task"].values()
    server = tf.distribute.Server(cluster, job, index)
    if job == "ps":
        server.join()
    with strategy.scope():
        weight = tf.get_variable("weight", [2], initializer=tf.zeros_initializer())
        assert weight.device == "/job:ps/task:0"
        step = strategy.experimental_run_v2(lambda: train_plainly((index + 1.0) * tf.reduce_sum(weight)))
        arrived = tf.get_variable("arrived", [], tf.int64, initializer=tf.zeros_initializer(), trainable=False)
        done = tf.assign_add(arrived, 1)
        with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0) as session:
            for _ in range(STEPS):
                session.run(step)
            session.run(done)
            while session.run(arrived) < len(cluster["worker"]):
                pass
            values.last = [session.run(weight)]


def keras_model(start=0.0):
    """A model of Keras with metrics. ``start`` is in its first weights."""
    layers, ones = tf.keras.layers, tf.keras.initializers.Ones
    model = tf.keras.Sequential([layers.Dense(3, tf.tanh, kernel_initializer=tf.keras.initializers.Constant(0.25 + start), input_shape=(2,)),
                                 layers.Dense(1, kernel_initializer=ones())])
    model.compile("adam", "mse", metrics=["mae"])
    return model


def fit(model, folder=None):
    """Trains twice, with arrays and with a dataset; what was reported."""
    x, y = rows()
    callbacks = [tf.keras.callbacks.ModelCheckpoint(f"{folder}/{{epoch}}", save_weights_only=True)] if folder else []
    reported = model.fit(x, y, BATCH, epochs=2, shuffle=False, verbose=0, validation_data=(x, y), callbacks=callbacks).history
    batches = tf.data.Dataset.from_tensor_slices((x, y, x[:, 0] ** 2)).batch(BATCH)
    return [*reported.values(), *model.fit(batches, epochs=2, verbose=0).history.values()]


def with_keras(strategy, folder, values):
    """A model of Keras: the second worker does not have the weights of the first before it begins, and saves nothing."""
    index = strategy.extended.worker
    with strategy.scope():
        model = keras_model(start=index)
    values.last = [np.array(each) for each in fit(model, f"{folder}/{index}")] + model.get_weights()


def train_plainly(loss):
    return tf.train.GradientDescentOptimizer(1.0).minimize(loss)


def main(how, folder):
    """The body of the program."""
    values = Values()
    {"session": with_session, "estimator": with_estimator, "servers": with_servers, "keras": with_keras}[how](STRATEGIES[how](), folder, values)
    print(json.dumps([value.tolist() for value in values.last]), flush=True)
    if how == "servers":
        sys.stdin.read()  # the server of a task is there until all have ended


class Job:
    """The program above as a task of a cluster."""

    def __init__(self, how, folder, cluster, job, index):
        variables = environment()
        variables["PYTHONPATH"] = os.pathsep.join([variables["PYTHONPATH"], str(Path(__file__).parents[1])])
        variables["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})
        words = [sys.executable, "-m", "support.strategy_job", how, str(folder)]
        self.process = subprocess.Popen(words, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def values(self):
        """What it prints."""
        return [np.array(value, np.float32) for value in json.loads(line_of(self.process, 240.0))]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
