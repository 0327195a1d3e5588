"""Models of kinds that benchmarks leave out, in the TensorFlow 1 API: runs under Penstock and under TensorFlow, unchanged.

Each is a small loss; ``tf_models.py`` trains it with Adam. What is slow in one of these is slow for somebody.
"""
from __future__ import annotations

import numpy as np

from models import data

_random = np.random.RandomState(0)


class Parameters:
    """New variables."""

    def __init__(self, tf):
        self.tf, self.count = tf, 0

    def __call__(self, *shape):
        """A variable of this shape."""
        self.count += 1
        return self.tf.get_variable(f"p{self.count}", shape, initializer=self.tf.random_normal_initializer(stddev=0.05, seed=self.count))

    def conv(self, x, size, filters, stride=1):
        """A convolution and a bias."""
        kernel = self(size, size, int(x.shape[-1]), filters)
        return self.tf.nn.conv2d(x, kernel, [1, stride, stride, 1], "SAME") + self(filters)


def _cross_entropy(tf, logits, classes):
    labels = tf.constant(_random.randint(0, classes, [int(extent) for extent in logits.shape[:-1]]))
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def volumes(tf, p):
    """A network for videos, or scans of bodies: convolutions and pooling over three axes."""
    x = tf.constant(data.normal(2, 16, 32, 32, 3))
    for filters in (16, 32, 64):
        x = tf.nn.relu(tf.nn.conv3d(x, p(3, 3, 3, int(x.shape[-1]), filters), [1] * 5, "SAME"))
        x = tf.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME")
    return tf.reduce_mean(tf.square(x))


def mobile(tf, p):
    """Depthwise convolutions, with batch normalization."""
    def norm(x):
        mean, variance = tf.nn.moments(x, [0, 1, 2])
        return tf.nn.relu6(tf.nn.batch_normalization(x, mean, variance, p(int(x.shape[-1])), p(int(x.shape[-1])), 1e-3))

    x = norm(p.conv(tf.constant(data.normal(4, 128, 128, 3)), 3, 16, 2))
    for filters, stride in ((32, 1), (64, 2), (128, 2), (256, 2)):
        x = norm(tf.nn.depthwise_conv2d(x, p(3, 3, int(x.shape[-1]), 1), [1, stride, stride, 1], "SAME"))
        x = norm(p.conv(x, 1, filters))
    return _cross_entropy(tf, tf.matmul(tf.reduce_mean(x, [1, 2]), p(256, 100)), 100)


