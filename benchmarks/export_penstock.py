"""The models of ``export_models.py`` as graphs of Penstock: what ``benchmarks/export.py`` exports."""
from __future__ import annotations

import export_models
import numpy as np

import penstock as tf


def graph(name):
    """Adds a model to the default graph; its input and output."""
    shape, layers = export_models.build(name)
    x = tf.placeholder(tf.float32, shape, name="x")
    results = []
    for layer in layers:
        source = results[layer["from"]] if "from" in layer else results[-1] if results else x
        results.append(_layer(layer, source, results))
    return x, results[-1]


def _layer(layer, x, results):
    op = layer["op"]
    if op == "mean":
        return tf.reduce_mean(x, [1, 2])
    if op == "max_pool":
        return tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    if op == "gru":
        return _gru(layer, x)
    if op == "add":
        return tf.nn.relu(x + results[layer["with"]])
    if op == "dense":
        y = tf.matmul(x, layer["w"]) + layer["b"]
    else:
        convolution = tf.nn.depthwise_conv2d if op == "depthwise" else tf.nn.conv2d
        y = tf.nn.bias_add(convolution(x, tf.constant(layer["w"]), strides=[1, layer["stride"], layer["stride"], 1], padding="SAME"), layer["b"])
    return {"relu": tf.nn.relu, "relu6": tf.nn.relu6, "softmax": tf.nn.softmax, "": tf.identity}[layer["act"]](y)


def _gru(layer, x):
    """r = s(Wr [x, h]), z = s(Wz [x, h]), n = tanh(Wn [x, r h]), h = z h + (1 - z) n: what TensorFlow's GRUCell does.

    What the inputs contribute does not depend on the state, so it is one product before the loop, as in ONNX Runtime's op.
    """
    (_, steps, features), units = x.shape.as_list(), layer["units"]
    matrix, bias = np.concatenate([layer[name] for name in "rzn"], 1), np.concatenate([layer[f"b{name}"] for name in "rzn"])
    given = tf.matmul(tf.reshape(x, [steps, features]), matrix[:features]) + bias
    inputs = tf.TensorArray(tf.float32, steps).unstack(tf.reshape(given, [steps, 1, 3 * units]))
    gates, candidate = tf.constant(matrix[features:, :2 * units]), tf.constant(matrix[features:, 2 * units:])

    def step(time, h, outputs):
        now = inputs.read(time)
        r, z = tf.split(tf.sigmoid(tf.matmul(h, gates) + now[:, :2 * units]), 2, 1)
        n = tf.tanh(tf.matmul(r * h, candidate) + now[:, 2 * units:])
        h = z * h + (1 - z) * n
        return time + 1, h, outputs.write(time, h)

    first = (0, tf.zeros([1, units]), tf.TensorArray(tf.float32, steps))
    _, _, outputs = tf.while_loop(lambda time, *_: time < steps, step, first)
    return tf.transpose(outputs.stack(), [1, 0, 2])
