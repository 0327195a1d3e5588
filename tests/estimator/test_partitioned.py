"""Tables of embeddings on parameter servers: split, placed, looked up; and weighted, shared and sparse input together."""
from __future__ import annotations

import json

import numpy as np
import pytest

import penstock as tf

CLUSTER = {"chief": ["h0:1"], "worker": ["h1:1"], "ps": ["h3:1", "h4:1"]}


@pytest.mark.graph
def test_tables_are_split_over_parameter_servers(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER, "task": {"type": "worker", "index": 0}}))
    words = tf.feature_column.categorical_column_with_hash_bucket("word", 10)
    model = tf.estimator.DNNLinearCombinedClassifier(
        "/nowhere", linear_feature_columns=[words], dnn_feature_columns=[tf.feature_column.embedding_column(words, 2)], dnn_hidden_units=[2],
        input_layer_partitioner=tf.fixed_size_partitioner(2))
    with tf.Graph().as_default() as graph, graph.device(model._device_fn):
        tf.train.create_global_step()
        model.model_fn({"word": tf.constant([["a"], ["b"]])}, tf.constant([0, 1]), tf.estimator.ModeKeys.TRAIN, model.config)
        places = {variable.op.name: variable.device for variable in tf.trainable_variables()}
    table = "dnn/input_from_feature_columns/input_layer/word_embedding/embedding_weights/part_{}"
    weights = "linear/linear_model/word/weights/part_{}"
    for name in (table, weights):
        assert {places[name.format(part)] for part in range(2)} == {"/job:ps/task:0", "/job:ps/task:1"}
    assert all(place.startswith("/job:ps") for place in places.values())


@pytest.mark.process
def test_a_split_table_is_the_same_table():
    table = np.arange(30, dtype=np.float32).reshape(10, 3)
    whole, split = looked_up(1, table), looked_up(4, table)
    np.testing.assert_array_equal(whole, split)
    np.testing.assert_array_equal(whole[0], [*(0.5 * table[7] + 2 * table[1]), *table[1]])
    np.testing.assert_array_equal(whole[1:], [[*np.zeros(3), *(2 * table[9])], [*table[3], *(table[0] + table[2])]])


def looked_up(parts, table):
    """Weighted ids of a sparse feature and plain ones of a dense feature, in a shared table that is in so many parts."""
    places = [[0, 0], [0, 1], [2, 0]]
    number = lambda key: tf.feature_column.categorical_column_with_identity(key, 10)
    columns = tf.feature_column.shared_embedding_columns([tf.feature_column.weighted_categorical_column(number("a"), "w"), number("b")], 3, "sum")
    with tf.Graph().as_default(), tf.Session() as session:
        features = {"a": tf.SparseTensor(places, tf.constant([7, 1, 3], tf.int64), [3, 2]), "w": tf.SparseTensor(places, [0.5, 2.0, 1.0], [3, 2]),
                    "b": tf.constant([[1, -1], [9, 9], [0, 2]], tf.int64)}
        with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(parts)):
            output = tf.feature_column.input_layer(features, columns)
        assert len(tf.global_variables()) == parts
        for variable, rows in zip(tf.global_variables(), np.array_split(table, parts)):
            variable.load(rows, session)
        return session.run(output)
