"""`penstock demo`: learn to read handwritten digits, in less than a minute on two slow cores.

Everything between `build_model` and `train` is an ordinary TensorFlow 1 program: it builds a graph of placeholders,
variables and an optimizer, then runs steps of it in a session while a `FileWriter` records them for TensorBoard.
"""
from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

import penstock as tf
from penstock.datasets import Digits, load_digits
from penstock.export.linking import has_linker
from penstock.pages.server import SHARED

GOAL = 0.97  # of the held-out images; a healthy run is well above it
BATCH = 64
DROPOUT = 0.2
SUMMARY_EVERY = 10
_PAGE = Path(__file__).with_name("digits_page")


class DemoModel(NamedTuple):
    """The nodes of the graph that training feeds and fetches."""

    images: tf.Tensor
    labels: tf.Tensor
    dropout: tf.Tensor
    loss: tf.Tensor
    accuracy: tf.Tensor
    train: tf.Operation
    summary: tf.Tensor
    probabilities: tf.Tensor


def convolution(inputs, channels, name):
    """A 3x3 convolution that keeps height and width, with bias and ReLU."""
    with tf.variable_scope(name):
        filters = tf.get_variable("filters", [3, 3, inputs.shape[3].value, channels])
        bias = tf.get_variable("bias", [channels], initializer=tf.zeros_initializer())
        return tf.nn.relu(tf.nn.conv2d(inputs, filters, strides=[1, 1, 1, 1], padding="SAME") + bias)


def halve(inputs):
    """Max pooling over 2x2 pixels."""
    return tf.nn.max_pool(inputs, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")


def dense(inputs, units, name):
    """A fully connected layer without activation."""
    with tf.variable_scope(name):
        weights = tf.get_variable("weights", [inputs.shape[1].value, units])
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        return tf.matmul(inputs, weights) + bias


def build_model(learning_rate: float = 2e-3) -> DemoModel:
    """An 8x8 image through two convolutions and a hidden layer to ten logits, trained with Adam."""
    images = tf.placeholder(tf.float32, [None, 8, 8], name="images")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    dropout = tf.placeholder_with_default(0.0, [], name="dropout")

    layer = convolution(tf.expand_dims(images, axis=3), 16, "convolution_1")
    layer = halve(convolution(layer, 32, "convolution_2"))
    layer = tf.nn.relu(dense(tf.reshape(layer, [-1, 4 * 4 * 32]), 64, "hidden"))
    logits = dense(tf.nn.dropout(layer, rate=dropout), 10, "logits")

    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), name="loss")
    hits = tf.equal(tf.argmax(logits, axis=1), labels)
    accuracy = tf.reduce_mean(tf.cast(hits, tf.float32), name="accuracy")
    train = tf.train.AdamOptimizer(learning_rate).minimize(loss)
    summary = tf.summary.merge([tf.summary.scalar("loss", loss), tf.summary.scalar("accuracy", accuracy)])
    return DemoModel(images, labels, dropout, loss, accuracy, train, summary, tf.nn.softmax(logits, name="probabilities"))


def shift(images: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Each image moved by at most one pixel to the left or right: more handwriting for free.

    Not up or down: the digits fill the whole height, so that would cut them.
    """
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1)), mode="constant")
    columns = rng.randint(3, size=(len(images), 1, 1)) + np.arange(8)
    return np.take_along_axis(padded, columns, axis=2)


def batches(digits: Digits, epochs: int, rng: np.random.RandomState):
    """Shuffled full batches of (images, labels), epoch after epoch."""
    for _ in range(epochs):
        order = rng.permutation(len(digits.train_labels))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start:start + BATCH]
            yield shift(digits.train_images[chosen], rng), digits.train_labels[chosen]


def train(digits: Digits, logdir: str, epochs: int, seed: int, progress: bool = True, web: str = "") -> float:
    """Train a fresh model, log it into `logdir`, and return its accuracy on the held-out images; `web`: a folder for a page that uses it."""
    rng = np.random.RandomState(seed)
    steps = epochs * (len(digits.train_labels) // BATCH)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.set_random_seed(seed)
        model = build_model()
        session.run(tf.global_variables_initializer())
        held_out = {model.images: digits.test_images, model.labels: digits.test_labels}
        with tf.summary.FileWriter(f"{logdir}/train", graph) as train_log, \
                tf.summary.FileWriter(f"{logdir}/test") as test_log, \
                tqdm(batches(digits, epochs, rng), total=steps, unit="step", disable=not progress) as bar:
            for step, (images, labels) in enumerate(bar):
                feed = {model.images: images, model.labels: labels, model.dropout: DROPOUT}
                _, loss, summary = session.run([model.train, model.loss, model.summary], feed)
                if step % SUMMARY_EVERY == 0:
                    bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
                    train_log.add_summary(summary, step)
                    test_log.add_summary(session.run(model.summary, held_out), step)
        if web:
            export_page(model, session, web)
        return float(session.run(model.accuracy, held_out))


def export_page(model: DemoModel, session: tf.Session, folder: str) -> None:
    """A folder with a page that reads digits which are drawn with the mouse: the model as WebAssembly, without a server behind it."""
    tf.export({"probabilities": model.probabilities}, {"images": model.images}, folder, session=session, name="digits", target="wasm32")
    for page in (_PAGE, SHARED):
        for path in page.iterdir():
            if page == _PAGE or path.name in ("base.css", "icon.svg"):
                shutil.copyfile(path, Path(folder) / path.name)


def tensorboard_command(logdir: str) -> str:
    """What to type to see the logs; a virtual environment need not be activated for it."""
    beside = Path(sys.executable).with_name("tensorboard")
    program = str(beside) if beside.exists() and not shutil.which("tensorboard") else "tensorboard"
    return f"{shlex.quote(program)} --logdir {shlex.quote(logdir)}"


def main(argv: list[str] | None = None) -> int:
    """Run the demo; the exit code is 0 if the classifier reached its goal."""
    parser = argparse.ArgumentParser(prog="penstock demo", description="Learn to read handwritten digits.")
    parser.add_argument("--logdir", help="where the event files go (default: a new temporary folder)")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training images (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the weights and the batches")
    parser.add_argument("--export-web", metavar="DIR", default="",
                        help="also write a page that reads digits drawn with the mouse, by the trained model as WebAssembly")
    args = parser.parse_args(argv)
    if args.export_web and not has_linker():
        parser.error("--export-web needs the package ziglang: pip install 'penstock[export]'")
    logdir = args.logdir or tempfile.mkdtemp(prefix="penstock-demo-")

    digits = load_digits(seed=args.seed)
    print(f"Training on {len(digits.train_labels)} images, testing on {len(digits.test_labels)} others.")
    accuracy = train(digits, logdir, args.epochs, args.seed, web=args.export_web)
    print(f"Test accuracy: {accuracy:.1%}")
    print(f"See the curves and the graph with:  {tensorboard_command(logdir)}")
    if args.export_web:
        print(f"A page that reads digits:  python -m http.server --bind 127.0.0.1 --directory {shlex.quote(args.export_web)} 8000")
    if accuracy < GOAL:
        print(f"That is below the expected {GOAL:.0%}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
