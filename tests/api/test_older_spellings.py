"""Spellings and orders of arguments of before TensorFlow 1.0: they work, and each warns once."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.api import image, root, train
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
    renamed = [("split_dim of split", "axis"), ("num_split of split", "num_or_size_splits"), ("concat_dim of concat", "axis")]
    older = [("keep_dims", "keepdims"), ("reduction_indices", "axis"), ("dim", "axis"), ("squeeze_dims", "axis"), ("dimension", "axis"),
             ("seq_dim", "seq_axis"), ("batch_dim", "batch_axis")]
    assert warnings == [f"{old} (from penstock.ops.array.pack) is deprecated. Use `{new}` instead." for old, new in renamed] + [
        f"`{old}` is the older name of an argument. Use `{new}`." for old, new in older]
    with pytest.raises(ValueError, match="Cannot specify both 'concat_dim' and 'axis'"):
        tf.concat([a, a], axis=1, concat_dim=1)


def test_names_of_arguments_of_keras_1(warnings):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    batches = iter([(np.ones([4, 2]), np.ones([4, 1]))] * 8)
    model.fit_generator(batches, 2, verbose=0, max_q_size=2, nb_worker=1, pickle_safe=False)
    assert model.predict_generator(batches, 1, max_q_size=2).shape == (4, 1)
    assert [text.partition(" ")[0] for text in warnings] == ["max_q_size", "nb_worker", "pickle_safe", "max_q_size"]
