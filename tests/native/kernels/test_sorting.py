"""Sorting and searching rows, against the NumPy kernels: equal elements keep their order."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from penstock.native.calls import Unsupported
from support.native import check, native

pytestmark = pytest.mark.process
DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int32, np.int64, np.int8, np.uint8, np.uint16, np.uint64]


def rows(*shape, dtype, seed=0):
    """Numbers of all sizes, some of them more than once; of floats also NaNs, infinities and both zeros."""
    random = np.random.RandomState(seed)
    if np.dtype(dtype).kind in "iu":
        whole = np.frombuffer(random.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape)
        return np.where(random.rand(*shape) < 0.3, whole % np.dtype(dtype).type(5), whole)
    x = (random.randn(*shape) * 10.0 ** random.randint(-3, 4, shape)).round(1).astype(dtype)
    for value in (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0):
        x[random.rand(*shape) < 0.05] = value
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [65, 100, 257, 3000])
def test_sorted_rows(dtype, length):
    for k in {0, 65, length // 2 + 33, length}:
        check("TopKV2", rows(3, length, dtype=dtype), np.int32(k), known=(1,))
    check("TopKV2", rows(40, length, dtype=dtype)[::2], np.int32(length), known=(1,), threads=3)
    check("TopKV2", rows(2, 3, length, dtype=dtype)[:, :, ::-1], np.int32(length), known=(1,))


def test_sorting_leaves_equal_elements_as_they_stand():
    for x in (np.ones((2, 100), "f"), np.tile(np.float32([0.0, -0.0]), (2, 60)), np.zeros((0, 70), "f")):
        check("TopKV2", x, np.int32(66), known=(1,))
    found = native("TopKV2", np.tile(np.float32([0.0, -0.0]), (1, 60)), np.int32(120), known=(1,))
    np.testing.assert_array_equal(found[1][0], np.arange(120))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8])
@pytest.mark.parametrize("reverse", [False, True])
def test_nth_element(dtype, reverse):
    for n in (0, 3, 64, 199):
        check("NthElement", rows(5, 200, dtype=dtype), np.int32(n), known=(1,), reverse=reverse)
    with pytest.raises(Unsupported):
        native("NthElement", rows(5, 20, dtype=dtype), np.int32(20), known=(1,), reverse=reverse)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("out", [np.int32, np.int64])
def test_searching(dtype, out):
    for length in (0, 1, 2, 63, 64, 1000):
        line, values = np.sort(rows(4, length, dtype=dtype), -1), rows(4, 37, dtype=dtype, seed=1)
        for op_type in ("LowerBound", "UpperBound"):
            check(op_type, line, values, out_type=out)
            check(op_type, line, np.concatenate([line, line], 1)[:, ::-1], out_type=out, threads=3)
    with pytest.raises(Unsupported):
        native("LowerBound", rows(3, 4, dtype=dtype), rows(2, 4, dtype=dtype), out_type=out)
