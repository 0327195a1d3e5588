"""Spellings and orders of arguments of before TensorFlow 1.0: they work, and each warns once."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.api import image, nn, rnn_cell, root, train
from penstock.api.contrib import losses
from penstock.platform import deprecation

pytestmark = pytest.mark.process


@pytest.fixture
def warnings(monkeypatch):
    """What was said, and nothing was said before."""
    said = []
    monkeypatch.setattr(deprecation, "_warned", set())
    monkeypatch.setattr(deprecation.logging, "warning", lambda message, *args: said.append(message % args))
    return said


def test_names_warn_once(warnings):
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.constant([[1.0, 2.0]])
        values = session.run([tf.mul(a, a), tf.sub(a, a), tf.neg(a), tf.pack([a, a])[1], tf.mul(a, 2.0), tf.select(a > 1, a, -a)])
        assert [value.tolist()[0] for value in values] == [[1, 4], [0, 0], [-1, -2], [1, 2], [2, 4], [-1, 2]]
        session.run(tf.initialize_all_variables())
    assert warnings == [f"tf.{old} is the spelling of before TensorFlow 1.0. Use tf.{new}." for old, new in (
        ("mul", "multiply"), ("sub", "subtract"), ("neg", "negative"), ("pack", "stack"), ("select", "where"),
        ("initialize_all_variables", "global_variables_initializer"))]


def test_all_older_names_lead_to_what_is_named():
    for module in (root, train, image):
        for old in getattr(module, "OLDER", ()):
            new = root
            for part in root.OLDER[old].split("."):
                new = getattr(new, part)
            assert callable(getattr(module, old)) and callable(new)


def test_orders_of_arguments(warnings):
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.constant([[1.0, 2.0]])
        old, new = tf.concat(1, [a, a]), tf.concat([a, a], 1)
        first, second = tf.split(1, 2, a)
        weights, inputs, labels = tf.constant(np.eye(4, dtype=np.float32)), tf.ones([2, 4]), tf.constant([[1], [2]], tf.int64)
        sampled = (tf.constant([0, 3], tf.int64), tf.fill([2, 1], 0.5), tf.fill([2], 0.5))
        losses = [tf.nn.sampled_softmax_loss(weights, tf.zeros([4]), *two, 2, 4, sampled_values=sampled)
                  for two in ((inputs, labels), (labels, inputs))]
        old, new, first, second, losses = session.run([old, new, first, second, losses])
        assert old.tolist() == new.tolist() == [[1, 2, 1, 2]] and (first.tolist(), second.tolist()) == ([[1]], [[2]])
        assert losses[0].tolist() == losses[1].tolist()
    assert [text.partition(" was called")[0] for text in warnings] == ["tf.concat", "tf.split", "tf.nn.sampled_softmax_loss"]


def test_logits_before_labels(warnings):
    with tf.Graph().as_default(), tf.Session() as session:
        logits, classes = tf.constant([[1.0, 2.0, 0.5]]), tf.constant([2])
        for loss, labels in ((tf.nn.sparse_softmax_cross_entropy_with_logits, classes),
                             (tf.nn.softmax_cross_entropy_with_logits, tf.one_hot(classes, 3)),
                             (tf.nn.sigmoid_cross_entropy_with_logits, tf.one_hot(classes, 3))):
            old, new = session.run([loss(logits, labels), loss(labels=labels, logits=logits)])
            assert old.tolist() == new.tolist()
            with pytest.raises(ValueError, match="with named arguments"):
                loss(logits, labels, logits)
    assert [text.rpartition(" It is now ")[2] for text in warnings] == [
        f"tf.nn.{kind}_cross_entropy_with_logits(labels=..., logits=...)." for kind in ("sparse_softmax", "softmax", "sigmoid")]


def test_names_of_arguments(warnings):
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.constant([[1.0, 2.0]])
        first, second = tf.split(split_dim=1, num_split=2, value=a)
        results = [tf.concat(concat_dim=1, values=[a, a]), first, second, tf.reduce_sum(a, reduction_indices=[1], keep_dims=True),
                   tf.expand_dims(a, dim=0)[0], tf.squeeze(a, squeeze_dims=[0]), tf.argmax(a, dimension=1), tf.nn.l2_normalize(a, dim=0),
                   tf.reverse_sequence(a, [2], seq_dim=1, batch_dim=0), tf.reduce_mean(a, reduction_indices=0)]
        assert [value.tolist() for value in session.run(results)] == [
            [[1, 2, 1, 2]], [[1]], [[2]], [[3]], [[1, 2]], [1, 2], [1], [[1, 1]], [[2, 1]], [1, 2]]
    renamed = [("split_dim, num_split of split", "are", "`axis`, `num_or_size_splits`"), ("concat_dim of concat", "is", "`axis`")]
    older = [("keep_dims", "keepdims"), ("reduction_indices", "axis"), ("dim", "axis"), ("squeeze_dims", "axis"), ("dimension", "axis"),
             ("seq_dim", "seq_axis"), ("batch_dim", "batch_axis")]
    assert warnings == [f"{old} (from penstock.ops.array.pack) {verb} deprecated. Use {new} instead." for old, verb, new in renamed] + [
        f"`{old}` is the older name of an argument. Use `{new}`." for old, new in older]
    with pytest.raises(ValueError, match="Cannot specify both 'concat_dim' and 'axis'"):
        tf.concat([a, a], axis=1, concat_dim=1)


def test_names_of_arguments_of_keras_1(warnings):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    batches = iter([(np.ones([4, 2]), np.ones([4, 1]))] * 8)
    model.fit_generator(batches, 2, verbose=0, max_q_size=2, nb_worker=1, pickle_safe=False)
    assert model.predict_generator(batches, 1, max_q_size=2).shape == (4, 1)
    assert [text.partition(" of ")[0] for text in warnings] == ["max_q_size, nb_worker, pickle_safe", "max_q_size"]


def test_reversed_axes_as_flags(warnings):
    """Numbers were silently other ones: flags counted as the axes 0 and 1."""
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        assert session.run(tf.reverse(a, [True, False])).tolist() == [[3, 4], [1, 2]]
        assert session.run(tf.reverse(a, dims=[False, True])).tolist() == [[2, 1], [4, 3]]
        assert session.run(tf.reverse(a, [0, 1])).tolist() == [[4, 3], [2, 1]]
    assert [text.partition(" ")[0] for text in warnings] == ["tf.reverse", "dims"]


def test_sizes_of_images_as_two_arguments(warnings):
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.reshape(tf.range(48.0), [4, 4, 3])
        nearest = tf.image.ResizeMethod.NEAREST_NEIGHBOR
        pairs = [(tf.image.resize_images(image, 2, 3), tf.image.resize_images(image, [2, 3])),
                 (tf.image.resize_images(image, 2, 3, nearest, True), tf.image.resize_images(image, [2, 3], nearest, True)),
                 (tf.image.resize_images(image, 2, 3, method=nearest), tf.image.resize_images(image, (2, 3), nearest)),
                 (tf.image.resize_images(image, new_height=3, new_width=2), tf.image.resize_images(image, [3, 2]))]
        for old, new in pairs:
            assert old.shape == new.shape and session.run(old).tolist() == session.run(new).tolist()
        with pytest.raises(ValueError, match="'size' must be a 1-D Tensor of 2 elements"):
            tf.image.resize_images(image, 2)
    assert len(warnings) == 1 and "[new_height, new_width]" in warnings[0]


def test_arguments_that_were_called_otherwise(warnings):
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.constant([[1.0, 2.0]])
        assert tf.SparseTensor([[0, 0]], [1], shape=[1, 2]).shape.as_list() == [1, 2]
        old, new = session.run([tf.nn.sigmoid_cross_entropy_with_logits(logits=a, **{key: a}) for key in ("targets", "labels")])
        assert old.tolist() == new.tolist()
        assert tf.contrib.layers.fully_connected(a, num_output_units=3).shape.as_list() == [1, 3]
        cell = tf.nn.rnn_cell
        assert [made(3, input_size=2).output_size for made in (cell.BasicRNNCell, cell.GRUCell, cell.BasicLSTMCell)] == [3, 3, 3]
    assert [text.partition(" (")[0] for text in warnings[:3]] == [
        "shape of SparseTensor.__init__", "targets of sigmoid_cross_entropy_with_logits", "num_output_units of fully_connected"]
    assert [text.partition(" is an")[0] for text in warnings[3:]] == [
        f"input_size of {name}" for name in ("BasicRNNCell", "GRUCell", "BasicLSTMCell")]


def test_older_names_of_other_namespaces(warnings):
    for namespace in (nn, rnn_cell, losses):
        for old, new in namespace.OLDER.items():
            value = tf
            for part in new.split("."):
                value = getattr(value, part)
            assert callable(getattr(namespace, old)) and callable(value)
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.constant([[1.0, 2.0]])
        assert session.run(tf.contrib.losses.sum_of_squares(a, a + 1.0)) == 1.0
        assert session.run(tf.batch_fft(tf.cast(a, tf.complex64))).tolist() == [[3, -1]]
        outputs, _ = tf.nn.rnn(tf.nn.rnn_cell.BasicRNNCell(3), [a, a], dtype=tf.float32)
        assert [output.shape.as_list() for output in outputs] == [[1, 3]] * 2
        assert tf.nn.rnn_cell.linear([a, a], 4, True).shape.as_list() == [1, 4]
    assert "tf.nn.rnn is the spelling of before TensorFlow 1.0. Use tf.nn.static_rnn." in warnings


def test_several_older_names_of_one_call_give_one_warning(warnings):
    with tf.Graph().as_default():
        for _ in range(2):
            tf.split(split_dim=0, num_split=2, value=tf.zeros([4]))
        tf.split(tf.zeros([4]), 2, split_dim=0)
    assert len(warnings) == 1 and "split_dim, num_split of split" in warnings[0] and "`axis`, `num_or_size_splits`" in warnings[0]
