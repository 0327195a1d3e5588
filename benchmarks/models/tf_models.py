"""The other models in the TensorFlow 1 API: runs under Penstock and under TensorFlow, unchanged."""
from __future__ import annotations

import importlib

from models import architectures as sizes
from models import data, eager_models, keras_fits, tf_convnets, tf_layered, tf_seldom
from models.architectures import RATE, Step, is_fit
from models.tf_lstm import lstm_layer


def dense(tf, name, x, units):
    """x @ weights + bias."""
    weights = tf.get_variable(name + "_w", [int(x.shape[-1]), units], initializer=tf.random_uniform_initializer(-0.05, 0.05, seed=1))
    return tf.matmul(x, weights) + tf.get_variable(name + "_b", [units], initializer=tf.zeros_initializer())


def cross_entropy(tf, logits, labels):
    """The mean over all labels."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def trained(tf, fetches, feeds=None):
    """A Step with new variables."""
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    parameters = sum(variable.shape.num_elements() for variable in tf.trainable_variables())
    return Step(lambda: session.run(fetches, feeds), parameters, session.close)


def softmax(tf):
    """Softmax regression, fed."""
    digits, numbers = data.digits(10)
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int32, [None])
    loss = cross_entropy(tf, dense(tf, "out", x, 10), y)
    return trained(tf, [tf.train.AdagradOptimizer(RATE).minimize(loss), loss], {x: digits, y: numbers})


def mlp(tf):
    """Two hidden layers, fed."""
    digits, numbers = data.digits(128)
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int32, [None])
    hidden = x
    for index, units in enumerate(sizes.MLP[1:-1]):
        hidden = tf.nn.relu(dense(tf, "hidden%d" % index, hidden, units))
    loss = cross_entropy(tf, dense(tf, "out", hidden, sizes.MLP[-1]), y)
    return trained(tf, [tf.train.AdamOptimizer(RATE).minimize(loss), loss], {x: digits, y: numbers})


def language_model(tf):
    """(words, following words, logits) of unrolled LSTM cells."""
    units, uniform, shape = sizes.LSTM_UNITS, tf.random_uniform_initializer(-0.1, 0.1, seed=1), [sizes.LSTM_BATCH, sizes.LSTM_STEPS]
    x, y = tf.placeholder(tf.int32, shape), tf.placeholder(tf.int32, shape)
    inputs = tf.unstack(tf.nn.embedding_lookup(tf.get_variable("embedding", [sizes.LSTM_WORDS, units], initializer=uniform), x), axis=1)
    for layer in range(sizes.LSTM_LAYERS):
        kernel = tf.get_variable("kernel%d" % layer, [2 * units, 4 * units], initializer=uniform)
        bias = tf.get_variable("bias%d" % layer, [4 * units], initializer=tf.zeros_initializer())
        inputs = lstm_layer(tf, inputs, kernel, bias)
    return x, y, dense(tf, "out", tf.reshape(tf.stack(inputs, 1), [-1, units]), sizes.LSTM_WORDS)


def lstm(tf):
    """The language model; the norm of the gradient is clipped."""
    words, following = data.words(sizes.LSTM_BATCH, sizes.LSTM_STEPS, sizes.LSTM_WORDS)
    x, y, logits = language_model(tf)
    loss = cross_entropy(tf, logits, tf.reshape(y, [-1]))
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    update = tf.train.GradientDescentOptimizer(RATE).apply_gradients(zip(gradients, variables))
    return trained(tf, [update, loss], {x: words, y: following})


def layer_norm(tf, name, x):
    """Normalizes the last axis."""
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    scale = tf.get_variable(name + "_scale", [sizes.WIDTH], initializer=tf.ones_initializer())
    offset = tf.get_variable(name + "_offset", [sizes.WIDTH], initializer=tf.zeros_initializer())
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)


def attention(tf, name, x):
    """Masked self-attention over [sentences * LENGTH, WIDTH]."""
    heads, depth = sizes.HEADS, sizes.WIDTH // sizes.HEADS
    split = tf.reshape(dense(tf, name + "_qkv", x, 3 * sizes.WIDTH), [sizes.SENTENCES, sizes.LENGTH, 3, heads, depth])
    query, key, value = tf.unstack(tf.transpose(split, [2, 0, 3, 1, 4]))
    mask = tf.matrix_band_part(tf.ones([sizes.LENGTH, sizes.LENGTH]), -1, 0)
    scores = tf.matmul(query, key, transpose_b=True) * depth ** -0.5 + (mask - 1.0) * 1e9
    mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
    return dense(tf, name + "_out", tf.reshape(mixed, [-1, sizes.WIDTH]), sizes.WIDTH)


def transformer(tf):
    """A decoder-only language model."""
    words, following = data.words(sizes.SENTENCES, sizes.LENGTH, sizes.WORDS)
    x, y = tf.placeholder(tf.int32, words.shape), tf.placeholder(tf.int32, words.shape)
    uniform = tf.random_uniform_initializer(-0.05, 0.05, seed=1)
    table = tf.get_variable("embedding", [sizes.WORDS, sizes.WIDTH], initializer=uniform)
    places = tf.get_variable("places", [sizes.LENGTH, sizes.WIDTH], initializer=uniform)
    hidden = tf.reshape(tf.nn.embedding_lookup(table, x) + places, [-1, sizes.WIDTH])
    for block in range(sizes.BLOCKS):
        hidden = hidden + attention(tf, "attention%d" % block, layer_norm(tf, "before%d" % block, hidden))
        inner = tf.nn.relu(dense(tf, "wide%d" % block, layer_norm(tf, "between%d" % block, hidden), 4 * sizes.WIDTH))
        hidden = hidden + dense(tf, "narrow%d" % block, inner, sizes.WIDTH)
    loss = cross_entropy(tf, dense(tf, "out", layer_norm(tf, "last", hidden), sizes.WORDS), tf.reshape(y, [-1]))
    return trained(tf, [tf.train.AdamOptimizer(RATE).minimize(loss), loss], {x: words, y: following})


def elementwise(tf):
    """A chain over large arrays, with the gradients of all three."""
    a, b, c = (tf.get_variable("v%d" % seed, initializer=data.normal(sizes.CHAIN_ELEMENTS, seed=seed)) for seed in range(3))
    total = tf.reduce_sum(tf.tanh(a * b + c) * tf.sigmoid(a) - tf.exp(-b * b))
    return trained(tf, [total, *tf.gradients(total, [a, b, c])])


def dependent(tf):
    """Many small ops, each of which needs the one before it."""
    x = tf.placeholder(tf.float32, [16])
    y = x
    for index in range(sizes.CHAIN_OPS):
        y = tf.tanh(y) if index % 2 else y * 1.25
    return trained(tf, [y, tf.gradients(y, x)[0]], {x: data.normal(16)})


def embedding(tf):
    """A few rows of a large table get their gradients."""
    ids = tf.placeholder(tf.int32, [sizes.IDS])
    table = tf.get_variable("table", [sizes.ROWS, sizes.COLUMNS], initializer=tf.random_uniform_initializer(-0.05, 0.05, seed=1))
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids)))
    return trained(tf, [tf.train.GradientDescentOptimizer(RATE).minimize(loss), loss], {ids: data.ids()})


def null(tf):
    """Feed a scalar, add, fetch."""
    x = tf.placeholder(tf.float32, [])
    return trained(tf, tf.add(x, 1.0), {x: 2.0})


def null_large(tf):
    """The null step, with many operations in the graph that it does not need."""
    other = tf.placeholder(tf.float32, [])
    for _ in range(100_000):
        other = tf.negative(other)
    return null(tf)


def fetches(tf):
    """Many small results of one run."""
    x = tf.placeholder(tf.float32, [])
    return trained(tf, [tf.add(x, float(number)) for number in range(200)], {x: 2.0})


def feeds(tf):
    """Many small arrays that are fed."""
    inputs = [tf.placeholder(tf.float32, [4]) for _ in range(100)]
    return trained(tf, tf.add_n(inputs), {x: data.normal(4) for x in inputs})


def matmul(tf):
    """One large matrix product."""
    a, b = (tf.get_variable("m%d" % seed, initializer=data.normal(sizes.MATMUL, sizes.MATMUL, seed=seed)) for seed in range(2))
    return trained(tf, tf.matmul(a, b)[0, 0])  # a product that is not looked at need not be computed


def _loop(tf):
    x = tf.placeholder(tf.float32, [sizes.LOOP_SIZE, sizes.LOOP_SIZE])
    w = tf.get_variable("w", initializer=data.normal(sizes.LOOP_SIZE, sizes.LOOP_SIZE, seed=1) * 0.2)
    end = tf.while_loop(lambda i, v: i < sizes.LOOP_TURNS, lambda i, v: (i + 1, tf.tanh(tf.matmul(v, w))), (tf.constant(0), x))[1]
    return x, w, tf.reduce_sum(end)


def loop(tf):
    """A while loop of matrix products."""
    x, _, total = _loop(tf)
    return trained(tf, total, {x: data.normal(sizes.LOOP_SIZE, sizes.LOOP_SIZE)})


def loop_gradient(tf):
    """The same with its gradient."""
    x, w, total = _loop(tf)
    return trained(tf, [total, tf.gradients(total, w)[0]], {x: data.normal(sizes.LOOP_SIZE, sizes.LOOP_SIZE)})


class Cell:
    """An LSTM cell, for ``tf.nn.dynamic_rnn``: TensorFlow's own are not in its newest versions."""

    def __init__(self, tf, units):
        self.tf, self.output_size, self.state_size = tf, units, (units, units)
        self.kernel = tf.get_variable("kernel", [2 * units, 4 * units], initializer=tf.random_uniform_initializer(-0.1, 0.1, seed=1))
        self.bias = tf.get_variable("bias", [4 * units], initializer=tf.zeros_initializer())

    def zero_state(self, batch, dtype):
        """The state before the first step."""
        return tuple(self.tf.zeros([batch, units], dtype) for units in self.state_size)

    def __call__(self, x, state, scope=None):
        """The output and the state after a step."""
        tf, (memory, output) = self.tf, state
        enter, new, forget, leave = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([x, output], 1), self.kernel), self.bias), 4, 1)
        memory = tf.sigmoid(forget + 1.0) * memory + tf.sigmoid(enter) * tf.tanh(new)
        output = tf.sigmoid(leave) * tf.tanh(memory)
        return output, (memory, output)


