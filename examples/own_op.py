"""An operation of one's own that is compiled like Penstock's: ``lower`` says what it does to one element, and the compiler fuses it.

    python examples/own_op.py
    PENSTOCK_COMPILE=eager penstock explain examples/own_op.py

Trains a small network whose activation is ``x * relu6(x + 3) / 6``, defined here with its gradient. ``explain`` shows what a step became: the
gradient of the activation, the sum that is the gradient of the bias, and Adam's update of the bias are one loop.
"""
from __future__ import annotations

import numpy as np

import penstock as tf
from penstock import op
from penstock.ops.custom import FLOATS, like


@op("HardSwishGrad", "dy: T, x: T -> dx: T", T=FLOATS)
class hard_swish_grad:
    """The gradient of ``hard_swish``."""

    elementwise = True
    shape = like("x")

    def kernel(dy, x):
        return dy * np.where(x <= -3, 0, np.where(x < 3, x / 3 + 0.5, 1)).astype(x.dtype)

    def lower(b, dy, x):
        inside = b.select(b.lt(x, 3), b.add(b.div(x, 3), 0.5), b.constant(1, x.dtype))
        return b.mul(dy, b.select(b.le(x, -3), b.constant(0, x.dtype), inside))

    gradient = None


@op("HardSwish", "x: T -> y: T", T=FLOATS)
class hard_swish:
    """x * relu6(x + 3) / 6, elementwise."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return x * np.clip(x + 3, 0, 6) / 6

    def lower(b, x):
        return b.div(b.mul(x, b.minimum(b.maximum(b.add(x, 3), 0), 6)), 6)

    def gradient(op, dy):
        return hard_swish_grad(dy, op.inputs[0])


def main() -> None:
    """Trains on a circle: inside or outside?"""
    random = np.random.RandomState(0)
    points = random.uniform(-1, 1, (512, 2)).astype(np.float32)
    inside = (np.square(points).sum(1, keepdims=True) < 0.5).astype(np.float32)
    x, label = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 1])
    hidden = hard_swish(tf.matmul(x, tf.Variable(random.normal(size=(2, 32)).astype(np.float32))) + tf.Variable(tf.zeros([32])))
    logit = tf.matmul(hidden, tf.Variable(0.2 * random.normal(size=(32, 1)).astype(np.float32))) + tf.Variable(tf.zeros([1]))
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(200):
            value, _ = session.run([loss, step], {x: points, label: inside})
    print(f"loss after 200 steps: {value:.3f}")


if __name__ == "__main__":
    main()
