"""Imperative style: a training loop with a tape, without graph and session; checkpoints of objects.

    python examples/eager_training.py
"""
import tempfile

import numpy as np

import penstock as tf
from penstock.datasets import load_digits


class Classifier(tf.keras.Model):
    """Two dense layers."""

    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(64, activation="relu")
        self.logits = tf.keras.layers.Dense(10)

    def call(self, images):
        """The logits of images."""
        return self.logits(self.hidden(images))


def main(steps=200):
    """Returns the accuracy on digits that were held out, after saving and restoring."""
    tf.enable_eager_execution()
    tf.set_random_seed(0)
    digits = load_digits()
    dataset = tf.data.Dataset.from_tensor_slices((digits.train_images.reshape(-1, 64), digits.train_labels)).shuffle(2000, seed=0).repeat().batch(64)
    model, optimizer = Classifier(), tf.train.AdamOptimizer(3e-3)
    for step, (images, labels) in enumerate(dataset.take(steps)):
        with tf.GradientTape() as tape:
            loss = tf.losses.sparse_softmax_cross_entropy(labels, model(images))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        if step % 50 == 0:
            print(f"step {step}: loss {loss.numpy():.3f}")
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(model=model).save(f"{folder}/model")
        again = Classifier()
        again(tf.zeros([1, 64]))
        tf.train.Checkpoint(model=again).restore(path)
    predicted = tf.argmax(again(digits.test_images.reshape(-1, 64)), 1).numpy()
    accuracy = float(np.mean(predicted == digits.test_labels))
    print(f"accuracy on new digits: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
