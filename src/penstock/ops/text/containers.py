"""Compressed bytes, and short numbers that stand for values."""
from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

from penstock.errors import DataLossError, KernelError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.static import constant_value
from penstock.ops.common import like, strings
from penstock.ops.public import function
from penstock.ops.text.files import text
from penstock.platform.hashing import fingerprint64

_METHOD = b"farmhash64"
_HEADERS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}


@op("DecodeCompressed", "bytes: string -> output: string", compression_type="")
class DecodeCompressed:
    """What was compressed; without a ``compression_type`` the strings themselves."""

    shape = like("bytes")
    gradient = None

    def kernel(bytes, compression_type):
        values = np.asarray(bytes, object)
        return strings((_inflate(text(item), compression_type) for item in values.reshape(-1)), values.shape)


def _inflate(content: bytes, kind: str) -> bytes:
    if not kind:
        return content
    if kind not in _HEADERS:
        raise invalid_argument(f"Only ZLIB, GZIP or no compression is supported, not {kind!r}")
    try:
        return zlib.decompressobj(_HEADERS[kind]).decompress(content)  # of bytes that end too early, what there is, as in TensorFlow
    except zlib.error as error:
        raise KernelError(DataLossError, f"inflate() failed, the bytes are not of the type {kind}: {error}") from None


@op("Fingerprint", "data: T, method: string -> fingerprint: uint8", T=TYPE)
class Fingerprint:
    """Eight bytes for each row, the same on all machines."""

    ranks = {"method": 0}
    gradient = None

    def shape(data, method):
        known = constant_value(method)
        if known is not None and text(known) != _METHOD:
            raise ValueError(f"Unsupported method: {text(known).decode('latin-1')}. There is {_METHOD.decode()}.")
        rows = None if data.shape.ndims is None else data.shape.with_rank_at_least(1)[0]
        return [rows, 8]

    def kernel(data, method):
        if text(method) != _METHOD:
            raise invalid_argument(f"Unsupported fingerprint method: {text(method).decode('latin-1')}. There is {_METHOD.decode()}.")
        data = np.asarray(data)
        if data.ndim < 1:
            raise invalid_argument("Fingerprint needs rows; the data is a scalar")
        rows = data.reshape(len(data), math.prod(data.shape[1:]))
        return np.array([fingerprint64(_row_bytes(row, data.ndim == 1)) for row in rows], "<u8").view(np.uint8).reshape(len(data), 8)


def _row_bytes(row: np.ndarray, single: bool) -> bytes:
    """What stands for a row: its numbers, or its ``single`` string, or the fingerprints of several."""
    if row.dtype != object:
        return row.tobytes()
    return text(row[0]) if single else b"".join(fingerprint64(text(item)).to_bytes(8, "little") for item in row)


decode_compressed = function(DecodeCompressed, "decode_compressed")


def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Tensor:
    """``tf.fingerprint``: eight bytes for each row of ``data``, which are the same on all machines."""
    return Fingerprint(to_tensor(data), to_tensor(method, dt.string), name=name)
