"""The structure of elements: nests, sparse tensors, windows."""
from __future__ import annotations

import collections

import numpy as np
import pytest

import penstock as tf
from support.pipelines import drain, listed

Dataset, experimental = tf.data.Dataset, tf.data.experimental

Point = collections.namedtuple("Point", "x y")


def test_namedtuples_and_dicts_keep_their_form():
    points = Dataset.from_tensor_slices(Point([1, 2], ["a", "b"])).map(lambda p: {"second": p.y, "first": Point(p.x, p.x * 2)})
    assert points.output_types == {"second": tf.string, "first": Point(tf.int32, tf.int32)}
    assert listed(points) == [{"second": b"a", "first": Point(1, 2)}, {"second": b"b", "first": Point(2, 4)}]


def test_an_ordered_dict_stays_one():
    element = collections.OrderedDict([("z", [1, 2]), ("a", [3, 4])])
    (first, _) = listed(Dataset.from_tensor_slices(element))
    assert list(first) == ["z", "a"] and first == {"z": 1, "a": 3}


def test_only_a_plain_tuple_is_unpacked():
    pairs = Dataset.from_tensor_slices(([1, 2], {"a": [3, 4]}))
    assert listed(pairs.map(lambda n, d: n + d["a"])) == [4, 6]
    assert listed(Dataset.from_tensor_slices(Point([1], [2])).map(lambda p: p.x + p.y)) == [3]
    with pytest.raises(TypeError):
        pairs.map(lambda one: one)


def test_sparse_tensors_are_elements():
    sparse = tf.SparseTensor([[0, 0], [1, 1], [2, 0]], [1.0, 2.0, 3.0], [3, 2])
    dataset = Dataset.from_tensor_slices({"s": sparse, "n": [1, 2, 3]})
    assert dataset.output_classes == {"s": tf.SparseTensor, "n": tf.Tensor}
    assert dataset.output_shapes["s"].as_list() == [2]
    batches = listed(dataset.batch(2))
    assert batches[0]["s"].dense_shape.tolist() == [2, 2] and batches[0]["s"].indices.tolist() == [[0, 0], [1, 1]]
    assert batches[1]["s"].values.tolist() == [3.0]
    dense = dataset.shuffle(3, seed=1).map(lambda d: tf.sparse_tensor_to_dense(d["s"]))
    assert sorted(listed(dense)) == [[0.0, 2.0], [1.0, 0.0], [3.0, 0.0]]
    rows = listed(Dataset.from_tensors((sparse, [1, 2, 3])).unbatch())
    assert [row[0].values.tolist() for row in rows] == [[1.0], [2.0], [3.0]] and [row[1] for row in rows] == [1, 2, 3]


def test_rows_of_a_sparse_tensor():
    rows = listed(Dataset.from_sparse_tensor_slices(tf.SparseTensor([[0, 1], [2, 0], [2, 1]], [1, 2, 3], [3, 2])))
    assert [tuple(part.tolist() for part in row) for row in rows] == [([[1]], [1], [2]), ([], [], [2]), ([[0], [1]], [2, 3], [2])]


def test_sparse_through_iterators():
    value = tf.SparseTensorValue(np.array([[0]]), np.array([5]), np.array([3]))
    dataset = Dataset.from_tensors(value).repeat(2)
    iterator = tf.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes, output_classes=dataset.output_classes)
    with tf.Session() as sess:
        sess.run(iterator.make_initializer(dataset))
        assert [found.values.tolist() for found in drain(sess, iterator.get_next())] == [[5], [5]]


def test_windows_are_datasets():
    windows = Dataset.from_tensor_slices((np.arange(5), np.arange(5) * 10)).window(2, drop_remainder=True)
    sums = windows.flat_map(lambda a, b: Dataset.zip((a.batch(2), b.batch(2)))).map(lambda a, b: a + b)
    assert listed(sums) == [[0, 11], [22, 33]]


def test_strings_and_empty_elements():
    assert listed(Dataset.from_tensor_slices(["a", "", "ü"]).batch(2)) == [[b"a", b""], ["ü".encode()]]
    assert listed(Dataset.from_tensor_slices(np.zeros((2, 0))).batch(2)) == [[[], []]]
    assert listed(Dataset.from_tensor_slices(np.zeros((0, 3)))) == []
