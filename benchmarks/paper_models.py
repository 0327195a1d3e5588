"""The models of the OSDI paper's cluster experiments, as programs for the tasks of a cluster (TF_CONFIG): `penstock launch`, `penstock simulate`.

Usage: python paper_models.py MODEL [--batch N] ...     MODEL: null, dense, sparse, inception, language
"""
from __future__ import annotations

import argparse
import json
import os

import numpy as np

import penstock as tf

SIZE = 299  # of Inception's images
ROWS, WIDTH = 32, 64  # of an embedding: what a step uses, and how long rows are


def parse() -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--bytes", type=int, default=100_000_000, help="of a dense model")
    parser.add_argument("--rows", type=int, default=1 << 20, help="of a sparse model")
    parser.add_argument("--units", type=int, default=512, help="of the language model's LSTM, and of its projection")
    parser.add_argument("--vocabulary", type=int, default=40_000)
    parser.add_argument("--unroll", type=int, default=20)
    parser.add_argument("--sampled", type=int, default=0, help="classes of a sampled softmax; 0: the full one")
    parser.add_argument("--steps", type=int, default=1000)
    return parser.parse_args()


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


def inception(args, ps):
    """Inception-v3 on images of noise."""
    images = tf.placeholder(tf.float32, [args.batch, SIZE, SIZE, 3])
    labels = tf.placeholder(tf.int32, [args.batch])
    nets = tf.contrib.slim.nets.inception
    with tf.contrib.slim.arg_scope(nets.inception_v3_arg_scope()):
        logits, ends = nets.inception_v3(images, 1001)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits) + 0.4 * tf.losses.sparse_softmax_cross_entropy(labels, ends["AuxLogits"])
    train = tf.train.RMSPropOptimizer(0.045, 0.9, 0.9, 1.0).minimize(loss)
    return train, {images: np.zeros([args.batch, SIZE, SIZE, 3], np.float32), labels: np.zeros([args.batch], np.int32)}


def language(args, ps):
    """An LSTM with a projection, its embedding and softmax spread over the parameter servers: section 4.2 of the paper."""
    words = tf.placeholder(tf.int32, [args.batch, args.unroll + 1])
    sharded = tf.fixed_size_partitioner(ps)
    embedding = tf.get_variable("embedding", [args.vocabulary, args.units], partitioner=sharded)
    weights = tf.get_variable("softmax", [args.vocabulary, args.units], partitioner=sharded)
    bias = tf.get_variable("bias", [args.vocabulary], partitioner=sharded)
    cell = tf.nn.rnn_cell.LSTMCell(args.units, num_proj=args.units)
    inputs = tf.unstack(tf.nn.embedding_lookup(embedding, words[:, :-1], "div"), axis=1)
    states, _ = tf.nn.static_rnn(cell, inputs, dtype=tf.float32)
    states, targets = tf.reshape(tf.stack(states, 1), [-1, args.units]), tf.reshape(words[:, 1:], [-1])
    if args.sampled:
        loss = tf.nn.sampled_softmax_loss(weights, bias, targets[:, None], states, args.sampled, args.vocabulary, partition_strategy="div")
    else:
        logits = []  # each shard multiplies on its own ps
        for shard, offsets in zip(weights, bias):
            with tf.device(shard.device):
                logits.append(tf.matmul(states, shard, transpose_b=True) + offsets)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=tf.concat(logits, 1))
    train = tf.train.AdagradOptimizer(0.2).minimize(tf.reduce_mean(loss))
    return train, {words: np.random.RandomState(0).randint(0, args.vocabulary, [args.batch, args.unroll + 1])}


MODELS = {"null": dense, "dense": dense, "sparse": sparse, "inception": inception, "language": language}


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
        train, feeds = MODELS[args.model](args, len(cluster["ps"]))
    scaffold = tf.train.Scaffold()
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold, server.target) if index == 0
                                   else tf.train.WorkerSessionCreator(scaffold, server.target)) as session:
        for _ in range(args.steps):
            session.run(train, feeds)


if __name__ == "__main__":
    main()
