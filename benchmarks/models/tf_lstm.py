"""One layer of LSTM cells in TensorFlow's operations, unrolled: for graphs and for imperative style."""
from __future__ import annotations

from models import architectures as sizes


def lstm_layer(tf, inputs, kernel, bias):
    """The outputs for a list of inputs, one for each step; the state begins with zeros."""
    state = output = tf.zeros([sizes.LSTM_BATCH, sizes.LSTM_UNITS])
    outputs = []
    for value in inputs:
        gates = tf.nn.bias_add(tf.matmul(tf.concat([value, output], 1), kernel), bias)
        enter, new, forget, leave = tf.split(gates, 4, 1)
        state = tf.sigmoid(forget + 1.0) * state + tf.sigmoid(enter) * tf.tanh(new)
        output = tf.sigmoid(leave) * tf.tanh(state)
        outputs.append(output)
    return outputs
