"""Feature columns of ragged features: what they give for the same values as a sparse tensor."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
fc = tf.feature_column
words = fc.categorical_column_with_vocabulary_list("word", ["a", "b"], num_oov_buckets=1)
steps = tf.contrib.feature_column.sequence_categorical_column_with_vocabulary_list("word", ["a", "b"], num_oov_buckets=1)


@pytest.mark.parametrize("layer", [
    lambda features: fc.input_layer(features, [fc.indicator_column(words), fc.embedding_column(words, 2, initializer=tf.ones_initializer())]),
    lambda features: fc.linear_model(features, [words, fc.crossed_column(["word", "word"], 5)]),
    lambda features: tf.keras.layers.DenseFeatures([fc.indicator_column(words)])(features),
    lambda features: tf.contrib.feature_column.sequence_input_layer(features, [fc.indicator_column(steps)])],
    ids=["input layer", "linear model", "dense features", "sequences"])
def test_ragged_is_sparse(layer):
    ragged = tf.ragged.constant([["a", "b", "a"], [], ["z"]])
    with tf.Session() as session:
        given, wanted = layer({"word": ragged}), layer({"word": ragged.to_sparse()})
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for one, other in zip(*(tf.contrib.framework.nest.flatten(session.run(each)) for each in (given, wanted)), strict=True):
            np.testing.assert_array_equal(one, other)
