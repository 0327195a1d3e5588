"""One epoch as people write it with a session: samples in random order, fed batch by batch; loss and accuracy are fetched."""
from __future__ import annotations

import numpy as np

from models import architectures as sizes
from models import data, keras_fits, tf_convnets, tf_models
from models.architectures import NETS, RATE, Step


def _perceptron(tf, widths):
    x, y = tf.placeholder(tf.float32, [None, widths[0]]), tf.placeholder(tf.int32, [None])
    hidden = x
    for index, units in enumerate(widths[1:-1]):
        hidden = tf.nn.relu(tf_models.dense(tf, "hidden%d" % index, hidden, units))
    return x, y, tf_models.dense(tf, "out", hidden, widths[-1])


def mlp(tf):
    """(inputs, labels, logits, optimizer)."""
    return (*_perceptron(tf, sizes.MLP), tf.train.AdamOptimizer(RATE))


def small(tf):
    """(inputs, labels, logits, optimizer)."""
    return (*_perceptron(tf, sizes.SMALL_MLP), tf.train.GradientDescentOptimizer(RATE))


def lstm(tf):
    """(inputs, labels, logits, optimizer)."""
    x, y, logits = tf_models.language_model(tf)
    return x, y, tf.reshape(logits, [sizes.LSTM_BATCH, sizes.LSTM_STEPS, -1]), tf.train.GradientDescentOptimizer(RATE)


def resnet(tf):
    """(inputs, labels, logits, optimizer)."""
    net = NETS["resnet"]
    x, y = tf.placeholder(tf.float32, [None, net.size, net.size, 3]), tf.placeholder(tf.int32, [None])
    return x, y, tf_convnets.Builder(tf).stack(net.layers, x), tf.train.GradientDescentOptimizer(RATE)


def of_keras_layers(tf, name):
    """(inputs, labels, logits, optimizer): the network of ``model.fit`` itself, a loop for an LSTM among it."""
    model, _ = getattr(keras_fits, name)(tf.keras)
    labels = tf.placeholder(tf.int32, [None] * (len(model.outputs[0].shape) - 1))
    return model.inputs[0], labels, model.outputs[0], tf.train.AdamOptimizer(RATE) if name == "mlp" else tf.train.GradientDescentOptimizer(RATE)


def make(case, framework, keras_layers=False):
    """One epoch of ``mlp_fit`` and its kin; ``keras_layers``: through the layers that ``model.fit`` trains, instead of operations by hand."""
    tf = tf_models.load(framework)
    name, (batch, batches) = sizes.fit_of(case)
    x, y, logits, optimizer = of_keras_layers(tf, name) if keras_layers else globals()[name](tf)
    loss = tf_models.cross_entropy(tf, logits, y)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, -1, output_type=tf.int32), y), tf.float32))
    fetches = [optimizer.minimize(loss), loss, accuracy]
    step = tf_models.trained(tf, fetches)
    session = step.close.__self__
    samples, labels = data.epoch(name)

    def run():
        order, losses, hits = np.random.permutation(len(samples)), [], []
        for start in range(0, len(samples), batch):
            rows = order[start:start + batch]
            _, value, share = session.run(fetches, {x: samples[rows], y: labels[rows]})
            losses.append(value)
            hits.append(share)
        return np.mean(losses), np.mean(hits)
    return Step(run, step.parameters, session.close, batches)
