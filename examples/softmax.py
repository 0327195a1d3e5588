"""Softmax regression reads handwritten digits: the first program of most courses, with summaries for TensorBoard.

    python examples/softmax.py [LOGDIR]
"""
import sys

import numpy as np

import penstock as tf
from penstock.datasets import load_digits


def main(steps=300, logdir=None):
    """Returns the accuracy on digits that were held out."""
    digits = load_digits()
    rng = np.random.RandomState(0)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        images, labels = tf.placeholder(tf.float32, [None, 8, 8], "images"), tf.placeholder(tf.int64, [None], "labels")
        weights, bias = tf.Variable(tf.zeros([64, 10]), name="weights"), tf.Variable(tf.zeros([10]), name="bias")
        logits = tf.matmul(tf.reshape(images, [-1, 64]), weights) + bias
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
        train = tf.train.AdagradOptimizer(0.5).minimize(loss)
        summaries = tf.summary.merge([tf.summary.scalar("loss", loss), tf.summary.scalar("accuracy", accuracy)])
        writer = tf.summary.FileWriter(logdir, graph) if logdir else None
        session.run(tf.global_variables_initializer())
        for step in range(steps):
            chosen = rng.choice(len(digits.train_labels), 64)
            _, summary = session.run([train, summaries], {images: digits.train_images[chosen], labels: digits.train_labels[chosen]})
            if writer:
                writer.add_summary(summary, step)
        result = float(session.run(accuracy, {images: digits.test_images, labels: digits.test_labels}))
        if writer:
            writer.close()
    print(f"accuracy on new digits: {result:.3f}")
    return result


if __name__ == "__main__":
    main(logdir=sys.argv[1] if len(sys.argv) > 1 else None)