def segmentation(tf, p):
    """A U-Net: a class for each pixel, by convolutions down and transposed ones up."""
    x, skipped = tf.constant(data.normal(2, 96, 96, 3)), []
    for filters in (16, 32, 64):
        skipped.append(tf.nn.relu(p.conv(tf.nn.relu(p.conv(x, 3, filters)), 3, filters)))
        x = tf.nn.max_pool(skipped[-1], [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    for filters in (64, 32, 16):
        skip = skipped.pop()
        x = tf.nn.conv2d_transpose(x, p(2, 2, filters, int(x.shape[-1])), skip.shape.as_list(), [1, 2, 2, 1])
        x = tf.nn.relu(p.conv(tf.concat([x, skip], 3), 3, filters))
    return _cross_entropy(tf, p.conv(x, 1, 3), 3)


def speech(tf, p):
    """Connectionist temporal classification: 400 steps, 60 labels each."""
    steps, batch, classes, labels = 400, 16, 40, 60
    logits = tf.matmul(tf.constant(data.normal(steps * batch, 64)), p(64, classes))
    places = np.array([[example, place] for example in range(batch) for place in range(labels)], np.int64)
    wanted = tf.SparseTensor(places, _random.randint(0, classes - 1, len(places)).astype(np.int32), [batch, labels])
    return tf.reduce_mean(tf.nn.ctc_loss(wanted, tf.reshape(logits, [steps, batch, classes]), tf.constant([steps] * batch)))


def gaussian_process(tf, p):
    """The evidence of 200 points, in double precision: a Cholesky factor and its gradient."""
    points, values = _random.rand(200, 3), tf.constant(_random.rand(200, 1))
    distances = tf.constant(np.square(points[:, None] - points).sum(-1))
    kernel = tf.exp(-distances * tf.exp(tf.cast(p(), tf.float64))) + 0.1 * tf.eye(200, dtype=tf.float64)
    factor = tf.cholesky(kernel)
    solved = tf.matrix_triangular_solve(factor, values)
    return tf.reduce_sum(tf.square(solved)) + 2 * tf.reduce_sum(tf.log(tf.diag_part(factor)))


def graph_network(tf, p):
    """Messages along 40,000 edges: gathers, and reductions over segments."""
    nodes, edges = 4000, 40_000
    sources, targets = tf.constant(_random.randint(0, nodes, edges)), tf.constant(np.sort(_random.randint(0, nodes, edges)))
    hidden = tf.constant(data.normal(nodes, 32))
    for _ in range(2):
        messages = tf.unsorted_segment_sum(tf.gather(hidden, sources), targets, nodes)
        hidden = tf.nn.relu(tf.matmul(tf.concat([hidden, messages], 1), p(64, 32)))
    return tf.reduce_mean(tf.square(tf.segment_max(tf.gather(hidden, sources), targets)))


def maxout(tf, p):
    """The largest of each four units: reductions of short rows."""
    x = tf.constant(data.normal(512, 256))
    for _ in range(3):
        x = tf.reduce_max(tf.reshape(tf.matmul(x, p(256, 1024)), [512, 256, 4]), 2)
    return tf.reduce_mean(tf.square(x))


def noise_contrast(tf, p):
    """Word vectors by noise-contrastive estimation: sparse gradients of large tables."""
    words, size, batch = 50_000, 128, 128
    hidden = tf.nn.embedding_lookup(p(words, size), tf.constant(_random.randint(0, words, batch)))
    labels = tf.constant(_random.randint(0, words, (batch, 1)), tf.int64)
    return tf.reduce_mean(tf.nn.nce_loss(p(words, size), p(words), labels, hidden, 64, words))


def experts(tf, p):
    """A mixture of experts: each row goes to one of them, so how many each gets is known in the step only."""
    batch, width, number = 1024, 64, 4
    x = tf.constant(data.normal(batch, width))
    gates = tf.nn.softmax(tf.matmul(x, p(width, number)))
    chosen = tf.cast(tf.argmax(gates, 1), tf.int32)
    parts, places = (tf.dynamic_partition(each, chosen, number) for each in (x, tf.range(batch)))
    hidden = tf.dynamic_stitch(places, [tf.nn.relu(tf.matmul(part, p(width, 128))) for part in parts])
    return _cross_entropy(tf, tf.matmul(hidden * tf.expand_dims(tf.reduce_max(gates, 1), 1), p(128, 10)), 10)


def critic(tf, p):
    """A Wasserstein GAN whose critic's gradient is kept near 1: gradients of gradients."""
    batch, real = 64, tf.constant(data.normal(64, 784))
    weights = p(784, 256), p(256, 256), p(256, 1)

    def judge(x):
        for matrix in weights[:-1]:
            x = tf.nn.leaky_relu(tf.matmul(x, matrix))
        return tf.matmul(x, weights[-1])

    made = tf.tanh(tf.matmul(tf.nn.relu(tf.matmul(tf.random_normal([batch, 64], seed=1), p(64, 256))), p(256, 784)))
    share = tf.random_uniform([batch, 1], seed=2)
    mixed = share * real + (1.0 - share) * made
    lengths = tf.sqrt(tf.reduce_sum(tf.square(tf.gradients(judge(mixed), mixed)[0]), 1) + 1e-8)
    return tf.reduce_mean(judge(made)) - tf.reduce_mean(judge(real)) + 10.0 * tf.reduce_mean(tf.square(lengths - 1.0))


def segments(tf, p):
    """Means and maxima of sorted segments, whose number is known in the step only."""
    rows, width = 20_000, 64
    ids = tf.placeholder_with_default(np.sort(_random.randint(0, 1000, rows)).astype(np.int32), [rows])
    hidden = tf.nn.relu(tf.matmul(tf.constant(data.normal(rows, width)), p(width, width)))
    pooled = tf.concat([tf.segment_mean(hidden, ids), tf.segment_max(hidden, ids)], 1)
    return tf.reduce_mean(tf.square(tf.matmul(pooled, p(2 * width, 10))))


MODELS = {function.__name__: function for function in (
    volumes, mobile, segmentation, speech, gaussian_process, graph_network, maxout, noise_contrast, experts, critic, segments)}


def loss(tf, case):
    """The loss of a case."""
    return MODELS[case](tf, Parameters(tf))
