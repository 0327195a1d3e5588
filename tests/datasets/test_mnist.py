"""MNIST from IDX files, and the digits of the package in its place."""
from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

import penstock as tf

input_data, mnist = tf.examples.tutorials.mnist.input_data, tf.examples.tutorials.mnist.mnist


def write_files(folder, packed):
    """Six images for training and two for tests, each of its label's colour."""
    for part, number in (("train", 6), ("t10k", 2)):
        labels = np.arange(number, dtype=np.uint8)
        images = np.repeat(labels, 28 * 28).reshape(number, 28, 28)
        for name, content in ((f"{part}-images-idx3-ubyte", struct.pack(">4I", 2051, number, 28, 28) + images.tobytes()),
                              (f"{part}-labels-idx1-ubyte", struct.pack(">2I", 2049, number) + labels.tobytes())):
            (folder / (name + ".gz" if packed else name)).write_bytes(gzip.compress(content) if packed else content)


@pytest.mark.graph
@pytest.mark.parametrize("packed", [True, False])
def test_files_are_read(tmp_path, packed):
    write_files(tmp_path, packed)
    data = input_data.read_data_sets(str(tmp_path), one_hot=True, validation_size=2, seed=3)
    assert data.train.images.shape == (4, 784) and data.validation.num_examples == 2 and data.test.labels.shape == (2, 10)
    np.testing.assert_allclose(data.test.images[1], 1 / 255, rtol=1e-6)
    images, labels = data.train.next_batch(4)
    assert sorted(labels.argmax(1)) == [2, 3, 4, 5] and np.allclose(images[:, 0] * 255, labels.argmax(1)) and data.train.epochs_completed == 0
    images, labels = data.train.next_batch(3)
    assert data.train.epochs_completed == 1 and np.allclose(images[:, 0] * 255, labels.argmax(1))


@pytest.mark.graph
def test_batches_are_tensorflows(tmp_path):
    """The order that TensorFlow 1.15 gives for this seed: NumPy's global generator decides it."""
    write_files(tmp_path, True)
    data = input_data.read_data_sets(str(tmp_path), dtype=tf.uint8, reshape=False, validation_size=0, seed=3)
    images, labels = data.train.next_batch(4)
    np.random.seed(3)  # as the last of the three data sets did
    order = np.arange(6)
    np.random.shuffle(order)
    assert images.dtype == np.uint8 and images.shape == (4, 28, 28, 1) and labels.tolist() == order[:4].tolist()


@pytest.mark.graph
def test_missing_files_say_where_to_put_them(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"train-images-idx3-ubyte.gz in .*PENSTOCK_MNIST=digits"):
        input_data.read_data_sets(str(tmp_path))


@pytest.mark.graph
def test_other_files_are_refused(tmp_path):
    write_files(tmp_path, False)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes((tmp_path / "train-images-idx3-ubyte").read_bytes())
    with pytest.raises(ValueError, match="Invalid magic number 2051 in MNIST label file"):
        input_data.read_data_sets(str(tmp_path))


@pytest.mark.graph
def test_fake_data():
    images, labels = input_data.read_data_sets("", fake_data=True, one_hot=True).train.next_batch(2, fake_data=True)
    assert np.shape(images) == (2, 784) and labels == [[1] + [0] * 9] * 2


@pytest.mark.process
def test_network_learns_the_digits_of_the_package(monkeypatch):
    monkeypatch.setenv("PENSTOCK_MNIST", "digits")
    data = input_data.read_data_sets("nowhere", seed=1)
    assert data.train.images.shape == (1318, 784) and data.validation.num_examples == 119 and data.test.num_examples == 360
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(1)
        x, y = tf.placeholder(tf.float32, [None, mnist.IMAGE_PIXELS]), tf.placeholder(tf.int32, [None])
        logits = mnist.inference(x, 32, 16)
        loss = mnist.loss(logits, y)
        train, correct = mnist.training(loss, 0.1), mnist.evaluation(logits, y)
        sess.run(tf.global_variables_initializer())
        for _ in range(250):
            images, labels = data.train.next_batch(64)
            sess.run(train, {x: images, y: labels})
        assert sess.run(correct, {x: data.test.images, y: data.test.labels}) > 0.85 * 360
        assert [v.name for v in tf.trainable_variables()][:2] == ["hidden1/weights:0", "hidden1/biases:0"]
