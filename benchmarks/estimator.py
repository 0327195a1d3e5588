"""Training through an Estimator. One process measures one thing and prints it as JSON, as core.py does.

Usage: python estimator.py FRAMEWORK MEASUREMENT     (FRAMEWORK: penstock or tensorflow)
       python estimator.py                           all of them beside TensorFlow 1.15 (PENSTOCK_TF1_PYTHON), in turns, as a table

`plain` and `estimator` are the seconds of 1,000 steps of a small network, from the first line to the last checkpoint: in a loop of
MonitoredTrainingSession, and by Estimator.train. `wide_deep` is the seconds of a step of DNNLinearCombinedClassifier on examples like Criteo's: 13
numbers, 26 categorical features of 1,000,000 hash buckets each, batches of 512, read by tf.data and parse_example. `input` is its input alone.
This file also runs inside TensorFlow 1's Python 3.7.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import core
import numpy as np

STEPS = 1000
BATCH, NUMBERS, CATEGORIES, BUCKETS, DIMENSION = 512, 13, 26, 1000000, 8
EXAMPLES = 40 * BATCH
WARM_UP, TIMED = 30, 100  # steps of wide and deep
AIMS = {"estimator / plain": 1.05, "TF 1.15 / Penstock, wide and deep": 2.0}


# --- the cost of an Estimator ------------------------------------------------------------------------------------------

def _network(tf, features, labels):
    hidden = tf.layers.dense(features["x"], 512, tf.nn.relu)
    logits = tf.layers.dense(hidden, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    return loss, tf.train.AdamOptimizer().minimize(loss, global_step=tf.train.get_or_create_global_step())


def _batches(tf):
    random = np.random.RandomState(0)
    rows = {"x": random.rand(2560, 784).astype(np.float32)}, random.randint(0, 10, 2560)
    return tf.data.Dataset.from_tensor_slices(rows).repeat().batch(128).prefetch(2)


def measure_plain(tf, folder):
    """A loop of MonitoredTrainingSession, with its own checkpoints and summaries."""
    with tf.Graph().as_default():
        features, labels = _batches(tf).make_one_shot_iterator().get_next()
        loss, train_op = _network(tf, features, labels)
        tf.summary.scalar("loss", loss)
        hooks = [tf.train.StopAtStepHook(last_step=STEPS), tf.train.NanTensorHook(loss),
                 tf.train.LoggingTensorHook({"loss": loss, "step": tf.train.get_global_step()}, 100)]
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks) as session:
            while not session.should_stop():
                session.run([train_op, loss])


def measure_estimator(tf, folder):
    """The same by Estimator.train."""
    def model_fn(features, labels, mode):
        loss, train_op = _network(tf, features, labels)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
    tf.estimator.Estimator(model_fn, folder).train(lambda: _batches(tf), max_steps=STEPS)


def _timed(measure):
    def seconds(tf, folder):
        start = time.perf_counter()
        measure(tf, folder)
        return time.perf_counter() - start
    return seconds


# --- wide and deep -----------------------------------------------------------------------------------------------------

def _examples(tf, path):
    random = np.random.RandomState(0)
    with tf.python_io.TFRecordWriter(path) as writer:
        for _ in range(EXAMPLES):
            numbers, words = random.rand(NUMBERS), np.minimum(random.zipf(1.2, CATEGORIES), 1 << 30)
            feature = {"i%d" % index: tf.train.Feature(float_list=tf.train.FloatList(value=[value])) for index, value in enumerate(numbers)}
            feature.update({"c%d" % index: tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"%x" % int(value)]))
                            for index, value in enumerate(words)})
            feature["label"] = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(numbers[0] + words[0] % 2 > 1)]))
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def _columns(tf):
    column = tf.feature_column
    numbers = [column.numeric_column("i%d" % index) for index in range(NUMBERS)]
    words = [column.categorical_column_with_hash_bucket("c%d" % index, BUCKETS) for index in range(CATEGORIES)]
    return numbers, words


def _read(tf, path):
    numbers, words = _columns(tf)
    spec = tf.feature_column.make_parse_example_spec(numbers + words)
    spec["label"] = tf.FixedLenFeature([1], tf.int64)

    def parsed(batch):
        features = tf.parse_example(batch, spec)
        return features, features.pop("label")
    return tf.data.TFRecordDataset(path).repeat().batch(BATCH, drop_remainder=True).map(parsed, num_parallel_calls=2).prefetch(2)


def measure_wide_deep(tf, folder):
    """Seconds of a step, the middle one of many."""
    path, times = os.path.join(folder, "examples.tfrecord"), []

    class Clock(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            times.append(time.perf_counter())

    _examples(tf, path)
    numbers, words = _columns(tf)
    config = tf.estimator.RunConfig(os.path.join(folder, "model"), save_checkpoints_steps=None, save_checkpoints_secs=None, save_summary_steps=None)
    model = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=numbers + words, dnn_feature_columns=numbers + [tf.feature_column.embedding_column(word, DIMENSION) for word in words],
        dnn_hidden_units=[256, 128, 64], config=config)
    model.train(lambda: _read(tf, path), hooks=[Clock()], steps=WARM_UP + TIMED)
    return (times[-1] - times[WARM_UP - 1]) / TIMED


def measure_input(tf, folder):
    """Seconds of a batch of its input."""
    path = os.path.join(folder, "examples.tfrecord")
    _examples(tf, path)
    with tf.Graph().as_default(), tf.Session() as session:
        _, labels = _read(tf, path).make_one_shot_iterator().get_next()
        for _ in range(WARM_UP):
            session.run(labels)
        start = time.perf_counter()
        for _ in range(TIMED):
            session.run(labels)
        return (time.perf_counter() - start) / TIMED


MEASUREMENTS = {"plain": _timed(measure_plain), "estimator": _timed(measure_estimator), "wide_deep": measure_wide_deep, "input": measure_input}


def main(framework, measurement):
    """Measures, and prints `{"seconds": ..., "version": ...}` as the last line."""
    tf = core.load(framework)
    folder = tempfile.mkdtemp()
    try:
        seconds = MEASUREMENTS[measurement](tf, folder)
    finally:
        shutil.rmtree(folder)
    print(json.dumps({"seconds": seconds, "version": sys.modules[framework].__version__}))


def table(rounds=3):
    """Prints the best of some rounds; the processes take turns."""
    pythons = {"penstock": sys.executable, "tensorflow": os.environ.get("PENSTOCK_TF1_PYTHON")}
    best = {}
    for _ in range(rounds):
        for measurement in MEASUREMENTS:
            for framework, python in pythons.items():
                if python:
                    done = subprocess.run([python, __file__, framework, measurement], stdout=subprocess.PIPE, check=True,
                                          cwd=os.path.dirname(os.path.abspath(__file__)))
                    seconds = json.loads(done.stdout.decode().splitlines()[-1])["seconds"]
                    best[framework, measurement] = min(seconds, best.get((framework, measurement), seconds))
    for (framework, measurement), seconds in sorted(best.items(), key=lambda item: item[0][1]):
        print("%-10s %-11s %9.4f s" % (measurement, framework, seconds))
    print("estimator / plain: %.3f (aim: %.2f)" % (best["penstock", "estimator"] / best["penstock", "plain"], AIMS["estimator / plain"]))
    if ("tensorflow", "wide_deep") in best:
        print("TF 1.15 / Penstock, wide and deep: %.2f (aim: %.1f)" % (best["tensorflow", "wide_deep"] / best["penstock", "wide_deep"],
                                                                     AIMS["TF 1.15 / Penstock, wide and deep"]))


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) == 3 else table()
