"""The models of the OSDI paper's cluster experiments, as programs for the tasks of a cluster (TF_CONFIG): `penstock launch`, `penstock simulate`.

Usage: python paper_models.py MODEL [--batch N] ...     MODEL: null, dense, sparse, inception, language

``cluster_task.py`` runs the larger two, too.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

import penstock as tf

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

import language_model

ROWS, WIDTH = 32, 64  # of an embedding: what a step uses, and how long rows are


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--bytes", type=int, default=100_000_000, help="of a dense model")
    parser.add_argument("--rows", type=int, default=1 << 20, help="of a sparse model")
    parser.add_argument("--pixels", type=int, default=299, help="of the sides of Inception's images")
    parser.add_argument("--units", type=int, default=512, help="of the language model's LSTM, and of its projection")
    parser.add_argument("--vocabulary", type=int, default=40_000)
    parser.add_argument("--unroll", type=int, default=20)
    parser.add_argument("--sampled", type=int, default=0, help="classes of a sampled softmax; 0: the full one")
    parser.add_argument("--steps", type=int, default=1000)
    return parser.parse_args(arguments)


def shards(count, shape):
    """One variable on each ps."""
    variables = []
    for index in range(count):
        with tf.device(f"/job:ps/task:{index}"):
            variables.append(tf.get_variable(f"shard_{index}", shape, initializer=tf.zeros_initializer()))
    return variables


def dense(args, ps):
    """All parameters are read and updated; "null" only reads a number of each ps."""
    variables = shards(ps, [1 if args.model == "null" else args.bytes // 4 // ps])
    if args.model == "null":
        return tf.add_n([variable * 1e-6 for variable in variables]).op, {}
    return tf.group(*(tf.assign_sub(variable, variable * 1e-6).op for variable in variables)), {}


def sparse(args, ps):
    """A few rows of an embedding that is spread over the parameter servers."""
    updates = []
    for variable in shards(ps, [args.rows // ps, WIDTH]):
        ids = tf.random_uniform([max(ROWS // ps, 1)], 0, args.rows // ps, tf.int32)
        with tf.device(variable.device):
            rows = tf.gather(variable, ids)
        updates.append(tf.scatter_sub(variable, ids, rows * 1e-6).op)
    return tf.group(*updates), {}


def inception(args):
    """Inception-v3 on images of noise: (loss, optimizer, feeds)."""
    images = tf.placeholder(tf.float32, [args.batch, args.pixels, args.pixels, 3])
    labels = tf.placeholder(tf.int32, [args.batch])
    nets = tf.contrib.slim.nets.inception
    with tf.contrib.slim.arg_scope(nets.inception_v3_arg_scope()):
        logits, ends = nets.inception_v3(images, 1001)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits) + 0.4 * tf.losses.sparse_softmax_cross_entropy(labels, ends["AuxLogits"])
    noise = np.random.RandomState(0).rand(args.batch, args.pixels, args.pixels, 3).astype(np.float32)
    return loss, tf.train.RMSPropOptimizer(0.045, 0.9, 0.9, 1.0), {images: noise, labels: np.zeros([args.batch], np.int32)}


def language(args):
    """The language model of the examples on random words: (loss, optimizer, feeds)."""
    model = language_model.Model(language_model.Sizes(args.vocabulary, args.units, args.units, args.unroll, args.batch, args.sampled), args.shards)
    words = np.random.RandomState(0).randint(0, args.vocabulary, [args.batch, args.unroll + 1])
    return model.training_loss, tf.train.AdagradOptimizer(0.2), {model.words: words}


LARGE = {"inception": inception, "language": language}
MODELS = {"null": dense, "dense": dense, "sparse": sparse, **LARGE}


def training_step(args, ps):
    """(the operation that is a step, what is fed)."""
    if args.model not in LARGE:
        return MODELS[args.model](args, ps)
    args.shards = ps
    loss, optimizer, feeds = LARGE[args.model](args)
    return optimizer.minimize(loss, colocate_gradients_with_ops=True), feeds


def main() -> None:
    """A task."""
    args = parse()
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, job, index = config["cluster"], config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
        return
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)):
        train, feeds = training_step(args, len(cluster["ps"]))
    scaffold = tf.train.Scaffold()
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold, server.target) if index == 0
                                   else tf.train.WorkerSessionCreator(scaffold, server.target)) as session:
        for _ in range(args.steps):
            session.run(train, feeds)


if __name__ == "__main__":
    main()
