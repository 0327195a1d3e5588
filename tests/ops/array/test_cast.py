"""Casts of floats that an integer type cannot hold: on every machine what x86's instructions give."""
from __future__ import annotations

import platform

import numpy as np
import pytest

from penstock.ops.array import cast

pytestmark = pytest.mark.graph
VALUES = [0.0, -0.9, 1.9, 127.5, 128.0, 200.7, 255.9, 256.0, -128.9, -129.0, 40000.0, -70000.0, 2.0 ** 31 - 128, 2.0 ** 31, -2.0 ** 31,
          -2.0 ** 31 - 1, 3e9, 2.0 ** 62, 2.0 ** 63, -2.0 ** 63, 1e30, -1e30, np.inf, -np.inf, np.nan]
TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64]


@pytest.mark.parametrize("source", [np.float32, np.float64])
@pytest.mark.parametrize("target", TYPES)
def test_other_machines_agree_with_x86(source, target, monkeypatch):
    x = np.array(VALUES).astype(source)
    expected = cast.cast_array(x, np.dtype(target))
    if platform.machine() != "x86_64":
        pytest.skip("what x86 gives is asked of NumPy on one")
    monkeypatch.setattr(cast, "_like_x86", lambda: False)
    np.testing.assert_array_equal(cast.cast_array(x, np.dtype(target)), expected)


def test_small_integers_wrap_and_others_are_the_smallest_one(monkeypatch):
    for like_x86 in {cast._like_x86(), False}:
        monkeypatch.setattr(cast, "_like_x86", lambda like_x86=like_x86: like_x86)
        assert cast.cast_array(np.array([200.7, 3e9, np.nan], np.float32), np.dtype(np.int8)).tolist() == [-56, 0, 0]
        assert cast.cast_array(np.array([3e9, np.nan], np.float32), np.dtype(np.int32)).tolist() == [-2 ** 31] * 2
        assert cast.cast_array(np.array([2.0 ** 63, 2.0 ** 40], np.float64), np.dtype(np.uint64)).tolist() == [2 ** 63, 2 ** 40]
