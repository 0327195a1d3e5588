"""Feature crosses: every combination of the features that the columns of a row hold, as text or as a hash."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from penstock.errors import KernelError, ResourceExhaustedError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import BOOL, INT, count, type_list
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.convert import to_tensor
from penstock.graph.opdef import op
from penstock.ops.array.cast import cast
from penstock.ops.common import strings
from penstock.ops.sparse.sparse import as_sparse
from penstock.ops.sparse.sparse_kernels import check_bounds, entries_shape, new_sparse
from penstock.platform.hashing import fingerprint64

DEFAULT_HASH_KEY = 0xDECAFCAFFE
_MULTIPLIER = 0xC6A4A7935BD1E995
_64_BITS = 0xFFFFFFFFFFFFFFFF
_MAX_ROWS = 1 << 24
_KINDS = frozenset([dt.int64, dt.string])


def _shift_mix(value: int) -> int:
    return value ^ (value >> 47)


def combine_fingerprints(first: int, second: int) -> int:
    """One 64-bit fingerprint for an ordered pair of them."""
    mixed = first ^ _MULTIPLIER ^ (_shift_mix(second * _MULTIPLIER & _64_BITS) * _MULTIPLIER & _64_BITS)
    mixed = mixed * _MULTIPLIER & _64_BITS
    return _shift_mix(_shift_mix(mixed) * _MULTIPLIER & _64_BITS)


def _sparse_column(indices: np.ndarray, values: np.ndarray, batch: int) -> list[list[Any]]:
    """The features of each row."""
    rows: list[list[Any]] = [[] for _ in range(batch)]
    for row, value in zip(indices[:, 0].tolist(), values.tolist()):
        rows[row].append(value)
    return rows


def _hash_features(features: tuple[int, ...], hash_key: int, num_buckets: int) -> int:
    total = hash_key & _64_BITS
    for feature in features:
        total = combine_fingerprints(total, feature)
    return total % (num_buckets or 2**63 - 1)


def _as_number(feature: Any) -> int:
    return fingerprint64(feature) if isinstance(feature, bytes) else feature & _64_BITS


def _as_text(feature: Any) -> bytes:
    return feature if isinstance(feature, bytes) else str(feature).encode()


def _check_batch(batch: int, indices: list[np.ndarray], shapes: list[np.ndarray], dense: list[np.ndarray]) -> None:
    """InvalidArgumentError unless all columns have this many rows, and entries only there."""
    for kind, sizes in (("sparse", [int(shape[0]) for shape in shapes]), ("dense", [len(column) for column in dense])):
        for number, size in enumerate(sizes):
            if size != batch:
                raise invalid_argument(f"Expected batch size {batch} got {size} at {kind} tensor {number}")
    for rows, shape in zip(indices, shapes):
        check_bounds(rows[:, :1], shape[:1])
    if batch > _MAX_ROWS:
        raise KernelError(ResourceExhaustedError, f"a cross of {batch} rows: at most {_MAX_ROWS} are possible")


@op("SparseCross", "indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: dense_types -> output_indices: int64, "
    "output_values: out_type, output_shape: int64", N=count(0), hashed_output=BOOL, num_buckets=count(0), hash_key=INT,
    sparse_types=type_list(0, _KINDS), dense_types=type_list(0, _KINDS), out_type=_KINDS, internal_type=_KINDS)
class SparseCross:
    """The crosses of sparse and dense columns, row by row; the last column varies fastest."""

    ranks = {"dense_inputs": 2}
    gradient = None

    def shape(indices, values, shapes, dense_inputs):
        if not indices and not dense_inputs:
            raise ValueError("a cross needs at least one column")
        if not len(indices) == len(values) == len(shapes):
            raise ValueError(f"Expected one indices, values and shape per sparse column, got {len(indices)}, {len(values)} and {len(shapes)}")
        for column in zip(indices, values, shapes):
            entries_shape(*column)
            column[2].shape.assert_is_compatible_with([2])
        return new_sparse(2)

    def kernel(indices, values, shapes, dense_inputs, out_type, num_buckets, hash_key):
        hashed_output = out_type is dt.int64
        batch = int(shapes[0][0]) if shapes else len(dense_inputs[0])
        _check_batch(batch, indices, shapes, dense_inputs)
        columns = [_sparse_column(*column, batch) for column in zip(indices, values)] + [dense.tolist() for dense in dense_inputs]
        prepare = _as_number if hashed_output else _as_text
        prepared = [[[prepare(feature) for feature in row] for row in column] for column in columns]
        places, crosses, longest = [], [], 0
        for row in range(batch):
            number = -1
            for number, features in enumerate(itertools.product(*[column[row] for column in prepared])):
                places.append((row, number))
                crosses.append(_hash_features(features, hash_key, num_buckets) if hashed_output else b"_X_".join(features))
            longest = max(longest, number + 1)
        crossed_values = np.array(crosses, np.int64) if hashed_output else strings(crosses)
        return np.array(places, np.int64).reshape(-1, 2), crossed_values, np.array([batch, longest], np.int64)


def _cross(inputs: Any, hashed: bool, num_buckets: int, hash_key: int | None, name: str | None) -> SparseTensor:
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("Inputs must be a list")
    sparse = [as_sparse(one) for one in inputs if isinstance(one, (SparseTensor, SparseTensorValue))]
    dense = [to_tensor(one) for one in inputs if not isinstance(one, (SparseTensor, SparseTensorValue))]
    values = [_feature(one.values) for one in sparse]
    dense = [_feature(one) for one in dense]
    only_text = all(one.dtype.base_dtype is dt.string for one in [*values, *dense])
    return SparseTensor(*SparseCross(
        [one.indices for one in sparse], values, [one.dense_shape for one in sparse], dense, hashed_output=hashed, num_buckets=num_buckets,
        hash_key=DEFAULT_HASH_KEY if hash_key is None else hash_key, out_type=dt.int64 if hashed else dt.string,
        internal_type=dt.string if only_text else dt.int64, name=name))


def _feature(tensor: Any) -> Any:
    """Strings as they are, numbers as int64."""
    return tensor if tensor.dtype.base_dtype in _KINDS else cast(tensor, dt.int64)


def sparse_cross(inputs: Any, name: str | None = None) -> SparseTensor:
    """``tf.sparse.cross``: the crosses as strings, joined by "_X_"."""
    return _cross(inputs, False, 0, None, name)


def sparse_cross_hashed(inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None) -> SparseTensor:
    """``tf.sparse.cross_hashed``: the crosses as numbers, below ``num_buckets`` if that is not 0."""
    return _cross(inputs, True, num_buckets, hash_key, name)
