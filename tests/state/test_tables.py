"""Dense tables: how many places they have."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.graph import dtypes
from penstock.state.tables import DenseTable

pytestmark = pytest.mark.process


def places_of(table):
    return len(table.export()[0])


@pytest.mark.parametrize(("number", "places"), [(0, 4), (3, 4), (4, 8), (6, 8), (16, 32)])
def test_a_table_that_is_filled_anew_has_room_for_more(number, places):
    """Also if there is nothing to fill it with, or a number of keys that no exported table has."""
    table = DenseTable("t", dtypes.int64, dtypes.int64, (), 8, 0.8, 0, -1)
    keys = np.arange(1, number + 1)
    table.replace(keys, keys * 10)
    assert (len(table), places_of(table)) == (number, places)
    table.insert(np.array([100, 101, 102]), np.array([1, 2, 3]))
    assert len(table) == number + 3 and places_of(table) >= len(table) / 0.8
    assert table.find(np.array([102, 55]), np.int64(-7)).tolist() == [3, -7]


@pytest.mark.parametrize("factor", [0.0, -1.0, 1.0, 1.5])
def test_load_factors_are_between_0_and_1(factor):
    table = tf.raw_ops.MutableDenseHashTableV2(empty_key=np.int64(0), deleted_key=np.int64(-1), value_dtype=tf.int64, max_load_factor=factor)
    insert = tf.raw_ops.LookupTableInsertV2(table_handle=table, keys=np.int64([1]), values=np.int64([2]))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=f"max_load_factor must be between 0 and 1, got: {factor:g}"):
        session.run(insert)
