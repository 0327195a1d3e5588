"""Fetched tensors as bytes of a RunStepResponse, written by hand: protos would copy large ones four times, and cost many small ones more than the
step itself."""
from __future__ import annotations

import functools

import numpy as np

from penstock.graph import dtypes
from penstock.platform.varints import varint

# The tags of the fields: of a message in a message, or bytes; and of an integer.
_TENSOR, _NAME, _VALUE, _SHAPE, _DIMENSION, _CONTENT = b"\x0a", b"\x0a", b"\x12", b"\x12", b"\x12", b"\x22"
_TYPE, _SIZE = b"\x08", b"\x08"
_SMALL = 1 << 12  # bytes, which are copied sooner than looked at
Tensors = list[bytes | memoryview]  # pieces that follow each other


def tensor_pieces(name: str, array: np.ndarray) -> Tensors:
    """The field ``tensor`` of a RunStepResponse for a tensor of numbers."""
    content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    return [_head(name, array.dtype, array.shape), content.tobytes() if content.nbytes < _SMALL else content.reshape(-1).view(np.uint8).data]


@functools.lru_cache(4096)
def _head(name: str, dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    """Everything before the elements."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    dimensions = b"".join(_field(_DIMENSION, _SIZE + varint(extent)) for extent in shape)
    tensor = _TYPE + varint(dtypes.as_dtype(dtype).as_datatype_enum) + _field(_SHAPE, dimensions) + _CONTENT + varint(size)
    named = _field(_NAME, name.encode()) + _VALUE + varint(len(tensor) + size) + tensor
    return _TENSOR + varint(len(named) + size) + named


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + varint(len(content)) + content
