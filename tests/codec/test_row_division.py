"""Rows divided among arrays and put together by native code: as NumPy does it."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.codec.row_division import divide, put_together

pytestmark = pytest.mark.process


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.complex128, np.bool_])
@pytest.mark.parametrize("rest", [(), (3,), (2, 5), (0,)])
def test_divided_and_put_together(dtype, rest):
    random = np.random.default_rng(0)
    for rows in (0, 1, 37):
        data, parts = random.integers(0, 100, (rows, *rest)).astype(dtype), random.integers(0, 4, rows).astype(np.int32)
        found = divide(data, parts, 5)
        assert len(found) == 5
        for number, each in enumerate(found):
            np.testing.assert_array_equal(each, data[parts == number])
        places = divide(np.arange(rows, dtype=np.int32), parts, 5)
        np.testing.assert_array_equal(put_together(places, found), data)


def test_places_without_a_row_are_0_and_the_last_of_several_rows_counts():
    indices = [np.array([5, 1], np.int32), np.array([[1, 3]], np.int32)]
    data = [np.array([[1.0], [2.0]]), np.array([[[3.0], [4.0]]])]
    np.testing.assert_array_equal(put_together(indices, data), [[0], [3], [0], [4], [0], [1]])


def test_what_is_left_to_numpy():
    assert divide(np.array([b"a", b"b"], object), np.array([0, 1], np.int32), 2) is None
    assert divide(np.arange(2), np.array([0, 2], np.int32), 2) is None
    assert divide(np.arange(2), np.array([0, -1], np.int32), 2) is None
    assert divide(np.arange(8).reshape(4, 2)[:, ::2], np.zeros(4, np.int32), 1) is None
    assert put_together([np.array([-1], np.int32)], [np.zeros(1)]) is None


def test_operations_tell_what_is_wrong():
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"partitions\[1\] = 7 is not in \[0, 2\)"):
            session.run(tf.dynamic_partition([1, 2], tf.identity([0, 7]), 2))
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            session.run(tf.dynamic_stitch([tf.identity([0, -3])], [[1, 2]]))
