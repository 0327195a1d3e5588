"""`penstock cache --warm`: makes the kernels that common models need, before a program asks for them.

A kernel knows structure, not shapes, so one step of a small model makes what larger ones with the same layers, loss and optimizer need. Only the
micro-kernels of products are of a size each: all are made. Of a model with other chains of operations some kernels are still new; they are compiled
when it runs.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import penstock as tf
from penstock.native.contract.microkernel import every_micro_code
from penstock.native.contract.tile import tile_for

_BATCH, _CLASSES, _WIDTH = 64, 10, 128
Feeds = dict[Any, np.ndarray]


def _labels() -> tuple[Any, Feeds]:
    y = tf.placeholder(tf.int32, [None])
    return y, {y: np.zeros(_BATCH, np.int32)}


def _cross_entropy(logits: Any) -> tuple[Any, Feeds]:
    """The loss of a classifier, and its labels."""
    y, feeds = _labels()
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)), feeds


def _images() -> tuple[Any, Feeds]:
    x = tf.placeholder(tf.float32, [None, 28, 28, 3])
    return x, {x: np.zeros((_BATCH, 28, 28, 3), np.float32)}


def _dense() -> tuple[Any, Feeds]:
    """Products and sums, as tutorials write them."""
    x = tf.placeholder(tf.float32, [None, 784])
    hidden = x
    for index, units in enumerate((_WIDTH, _WIDTH, _CLASSES)):
        weights = tf.get_variable(f"w{index}", [hidden.shape[-1], units])
        hidden = tf.matmul(hidden, weights) + tf.get_variable(f"b{index}", [units])
        hidden = hidden if units == _CLASSES else tf.nn.relu(hidden)
    loss, feeds = _cross_entropy(hidden)
    return loss, {x: np.zeros((_BATCH, 784), np.float32), **feeds}


def _layers(activation: Callable[[Any], Any]) -> tuple[Any, Feeds]:
    """Layers of ``tf.layers``, with dropout."""
    x = tf.placeholder(tf.float32, [None, 784])
    hidden = tf.layers.dropout(tf.layers.dense(x, _WIDTH, activation), 0.5, training=True)
    loss, feeds = _cross_entropy(tf.layers.dense(tf.layers.dense(hidden, _WIDTH, activation), _CLASSES))
    return loss, {x: np.zeros((_BATCH, 784), np.float32), **feeds}


def _convolutions(norm: bool) -> tuple[Any, Feeds]:
    """Convolutions with pooling; with ``norm``, batch normalisation and a shortcut."""
    x, feeds = _images()
    hidden = tf.layers.conv2d(x, 32, 5, padding="same", activation=None if norm else tf.nn.relu)
    if norm:
        hidden = tf.nn.relu(tf.layers.batch_normalization(hidden, training=True))
        inner = tf.layers.batch_normalization(tf.layers.conv2d(hidden, 32, 3, padding="same", use_bias=False), training=True)
        hidden = tf.reduce_mean(tf.nn.relu(hidden + inner), [1, 2])
    else:
        hidden = tf.layers.max_pooling2d(hidden, 2, 2)
        hidden = tf.layers.max_pooling2d(tf.layers.conv2d(hidden, 64, 3, padding="same", activation=tf.nn.relu), 2, 2)
        hidden = tf.layers.dense(tf.layers.flatten(hidden), _WIDTH, tf.nn.relu)
    loss, labels = _cross_entropy(tf.layers.dense(hidden, _CLASSES))
    return loss, {**feeds, **labels}


def _recurrent() -> tuple[Any, Feeds]:
    """A language model: an embedding, and an LSTM as a loop."""
    words = tf.placeholder(tf.int32, [_BATCH, 10])
    table = tf.get_variable("embedding", [1000, _WIDTH])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(_WIDTH), tf.nn.embedding_lookup(table, words), dtype=tf.float32)
    logits = tf.layers.dense(outputs, 1000)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=words, logits=logits))
    return loss, {words: np.zeros((_BATCH, 10), np.int32)}


def _attention() -> tuple[Any, Feeds]:
    """A block of a Transformer."""
    x = tf.placeholder(tf.float32, [8, 32, _WIDTH])
    query, key, value = (tf.layers.dense(x, _WIDTH, use_bias=False) for _ in range(3))
    mixed = tf.matmul(tf.nn.softmax(tf.matmul(query, key, transpose_b=True) * _WIDTH ** -0.5), value)
    mean, variance = tf.nn.moments(x + mixed, [-1], keep_dims=True)
    scale, offset = tf.get_variable("scale", [_WIDTH]), tf.get_variable("offset", [_WIDTH])
    normal = tf.nn.batch_normalization(x + mixed, mean, variance, offset, scale, 1e-5)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.layers.dense(normal, 4 * _WIDTH, tf.nn.relu), _WIDTH) - x))
    return loss, {x: np.zeros((8, 32, _WIDTH), np.float32)}


_MODELS: dict[str, Callable[[], tuple[Any, Feeds]]] = {
    "dense layers": _dense, "relu, dropout": lambda: _layers(tf.nn.relu), "tanh": lambda: _layers(tf.tanh), "sigmoid": lambda: _layers(tf.sigmoid),
    "convolutions": lambda: _convolutions(False), "batch normalisation": lambda: _convolutions(True), "LSTM": _recurrent, "attention": _attention}
_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.01), "Momentum": lambda: tf.train.MomentumOptimizer(0.01, 0.9),
    "Adam": lambda: tf.train.AdamOptimizer(0.01), "Adagrad": lambda: tf.train.AdagradOptimizer(0.01),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.01)}


def warm() -> Iterator[str]:
    """Runs a step of each model with each optimizer, and names them as it goes; every kernel that they need is in the cache then."""
    before = tf.config.get_compiler()
    tf.config.set_compiler("eager")
    try:
        for code in every_micro_code(tile_for(4)):  # those of a model depend on its sizes
            code.compile()
        yield "products of all sizes"
        for model, build in _MODELS.items():
            for optimizer, make in _OPTIMIZERS.items():
                with tf.Graph().as_default(), tf.Session() as session:
                    loss, feeds = build()
                    train = make().minimize(loss)
                    session.run(tf.global_variables_initializer())
                    session.run([train, loss], feeds)
                    session.run(loss, feeds)
                yield f"{model}, {optimizer}"
    finally:
        tf.config.set_compiler(before)
