"""Sparse tensors and IndexedSlices in a session: feeding, fetching, conversion, tables of waiting tensors."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import penstock as tf
from penstock.ops.sparse.sparse_serialize import add_many_sparse_to_tensors_map, add_sparse_to_tensors_map, take_many_sparse_from_tensors_map

pytestmark = pytest.mark.process

VALUE = tf.SparseTensorValue([[0, 1], [1, 0], [3, 2]], [1.0, 2.0, 3.0], [4, 3])


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("shape", [None, [None, 3], [4, 3]])
def test_fed_and_fetched(shape):
    sparse = tf.sparse_placeholder(tf.float32, shape)
    with tf.Session() as session:
        doubled = session.run(tf.sparse_add(sparse, sparse), {sparse: VALUE})
    assert isinstance(doubled, tf.SparseTensorValue)
    assert doubled.values.tolist() == [2.0, 4.0, 6.0]
    assert doubled.dense_shape.tolist() == [4, 3]


def test_many_handles():
    handles = add_many_sparse_to_tensors_map(tf.SparseTensor(*VALUE))
    with tf.Session() as session:
        numbers = session.run(handles)
        back = session.run(take_many_sparse_from_tensors_map(handles.op, numbers[::-1].copy(), rank=2))
        again = take_many_sparse_from_tensors_map(handles.op, numbers)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to find SparseTensor"):
            session.run(again)
    assert back.indices.tolist() == [[0, 2], [2, 0], [3, 1]]
    assert back.values.tolist() == [3.0, 2.0, 1.0]


def test_one_handle():
    handle = add_sparse_to_tensors_map(tf.SparseTensor(*VALUE))
    with tf.Session() as session:
        back = session.run(take_many_sparse_from_tensors_map(handle.op, tf.stack([handle]), rank=3))
    assert back.dense_shape.tolist() == [1, 4, 3]


def test_small_indexed_slices_convert_quietly():
    slices = tf.IndexedSlices(tf.ones([2, 2]), tf.constant([1, 1]), tf.constant([3, 2]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dense = tf.convert_to_tensor(slices)
    with tf.Session() as session:
        assert session.run(dense).tolist() == [[0, 0], [2, 2], [0, 0]]


@pytest.mark.parametrize(("shape", "message"), [([100_000_000, 2], "200000000 elements"), (None, "unknown shape")])
def test_large_indexed_slices_warn(shape, message):
    shape = tf.placeholder(tf.int32, [2]) if shape is None else tf.constant(shape)
    with pytest.warns(UserWarning, match=message):
        tf.convert_to_tensor(tf.IndexedSlices(tf.ones([2, 2]), tf.constant([1, 1]), shape))


def test_gradients_of_reshapes_become_dense_quietly():
    """The last outputs of sequences are rows of a reshaped tensor."""
    x = tf.placeholder(tf.float32, [None, None, 3])
    last = tf.gather(tf.reshape(tf.expand_dims(2 * x, 0), [-1, 3]), [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(tf.gradients(last, x)[0], tf.Tensor)


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_lookup_in_partitioned_variable(strategy):
    table = tf.get_variable("table", [10, 3], partitioner=tf.fixed_size_partitioner(3))
    ids = [0, 3, 9, 4, 4]
    rows = tf.nn.embedding_lookup(table, ids, partition_strategy=strategy)
    gradients = tf.gradients(rows, list(table))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, parts, slices = session.run([rows, list(table), gradients])
    if strategy == "div":
        np.testing.assert_array_equal(found, np.concatenate(parts)[ids])
    else:
        np.testing.assert_array_equal(found, [parts[id % 3][id // 3] for id in ids])
    assert sum(len(piece.indices) for piece in slices) == len(ids)


def test_integers_are_divided_as_floats():
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [3, 5], [2, 2])
    quotient = sparse / tf.constant([[1, 2], [2, 1]])
    assert quotient.dtype is tf.float64 and (sparse / 2).dtype is tf.float64
    with tf.Session() as session:
        assert session.run(quotient.values).tolist() == [1.5, 2.5]
