"""Specifications of composite values."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.graph


def test_of_ragged_tensors():
    spec = tf.RaggedTensorSpec([None, None], tf.int32)
    assert spec.is_compatible_with(tf.ragged.constant([[1], [2, 3]]))
    assert not spec.is_compatible_with(tf.ragged.constant([[1.0], [2.0, 3.0]]))
    assert not spec.is_compatible_with(tf.constant([1]))
    assert spec == tf.RaggedTensorSpec([None, None], tf.int32, 1)
    assert hash(spec) == hash(tf.RaggedTensorSpec([None, None], tf.int32, 1))
    with pytest.raises(ValueError, match="less than rank"):
        tf.RaggedTensorSpec([None, None], ragged_rank=2)


def test_of_sparse_tensors_and_tensors():
    sparse = tf.SparseTensor([[0, 1]], [2.0], [3, 4])
    assert tf.SparseTensorSpec([None, 4]).is_compatible_with(sparse)
    assert not tf.SparseTensorSpec([None, 5]).is_compatible_with(sparse)
    assert tf.SparseTensorSpec([1]).value_type is tf.SparseTensor
    assert tf.IndexedSlicesSpec([3]) == tf.IndexedSlicesSpec([3])
    assert isinstance(tf.TensorSpec([1]), tf.TypeSpec)
