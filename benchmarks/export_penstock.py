"""The models of ``export_models.py`` as graphs of Penstock: what ``benchmarks/export.py`` exports."""
from __future__ import annotations

import export_models

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
    """r = s(Wr [x, h]), z = s(Wz [x, h]), n = tanh(Wn [x, r h]), h = z h + (1 - z) n: what TensorFlow's GRUCell does."""
    steps = x.shape[1].value
    w = {name: tf.constant(layer[name]) for name in "rzn"}

    inputs = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(x, [1, 0, 2]))

    def step(time, h, outputs):
        now = inputs.read(time)
        both = tf.concat([now, h], 1)
        r = tf.sigmoid(tf.matmul(both, w["r"]) + layer["br"])
        z = tf.sigmoid(tf.matmul(both, w["z"]) + layer["bz"])
        n = tf.tanh(tf.matmul(tf.concat([now, r * h], 1), w["n"]) + layer["bn"])
        h = z * h + (1 - z) * n
        return time + 1, h, outputs.write(time, h)

    first = (0, tf.zeros([1, layer["units"]]), tf.TensorArray(tf.float32, steps))
    _, _, outputs = tf.while_loop(lambda time, *_: time < steps, step, first)
    return tf.transpose(outputs.stack(), [1, 0, 2])
