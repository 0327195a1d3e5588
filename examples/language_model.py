"""The language model of the OSDI paper (sections 4.2 and 6.4): an LSTM whose embedding and softmax are sharded over parameter servers.

    python examples/language_model.py                                                       # in this process: LSTM-512-512, 40,000 words
    penstock launch --ps 2 --workers 2 examples/language_model.py --steps 200               # as tasks of a cluster
    penstock simulate --ps 4 --workers 32 examples/language_model.py --sampled 0            # what more machines would bring

Embedding and softmax are partitioned variables, with a shard on each parameter server. Rows are gathered where their shard is, and the full softmax
multiplies there: words, rows and activations travel, whole weights do not. With --sampled 512 a step uses the rows of the right words and of 512
others; with --sampled 0 it uses all. The perplexity is that of the full softmax, on text that was held out.

alice.txt is Lewis Carroll's "Alice's Adventures in Wonderland" of 1865, chapters I to IV, which is in the public domain.
"""
import argparse
import collections
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

import penstock as tf

TEXT = Path(__file__).with_name("alice.txt")
UNKNOWN = 0  # the number of all words that the vocabulary does not have


class Sizes(NamedTuple):
    """Of the model and of a step; ``sampled`` classes of the softmax are used in training, all of them if it is 0."""

    vocabulary: int = 40_000
    units: int = 512
    projection: int = 512
    unroll: int = 20
    batch: int = 16
    sampled: int = 512


class Model:
    """The graph. ``words`` takes sequences that are one word longer than the LSTM is unrolled: each word is to be told from those before it."""

    def __init__(self, sizes, shards):
        self.sizes = sizes
        sharded, small = tf.fixed_size_partitioner(shards), tf.random_uniform_initializer(-0.1, 0.1)
        self.words = tf.placeholder(tf.int32, [sizes.batch, sizes.unroll + 1])
        self.embedding = tf.get_variable("embedding", [sizes.vocabulary, sizes.projection], partitioner=sharded, initializer=small)
        self.weights = tf.get_variable("softmax", [sizes.vocabulary, sizes.projection], partitioner=sharded, initializer=small)
        self.bias = tf.get_variable("bias", [sizes.vocabulary], partitioner=sharded, initializer=tf.zeros_initializer())
        inputs = tf.unstack(tf.nn.embedding_lookup(self.embedding, self.words[:, :-1], "div"), axis=1)
        states, _ = tf.nn.static_rnn(tf.nn.rnn_cell.LSTMCell(sizes.units, num_proj=sizes.projection), inputs, dtype=tf.float32)
        self.states = tf.reshape(tf.stack(states, 1), [-1, sizes.projection])
        self.targets = tf.reshape(self.words[:, 1:], [-1])
        self.full_loss = tf.reduce_mean(self._full_softmax())
        self.training_loss = tf.reduce_mean(self._sampled_softmax()) if sizes.sampled else self.full_loss

    def _full_softmax(self):
        """Each shard multiplies on its own parameter server; the worker gets logits and sends their gradients."""
        logits = []
        for shard, offsets in zip(self.weights, self.bias):
            with tf.colocate_with(shard.op):
                logits.append(tf.matmul(self.states, shard, transpose_b=True) + offsets)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.targets, logits=tf.concat(logits, 1))

    def _sampled_softmax(self):
        return tf.nn.sampled_softmax_loss(self.weights, self.bias, self.targets[:, None], self.states, self.sizes.sampled, self.sizes.vocabulary,
                                          partition_strategy="div")

    def training(self, rate=0.2, norm=5.0):
        """The operation that is a step, and the number of steps. Gradients are computed where their operations are: those of a shard on its task."""
        optimizer, step = tf.train.AdagradOptimizer(rate), tf.train.get_or_create_global_step()
        gradients, variables = zip(*optimizer.compute_gradients(self.training_loss, colocate_gradients_with_ops=True))
        return optimizer.apply_gradients(zip(tf.clip_by_global_norm(gradients, norm)[0], variables), step), step


class Text:
    """Words as numbers, the most frequent ones first; a tenth of them is held out."""

    def __init__(self, path, vocabulary, seed=0):
        words = re.findall(r"[a-z]+(?:'[a-z]+)?|[.,;:!?]", Path(path).read_text(encoding="utf-8").lower())
        known = [word for word, _ in collections.Counter(words).most_common(vocabulary - 1)]
        numbers = {word: number for number, word in enumerate(known, UNKNOWN + 1)}
        ids = np.array([numbers.get(word, UNKNOWN) for word in words], np.int32)
        self.training, self.held_out = np.split(ids, [len(ids) * 9 // 10])
        self._random = np.random.RandomState(seed)

    def batch(self, sizes):
        """Sequences from anywhere in the text."""
        starts = self._random.randint(len(self.training) - sizes.unroll, size=sizes.batch)
        return self.training[starts[:, None] + np.arange(sizes.unroll + 1)]

    def unseen(self, sizes):
        """Batches of the text that was held out, one after the other."""
        count = len(self.held_out) // (sizes.unroll + 1) // sizes.batch
        return self.held_out[:count * sizes.batch * (sizes.unroll + 1)].reshape(count, sizes.batch, sizes.unroll + 1)


def perplexity(session, model, text):
    """How many words the model hesitates between, on text that it has not seen."""
    return float(np.exp(np.mean([session.run(model.full_loss, {model.words: words}) for words in text.unseen(model.sizes)])))


def train(session, model, operation, step, text, steps):
    """Trains until that many steps have been made, by all workers together; tells the perplexity before, at each quarter of the way, and after."""
    perplexities, done = [perplexity(session, model, text)], 0
    for quarter in range(1, 5):
        while done < steps * quarter // 4:
            done = 1 + session.run([step, operation], {model.words: text.batch(model.sizes)})[0]
        perplexities.append(perplexity(session, model, text))
        print(f"perplexity {perplexities[0]:,.1f} before, {perplexities[-1]:,.1f} after {done} steps", flush=True)
    return perplexities


def main(steps=100, shards=2, text=TEXT, **sizes):
    """Trains in this process."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        model = Model(Sizes(**sizes), shards)
        operation, step = model.training()
        session.run(tf.global_variables_initializer())
        return train(session, model, operation, step, Text(text, model.sizes.vocabulary), steps)


def task(config, steps, text, **sizes):
    """Trains, or serves, as a task of a cluster: the shards are spread over its parameter servers."""
    cluster, job, index = config["cluster"], config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
        return
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)):
        model = Model(Sizes(**sizes), len(cluster["ps"]))
        operation, step = model.training()
    with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0, save_summaries_steps=None, log_step_count_steps=None) as session:
        train(session, model, operation, step, Text(text, model.sizes.vocabulary, seed=index), steps)


def parse():
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--text", default=TEXT)
    for name, size in Sizes()._asdict().items():
        parser.add_argument(f"--{name}", type=int, default=size)
    return vars(parser.parse_args())


if __name__ == "__main__":
    if "TF_CONFIG" in os.environ:
        task(json.loads(os.environ["TF_CONFIG"]), **parse())
    else:
        main(**parse())
