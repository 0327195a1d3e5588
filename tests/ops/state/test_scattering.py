"""Sparse writes against a loop that does one update after the other."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import KernelError
from penstock.ops.state.scattering import HOW, scatter, scatter_nd

STEPS = {"Update": lambda a, b: b, "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Min": np.minimum, "Max": np.maximum}


@pytest.mark.parametrize("how", HOW)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_scatter_is_a_loop_over_the_updates(how, data):
    rows = data.draw(st.integers(1, 6))
    indices = np.array(data.draw(st.lists(st.integers(0, rows - 1), max_size=30)), np.int64)
    random = np.random.RandomState(data.draw(st.integers(0, 100)))
    start, updates = random.uniform(1, 2, (rows, 3)), random.uniform(0.5, 2, (len(indices), 3))
    wanted = start.copy()
    for index, update in zip(indices, updates):
        wanted[index] = STEPS[how](wanted[index], update)
    found = start.copy()
    scatter(found, indices, updates, how)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    by_vectors = start.copy()
    scatter_nd(by_vectors, indices[:, None], updates, how)
    np.testing.assert_array_equal(by_vectors, found)


def test_scatter_nd_elements_and_whole():
    target = np.zeros((2, 3, 4))
    scatter_nd(target, np.array([[1, 2, 3], [0, 0, 0], [1, 2, 3]]), np.array([1.0, 2.0, 3.0]), "Add")
    assert target[1, 2, 3] == 4 and target[0, 0, 0] == 2 and target.sum() == 6
    scatter_nd(target, np.zeros((1, 0), np.int32), np.ones((1, 2, 3, 4)), "Update")
    assert (target == 1).all()


def test_integer_division_rounds_towards_zero():
    target = np.array([7, -7, 7, -7], np.int32)
    scatter(target, np.arange(4), np.array([2, 2, -2, -2], np.int32), "Div")
    assert target.tolist() == [3, -3, -3, 3] and target.dtype == np.int32
    with pytest.raises(KernelError, match="Integer division by zero"):
        scatter(target, np.array([0]), np.array([0], np.int32), "Div")


@pytest.mark.parametrize(("indices", "message"), [([[0, 7]], r"indices\[0,1\] = 7 is not in \[0, 3\)"), ([-1], r"indices\[0\] = -1 is not in")])
def test_bad_indices_change_nothing(indices, message):
    target = np.zeros(3)
    with pytest.raises(KernelError, match=message):
        scatter(target, np.array(indices), np.ones(np.shape(indices)), "Add")
    assert not target.any()
