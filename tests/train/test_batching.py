"""Batches of queues: in order, shuffled, padded, of sparse tensors."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.queue_runners import all_of, counter, running
from support.threads import LONG


def test_batch():
    n = counter(10)
    batch = tf.train.batch({"n": n, "pair": tf.stack([n, -n])}, 4, allow_smaller_final_batch=True)
    with running() as session:
        found = all_of(session, batch)
    assert [b["n"].tolist() for b in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert found[2]["pair"].tolist() == [[8, -8], [9, -9]]


def test_batch_drops_the_rest():
    batch = tf.train.batch([counter(10)], 4, num_threads=2)
    with running() as session:
        assert [len(b) for b in all_of(session, batch)] == [4, 4]


def test_batch_of_many():
    n = counter(3)
    batch = tf.train.batch([tf.stack([n, n + 10])], 3, enqueue_many=True)
    with running() as session:
        assert [b.tolist() for b in all_of(session, batch)] == [[0, 10, 1], [11, 2, 12]]


def test_dynamic_padding():
    n = counter(4)
    batch = tf.train.batch([tf.range(n)], 4, dynamic_pad=True)
    assert batch.shape.as_list() == [4, None]
    with running() as session:
        assert session.run(batch, options=LONG).tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]


def test_shuffle_batch():
    batch = tf.train.shuffle_batch([counter(100)], 10, capacity=60, min_after_dequeue=30, seed=3)
    with running() as session:
        found = np.concatenate(all_of(session, batch))
    assert sorted(found) == list(range(100)) and found.tolist() != list(range(100))


@pytest.mark.parametrize("shuffled", [False, True])
def test_join(shuffled):
    lists = [[counter(10), tf.constant("a")], [counter(10) + 100, tf.constant("b")]]
    batch = tf.train.shuffle_batch_join(lists, 5, 20, 4) if shuffled else tf.train.batch_join(lists, 5)
    with running() as session:
        found = [(int(n), word) for numbers, words in all_of(session, batch) for n, word in zip(numbers, words)]
    assert sorted(found) == [(n, b"a") for n in range(10)] + [(n + 100, b"b") for n in range(10)]


@pytest.mark.parametrize("many", [False, True])
def test_maybe_batch(many):
    n = counter(12)
    values, keep = (tf.stack([n, n + 100]), tf.equal(tf.stack([n, n + 1]) % 2, 0)) if many else (n, tf.equal(n % 3, 0))
    batch = tf.train.maybe_batch([values], keep, 2, enqueue_many=many)
    with running() as session:
        found = np.concatenate(all_of(session, batch)).tolist()
    assert found == ([n if n % 2 == 0 else n + 100 for n in range(12)] if many else [0, 3, 6, 9])


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("choose", [False, True])
def test_sparse_tensors(many, choose):
    n = counter(8)
    if many:
        sparse, dense = tf.SparseTensor([[0, 1], [1, 2]], tf.to_float(tf.stack([n, -n])), [2, 4]), tf.stack([n, -n])
        keep = tf.equal(tf.stack([n, n + 1]) % 2, 0) if choose else True
    else:
        sparse, dense = tf.SparseTensor([[1]], tf.reshape(tf.to_float(n), [1]), [4]), n
        keep = tf.equal(n % 2, 0) if choose else True
    batch = tf.train.maybe_batch({"sparse": sparse, "dense": dense}, keep, 4, enqueue_many=many)
    with running() as session:
        found = session.run(batch, options=LONG)
    assert found["sparse"].values.tolist() == found["dense"].tolist()
    assert found["sparse"].dense_shape.tolist() == [4, 4] and found["sparse"].indices[:, 0].tolist() == [0, 1, 2, 3]


def test_mistakes():
    with pytest.raises(ValueError, match="Cannot infer Tensor's rank"):
        tf.train.batch([tf.placeholder(tf.int32)], 3)
    with pytest.raises(ValueError, match="capacity 5 must be bigger than min_after_dequeue 6"):
        tf.train.shuffle_batch([tf.constant(1)], 3, 5, 6)
    with pytest.raises(TypeError, match=r"consistent: int32 vs\. float32"):
        tf.train.batch_join([[tf.constant(1)], [tf.constant(1.0)]], 3)
    with pytest.raises(ValueError, match="same keys"):
        tf.train.batch_join([{"a": tf.constant(1)}, {"b": tf.constant(1)}], 3)
    with pytest.raises(ValueError, match="cannot be a vector"):
        tf.train.maybe_batch([tf.constant(1)], tf.constant([True]), 3)
