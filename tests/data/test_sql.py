"""Rows of a database, and batches of dense elements as sparse tensors."""
from __future__ import annotations

import sqlite3

import numpy as np
import pytest

import penstock as tf


@pytest.fixture
def database(tmp_path):
    path = str(tmp_path / "some people?.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (name TEXT, age INTEGER, height FLOAT, code TEXT)")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", [("Ann\0a", 255, 1.5, "123"), ("Bob", -1, 2.0, "x"), (None, None, None, None)])
    connection.commit()
    connection.close()
    return path


def rows(path, query, types, driver="sqlite"):
    with tf.Graph().as_default(), tf.Session() as sess:
        dataset = tf.data.experimental.SqlDataset(driver, path, query, types)
        iterator = dataset.make_initializable_iterator()
        element = iterator.get_next()
        sess.run(iterator.initializer)
        result = []
        while True:
            try:
                result.append(sess.run(element))
            except tf.errors.OutOfRangeError:
                return result


def test_types(database):
    assert rows(database, "SELECT name, age, height, code FROM people", (tf.string, tf.int64, tf.float64, tf.int32)) == [
        (b"Ann\0a", 255, 1.5, 123), (b"Bob", -1, 2.0, 0), (b"", 0, 0.0, 0)]
    assert rows(database, "SELECT age, age, age, age FROM people LIMIT 1", (tf.uint8, tf.bool, tf.int16, tf.string)) == [(255, True, 255, b"255")]
    assert rows(database, "SELECT height FROM people LIMIT 2", tf.float64) == [1.5, 2.0]


@pytest.mark.parametrize("query, types, driver, error", [
    ("SELECT nothing FROM people", (tf.string,), "sqlite", tf.errors.UnknownError),
    ("SELEKT name FROM people", (tf.string,), "sqlite", tf.errors.UnknownError),
    ("SELECT name FROM people", (tf.string, tf.string), "sqlite", tf.errors.InvalidArgumentError),
    ("INSERT INTO people (name) VALUES ('c')", (tf.string,), "sqlite", tf.errors.InvalidArgumentError),
    ("SELECT name FROM people", (tf.string,), "other", tf.errors.InvalidArgumentError),
    ("SELECT name FROM people", (tf.float32,), "sqlite", tf.errors.InvalidArgumentError)])
def test_errors(database, query, types, driver, error):
    with pytest.raises(error):
        rows(database, query, types, driver)
    assert len(rows(database, "SELECT name FROM people", (tf.string,))) == 3  # it was only read


def test_dense_to_sparse_batch():
    with tf.Graph().as_default(), tf.Session() as sess:
        dataset = tf.data.Dataset.range(3).map(lambda n: tf.fill([n, n + 1], n))
        batch = dataset.apply(tf.data.experimental.dense_to_sparse_batch(2, [4, None])).make_one_shot_iterator().get_next()
        assert isinstance(batch, tf.SparseTensor)
        first, second = sess.run(batch), sess.run(batch)
        np.testing.assert_array_equal(first.dense_shape, [2, 4, 2])
        np.testing.assert_array_equal(first.indices, [[1, 0, 0], [1, 0, 1]])
        np.testing.assert_array_equal(second.values, [2] * 6)


@pytest.mark.parametrize("element, row_shape, error, words", [
    ([[1]], [12], tf.errors.InvalidArgumentError, "incompatible with the row shape"),
    (list(range(13)), [12], tf.errors.DataLossError, "larger than the row shape"),
    ([1], [-2], tf.errors.InvalidArgumentError, "Dimension -2 must be >= -1")])
def test_shapes_that_do_not_fit(element, row_shape, error, words):
    with tf.Graph().as_default(), tf.Session() as sess, pytest.raises(error, match=words):
        batches = tf.data.Dataset.from_tensors(element).apply(tf.contrib.data.dense_to_sparse_batch(4, row_shape))
        sess.run(batches.make_one_shot_iterator().get_next())


def test_sloppy_interleave_has_all_elements():
    with tf.Graph().as_default(), tf.Session() as sess:
        parts = tf.data.Dataset.range(4).apply(tf.contrib.data.sloppy_interleave(lambda n: tf.data.Dataset.range(n, n + 3), cycle_length=2))
        element = parts.make_one_shot_iterator().get_next()
        assert sorted(int(sess.run(element)) for _ in range(12)) == sorted([n + k for n in range(4) for k in range(3)])
