"""top_k finds the same elements whichever way it takes, and ties go to the earlier element."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.ops.array.sorting import TopKV2


@pytest.mark.parametrize("k", [0, 1, 2, 5, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8])
def test_top_k_with_ties(k, dtype):
    rows = np.random.RandomState(k).randint(0, 12, (3, 2, 64)).astype(dtype)
    values, indices = TopKV2.kernel(rows, k)
    wanted = np.argsort(-rows.astype(np.int64), -1, kind="stable")[..., :k]
    np.testing.assert_array_equal(indices, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(rows, wanted, -1))
    assert values.dtype == dtype and indices.dtype == np.int32


@pytest.mark.parametrize("dtype", [tf.int8, tf.uint8, tf.int32, tf.float64])
@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
def test_sort_at_the_limits_of_a_type(dtype, direction):
    values = np.array([dtype.max, 0, dtype.min, 1, dtype.max], dtype.as_numpy_dtype)
    with tf.Session() as session:
        result, order = session.run([tf.sort(values, direction=direction), tf.argsort(values, direction=direction)])
    wanted = np.sort(values)
    np.testing.assert_array_equal(result, wanted if direction == "ASCENDING" else wanted[::-1])
    np.testing.assert_array_equal(values[order], result)
