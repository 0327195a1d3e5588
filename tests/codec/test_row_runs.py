"""Runs of rows reduced by native code: as NumPy does it."""
from __future__ import annotations

import numpy as np
import pytest

from penstock.codec import row_runs
from penstock.codec.row_runs import reduce_runs

pytestmark = pytest.mark.process

FIRSTS, PLACES = np.array([0, 1, 40, 2999]), np.array([0, 2, 3, 6])


def _data(*rest: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(3000, *rest)).astype(np.float32)


@pytest.mark.parametrize("rest", [(6,), (64,), (3, 5)])
@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.minimum])
def test_as_numpy_does_it(ufunc, rest):
    data, result = _data(*rest), np.full((8, *rest), 7, np.float32)
    data[50, ..., 1] = np.nan
    data[2998, ..., 2] = data[60, ..., 3] = np.inf
    data[100, ..., 0] = -np.inf
    wanted = result.copy()
    wanted[PLACES] = ufunc.reduceat(data, FIRSTS, axis=0, dtype=np.float64 if ufunc is np.add else np.float32)
    assert reduce_runs(ufunc, data, FIRSTS, PLACES, result)
    np.testing.assert_allclose(result, wanted, rtol=1e-6)
    assert np.isnan(result).sum() == np.prod(rest[:-1], dtype=int)
    np.testing.assert_array_equal(result[[1, 4, 5, 7]], np.full((4, *rest), 7))


def test_a_long_sum_is_kept_as_float64():
    data = np.full((1 << 20, 4), 0.1, np.float32)
    data[0] = 1e6
    result = np.zeros((1, 4), np.float32)
    assert reduce_runs(np.add, data, np.array([0]), np.array([0]), result)
    np.testing.assert_allclose(result[0], data[:, 0].sum(dtype=np.float64), rtol=1e-7)


@pytest.mark.parametrize("ufunc, data", [
    (np.multiply, _data(64)), (np.add, _data(64).astype(np.float64)), (np.add, _data(64).T), (np.add, _data(3)), (np.add, _data(4))])
def test_what_is_left_to_numpy(ufunc, data):
    result = np.zeros((8, *data.shape[1:]), data.dtype)
    assert not reduce_runs(ufunc, data, np.array([0]), np.array([0]), result)
    assert not result.any()


def test_without_native_code(monkeypatch):
    monkeypatch.setattr(row_runs, "functions", lambda module: None)
    assert not reduce_runs(np.add, _data(64), FIRSTS, PLACES, np.zeros((8, 64), np.float32))


@pytest.mark.parametrize("firsts, places", [([0, 3000], [0, 1]), ([0, 5], [0, 8]), ([0, 5], [-1, 0])])
def test_rows_that_are_not_there_are_left_to_numpy(firsts, places):
    result = np.zeros((8, 64), np.float32)
    assert not reduce_runs(np.add, _data(64), np.array(firsts), np.array(places), result)
    assert not result.any()
