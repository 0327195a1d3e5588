"""Buckets of elements of similar length."""
from __future__ import annotations

import pytest

import penstock as tf
from support.pipelines import listed

Dataset, experimental = tf.data.Dataset, tf.data.experimental


def test_bucket_needs_a_size_for_each_bucket():
    with pytest.raises(ValueError, match="bucket_batch_sizes"):
        experimental.bucket_by_sequence_length(lambda x: x, [1, 2], [3])


def test_bucket_to_boundary_refuses_what_is_too_long():
    dataset = Dataset.range(1, 9).map(lambda n: tf.fill([n], n)).apply(experimental.bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [3], [2, 2], pad_to_bucket_boundary=True))
    with pytest.raises(tf.errors.InvalidArgumentError, match="pad_to_bucket_boundary"):
        listed(dataset)
