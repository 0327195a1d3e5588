"""Columns of ``tf.contrib.layers`` for sequences. Numbers are TensorFlow 1.15's."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.contrib.layers.columns.base import with_rank

pytestmark = pytest.mark.process


def test_sequences_of_single_ids():
    """Ids without an axis for the several of one step get one."""
    layers = tf.contrib.layers
    with tf.Graph().as_default(), tf.Session() as session:
        ids = tf.SparseTensor([[0, 0], [0, 2], [1, 0]], tf.constant([1, 0, 2], tf.int64), [2, 3])
        column = layers.sparse_column_with_integerized_feature("ids", 3)
        embedding = layers.embedding_column(column, 2, initializer=tf.constant_initializer(np.arange(6.0).reshape(3, 2)))
        output = layers.sequence_input_from_feature_columns({"ids": ids}, [layers.one_hot_column(column), embedding])
        session.run(tf.global_variables_initializer())
        empty = [0, 0, 0, 0, 0]
        assert session.run(output).tolist() == [[[2, 3, 0, 1, 0], empty, [0, 1, 1, 0, 0]], [[4, 5, 0, 0, 1], empty, empty]]


def test_too_few_axes_for_sequences():
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"Rank of input Tensor \(1\) should be the same as output_rank \(3\)"):
        with_rank(tf.SparseTensor([[0]], [1], [2]), 3, "a")


def test_columns_print_as_those_of_tensorflow():
    """With the underscore of its classes, also of columns within columns."""
    layers = tf.contrib.layers
    assert repr(layers.bucketized_column(layers.real_valued_column("c"), [1.0, 2.0])) == (
        "_BucketizedColumn(source_column=_RealValuedColumn(column_name='c', dimension=1, default_value=None, dtype=tf.float32, normalizer=None), "
        "boundaries=(1.0, 2.0))")
    assert repr(layers.one_hot_column(layers.sparse_column_with_keys("k", ["x", "y"]))) == (
        "_OneHotColumn(sparse_id_column=_SparseColumnKeys(column_name='k', is_integerized=False, bucket_size=None, lookup_config="
        "_SparseIdLookupConfig(vocabulary_file=None, keys=('x', 'y'), num_oov_buckets=0, vocab_size=2, default_value=-1), combiner='sum', "
        "dtype=tf.string))")