def dynamic_rnn(tf):
    """A recurrent network as a loop over arrays of tensors, trained on its last output."""
    x = tf.placeholder(tf.float32, [sizes.RNN_BATCH, sizes.RNN_STEPS, sizes.RNN_UNITS])
    y = tf.placeholder(tf.float32, [sizes.RNN_BATCH, sizes.RNN_UNITS])
    outputs, _ = tf.nn.dynamic_rnn(Cell(tf, sizes.RNN_UNITS), x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs[:, -1] - y))
    feeds = {tensor: data.normal(*tensor.shape.as_list(), seed=seed) for seed, tensor in enumerate((x, y))}
    return trained(tf, [tf.train.GradientDescentOptimizer(RATE).minimize(loss), loss], feeds)


def queue(tf):
    """Two runner threads fill a queue; a step takes a batch and multiplies it."""
    batch, size = sizes.QUEUE_BATCH, sizes.QUEUE_SIZE
    values = tf.FIFOQueue(sizes.QUEUE_CAPACITY, [tf.float32], [[batch, size]])
    enqueue = values.enqueue([tf.random_uniform([batch, size])])
    tf.train.add_queue_runner(tf.train.QueueRunner(values, [enqueue] * 2))
    w = tf.get_variable("w", initializer=data.normal(size, size))
    step = trained(tf, tf.reduce_sum(tf.matmul(values.dequeue(), w)))
    session = step.close.__self__
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)

    def close():
        coordinator.request_stop()
        session.run(values.close(cancel_pending_enqueues=True))
        coordinator.join(threads, stop_grace_period_secs=5)
        session.close()
    return Step(step.run, step.parameters, close)


MODELS = {function.__name__: function for function in (
    softmax, mlp, lstm, transformer, elementwise, dependent, embedding, null, null_large, fetches, feeds, matmul, loop, loop_gradient, dynamic_rnn,
    queue)}


def load(framework):
    """The framework's TensorFlow 1 interface, in graph mode."""
    tf = importlib.import_module(framework)
    if framework == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_v2_behavior()
    return tf


def make(case, framework):
    """The step of a case under ``penstock`` or ``tensorflow``."""
    if is_fit(case):
        return keras_fits.make(case, framework)
    if case.startswith("eager_"):
        return eager_models.make(case, framework)
    tf = load(framework)
    style = next((style for style in tf_layered.STYLES if style in case.split("_")), None)
    if style is not None:
        return trained(tf, *tf_layered.model(tf, case, style))
    if case in tf_seldom.MODELS:
        loss = tf_seldom.loss(tf, case)
        return trained(tf, [tf.train.AdamOptimizer(RATE).minimize(loss), loss])
    return MODELS[case](tf) if case in MODELS else tf_convnets.make(tf, case)
