"""SequenceFeatures: columns of sequences as a Keras layer, with the numbers of ``sequence_input_layer``."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
column = tf.feature_column


def features():
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([2, 0, 1], tf.int64), [2, 2])
    prices = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1.0, 2.0, 3.0], [2, 2])
    return {"ids": ids, "price": prices}


def test_sequences_and_their_lengths():
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    words = column.embedding_column(column.sequence_categorical_column_with_identity("ids", 3), 2, initializer=tf.constant_initializer(table))
    layer = tf.keras.experimental.SequenceFeatures([words, column.sequence_numeric_column("price")])
    numbers, lengths = layer(features())
    assert [weight.shape.as_list() for weight in layer.trainable_weights] == [[3, 2]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, counts = session.run([numbers, lengths])
    assert counts.tolist() == [2, 1]
    np.testing.assert_array_equal(values, [[[4, 5, 1], [0, 1, 2]], [[2, 3, 3], [0, 0, 0]]])


def test_other_columns_are_refused():
    with pytest.raises(ValueError, match="_SequenceDenseColumn"):
        tf.keras.experimental.SequenceFeatures([column.numeric_column("price")])


def test_a_signature_of_outputs():
    layer = tf.keras.layers.Dense(3)
    spec = layer.compute_output_signature(tf.TensorSpec([None, 2], tf.float32))
    assert spec.shape.as_list() == [None, 3] and spec.dtype is tf.float32
    with pytest.raises(TypeError, match="TensorSpec"):
        layer.compute_output_signature([1, 2])


def test_the_numbers_of_each_column_are_told():
    price, told = column.numeric_column("price"), {}
    numbers = tf.keras.layers.DenseFeatures([price])({"price": tf.constant([[1.0], [2.0]])}, cols_to_output_tensors=told)
    with tf.Session() as session:
        assert session.run([numbers, told[price]])[1].tolist() == [[1.0], [2.0]]
