"""Vocabularies: ids of words, and words of ids."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.tables import run

L = tf.contrib.lookup


def test_unknown_words_go_to_buckets(vocabulary):
    table = L.index_table_from_tensor(["x", "y", "z"], num_oov_buckets=3)
    file_table = L.index_table_from_file(vocabulary, num_oov_buckets=1)
    words = tf.constant(["x", "q", "r"])
    found, size, from_file = run([table.lookup(words), table.size(), file_table.lookup(tf.constant(["lake", "x"]))])
    assert found.tolist() == [0, 5, 4] and size == 6 and from_file.tolist() == [1, 3]  # of TensorFlow 1.15


def test_integers():
    table = L.index_table_from_tensor([10, 20, 30], num_oov_buckets=2, dtype=tf.int32)
    assert run(table.lookup(tf.constant([10, 20, 99, 100]))).tolist() == [0, 1, 3, 4]  # of TensorFlow 1.15


def test_strong_hash():
    table = L.index_table_from_tensor(["a"], num_oov_buckets=1, hasher_spec=L.StrongHashSpec([1, 2]))
    assert run(table.lookup(tf.constant(["b"]))).tolist() == [1]
    with pytest.raises(ValueError, match="key must have size 2"):
        L.StrongHashSpec([1])


def test_buckets_alone():
    table = L.IdTableWithHashBuckets(None, 3)
    found, size = run([table.lookup(tf.constant(["a", "b"])), table.size()])
    assert size == 3 and all(0 <= bucket < 3 for bucket in found)
    with pytest.raises(ValueError, match="oov_buckets must be > 0"):
        L.IdTableWithHashBuckets(None, 0)


def test_static_vocabulary_table():
    table = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], np.array([0, 1], np.int64)), 2)
    assert run(table.lookup(tf.constant(["a", "x", "y"]))).tolist() == [0, 2, 3]  # of TensorFlow 1.15


def test_back_to_strings(vocabulary):
    ids = tf.constant([1, 5], tf.int64)
    from_tensor, from_file = L.index_to_string_table_from_tensor(["x", "y"], default_value="?"), L.index_to_string_table_from_file(vocabulary)
    one, two = run([from_tensor.lookup(ids), from_file.lookup(ids)])
    assert one.tolist() == [b"y", b"?"] and two.tolist() == [b"lake", b"UNK"]
    assert run(L.index_to_string(ids, tf.constant(["x", "y"]))).tolist() == [b"y", b"UNK"]
    assert run(L.string_to_index(tf.constant(["y"]), tf.constant(["x", "y"]))).tolist() == [1]


def test_mistakes():
    for build, message in ((lambda: L.index_table_from_tensor(None), "mapping must be specified"),
                           (lambda: L.index_table_from_file(""), "must not be empty"),
                           (lambda: L.index_table_from_tensor(["a"], num_oov_buckets=-1), "greater or equal than 0, got -1"),
                           (lambda: L.index_table_from_tensor([1]), "Expected non-integer"),
                           (lambda: L.index_table_from_file("x", vocab_size=0), "greater than 0, got 0"),
                           (lambda: L.TextFileInitializer("x", tf.int32, -1, tf.int64, -1), "Keys must be dtype"),
                           (lambda: L.TextFileInitializer("x", tf.string, -3, tf.int64, -1), "Invalid key index -3"),
                           (lambda: L.TextFileInitializer("x", tf.string, 0, tf.int64, 1, vocab_size=0), "Invalid vocab_size 0")):
        with pytest.raises(ValueError, match=message):
            build()
