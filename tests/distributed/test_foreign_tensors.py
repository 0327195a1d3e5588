"""Fetched tensors as bytes: what protocol buffers read of them."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from penstock.distributed.foreign import _fetched
from penstock.distributed.foreign_tensors import tensor_pieces
from penstock.distributed.master_proto import RESPONSES
from penstock.graph.tensor_proto import proto_to_array

pytestmark = pytest.mark.graph


@pytest.mark.parametrize("array", [
    np.float32(3).reshape(()), np.arange(6, dtype=np.int64).reshape(2, 3), np.zeros((0, 4), np.float64), np.arange(12).reshape(3, 4).T,
    np.arange(3000, dtype=np.float32).reshape(30, 100), np.array([True, False]), np.array([1 + 2j]), np.arange(5).astype(ml_dtypes.bfloat16),
    np.ones((300, 300), np.float16), np.arange(4, dtype=">i4")], ids=lambda array: f"{array.dtype} {array.shape}")
def test_a_tensor_is_read_as_it_was(array):
    response = RESPONSES["RunStep"].FromString(b"".join([*tensor_pieces("before:0", np.zeros(3)), *tensor_pieces("a/b:1", array)]))
    assert [each.name for each in response.tensor] == ["before:0", "a/b:1"]
    found = proto_to_array(response.tensor[1].tensor)
    assert found.dtype == array.dtype.newbyteorder("=") and found.shape == array.shape
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("array", [np.array([b"ab", b"c"], object), np.array([b"ab", b"c"]), np.array(["ab", "c"])], ids=["objects", "bytes", "text"])
def test_strings_are_read_as_they_were_however_numpy_keeps_them(array):
    response = RESPONSES["RunStep"].FromString(b"".join(_fetched("words:0", array)))
    assert proto_to_array(response.tensor[0].tensor).tolist() == [b"ab", b"c"]
