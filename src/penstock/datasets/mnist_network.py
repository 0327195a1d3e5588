"""``tensorflow.examples.tutorials.mnist.mnist``: the network of the first tutorial, two hidden layers and a softmax."""
from __future__ import annotations

import math
from typing import Any

from penstock.graph.dtypes import int32
from penstock.graph.scopes import name_scope
from penstock.layers.losses import sparse_softmax_cross_entropy
from penstock.ops.array.cast import cast, to_int64
from penstock.ops.array.fill import zeros
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.activations import relu
from penstock.ops.nn.nn_ops import in_top_k
from penstock.ops.random.random import truncated_normal
from penstock.summary.summary import scalar
from penstock.train.rules import GradientDescentOptimizer
from penstock.variables.variable import Variable

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def _linear(name: str, inputs: Any, number_in: int, number_out: int, activation: Any = None) -> Any:
    with name_scope(name):
        weights = Variable(truncated_normal([number_in, number_out], stddev=1.0 / math.sqrt(number_in)), name="weights")
        biases = Variable(zeros([number_out]), name="biases")
        outputs = matmul(inputs, weights) + biases
        return outputs if activation is None else activation(outputs)


def inference(images: Any, hidden1_units: int, hidden2_units: int) -> Any:
    """The logits."""
    hidden1 = _linear("hidden1", images, IMAGE_PIXELS, hidden1_units, relu)
    hidden2 = _linear("hidden2", hidden1, hidden1_units, hidden2_units, relu)
    return _linear("softmax_linear", hidden2, hidden2_units, NUM_CLASSES)


def loss(logits: Any, labels: Any) -> Any:
    """The mean cross entropy."""
    return sparse_softmax_cross_entropy(labels=to_int64(labels), logits=logits)


def training(loss: Any, learning_rate: float) -> Any:
    """A step of gradient descent; the loss has a summary, the steps are counted."""
    scalar("loss", loss)
    global_step = Variable(0, name="global_step", trainable=False)
    return GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)


def evaluation(logits: Any, labels: Any) -> Any:
    """How many predictions are right."""
    return reduce_sum(cast(in_top_k(logits, labels, 1), int32))
