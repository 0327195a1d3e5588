"""Feature crosses: every combination of the features that the columns of a row hold, as text or as a hash."""
from __future__ import annotations

import itertools
from collections.abc import Callable
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


def _hash_features_without_key(features: tuple[int, ...], num_buckets: int) -> int:
    """What TensorFlow's first feature crosses computed, before they had a key."""
    total = DEFAULT_HASH_KEY
    for feature in features:
        signed = total - (1 << 64) if total >> 63 else total  # a shift of theirs keeps the sign
        total ^= (feature + 0x9E3779B97F4A7800 + (signed << 10) + (signed >> 4)) & _64_BITS
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


def _cross_shape(indices: Any, values: Any, shapes: Any, dense: Any) -> Any:
    if not indices and not dense:
        raise ValueError("a cross needs at least one column")
    if not len(indices) == len(values) == len(shapes):
        raise ValueError(f"Expected one indices, values and shape per sparse column, got {len(indices)}, {len(values)} and {len(shapes)}")
    for column in zip(indices, values, shapes):
        entries_shape(*column)
        column[2].shape.assert_is_compatible_with([2])
    return new_sparse(2)


@op("SparseCross", "indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: dense_types -> output_indices: int64, "
    "output_values: out_type, output_shape: int64", N=count(0), hashed_output=BOOL, num_buckets=count(0), hash_key=INT,
    sparse_types=type_list(0, _KINDS), dense_types=type_list(0, _KINDS), out_type=_KINDS, internal_type=_KINDS)
class SparseCross:
    """The crosses of sparse and dense columns, row by row; the last column varies fastest."""

    ranks = {"dense_inputs": 2}
    gradient = None

    def shape(indices, values, shapes, dense_inputs):
        return _cross_shape(indices, values, shapes, dense_inputs)

    def kernel(indices, values, shapes, dense_inputs, out_type, num_buckets, hash_key):
        join = (lambda features: _hash_features(features, hash_key, num_buckets)) if out_type is dt.int64 else b"_X_".join
        return _crosses(indices, values, shapes, dense_inputs, out_type is dt.int64, join)


@op("SparseFeatureCross", "indices: N * int64, values: sparse_types, shapes: N * int64, dense: dense_types -> output_indices: int64, "
    "output_values: out_type, output_shape: int64", N=count(0), hashed_output=BOOL, num_buckets=count(0),
    sparse_types=type_list(0, _KINDS), dense_types=type_list(0, _KINDS), out_type=_KINDS, internal_type=_KINDS)
class SparseFeatureCross:
    """SparseCross with the hash of ``tf.contrib.layers`` before it had a key."""

    ranks = {"dense": 2}
    gradient = None

    def shape(indices, values, shapes, dense):
        return _cross_shape(indices, values, shapes, dense)

    def kernel(indices, values, shapes, dense, out_type, num_buckets):
        join = (lambda features: _hash_features_without_key(features, num_buckets)) if out_type is dt.int64 else b"_X_".join
        return _crosses(indices, values, shapes, dense, out_type is dt.int64, join)


def _crosses(indices: Any, values: Any, shapes: Any, dense: Any, as_numbers: bool, join: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """Indices, values and shape of the crosses; ``join`` makes one of some features."""
    batch = int(shapes[0][0]) if shapes else len(dense[0])
    _check_batch(batch, indices, shapes, dense)
    columns = [_sparse_column(*column, batch) for column in zip(indices, values)] + [each.tolist() for each in dense]
    prepare = _as_number if as_numbers else _as_text
    prepared = [[[prepare(feature) for feature in row] for row in column] for column in columns]
    places, crosses, longest = [], [], 0
    for row in range(batch):
        number = -1
        for number, features in enumerate(itertools.product(*[column[row] for column in prepared])):
            places.append((row, number))
            crosses.append(join(features))
        longest = max(longest, number + 1)
    crossed_values = np.array(crosses, np.int64) if as_numbers else strings(crosses)
    return np.array(places, np.int64).reshape(-1, 2), crossed_values, np.array([batch, longest], np.int64)


def _cross(inputs: Any, hashed: bool, num_buckets: int, hash_key: int | None, name: str | None) -> SparseTensor:
    return SparseTensor(*SparseCross(*_columns(inputs), hashed_output=hashed, num_buckets=num_buckets,
                                     hash_key=DEFAULT_HASH_KEY if hash_key is None else hash_key, **_kinds(inputs, hashed), name=name))


def sparse_feature_cross(inputs: Any, hashed_output: bool = False, num_buckets: int = 0, name: str | None = None,
                         hash_key: int | None = None) -> SparseTensor:
    """The crosses as ``tf.contrib.layers`` makes them: without a key, hashes are those of its first version."""
    if hash_key:
        return _cross(inputs, hashed_output, num_buckets, hash_key, name)
    return SparseTensor(*SparseFeatureCross(*_columns(inputs), hashed_output=hashed_output, num_buckets=num_buckets,
                                            **_kinds(inputs, hashed_output), name=name))


def _columns(inputs: Any) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Indices, values and shapes of the sparse columns, and the dense columns."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("Inputs must be a list")
    sparse = [as_sparse(one) for one in inputs if isinstance(one, (SparseTensor, SparseTensorValue))]
    dense = [_feature(to_tensor(one)) for one in inputs if not isinstance(one, (SparseTensor, SparseTensorValue))]
    return [one.indices for one in sparse], [_feature(one.values) for one in sparse], [one.dense_shape for one in sparse], dense


def _kinds(inputs: Any, hashed: bool) -> dict[str, Any]:
    only_text = all(getattr(one, "dtype", None) == dt.string for one in inputs)
    return {"out_type": dt.int64 if hashed else dt.string, "internal_type": dt.string if only_text else dt.int64}


def _feature(tensor: Any) -> Any:
    """Strings as they are, numbers as int64."""
    return tensor if tensor.dtype.base_dtype in _KINDS else cast(tensor, dt.int64)


def sparse_cross(inputs: Any, name: str | None = None) -> SparseTensor:
    """``tf.sparse.cross``: the crosses as strings, joined by "_X_"."""
    return _cross(inputs, False, 0, None, name)


def sparse_cross_hashed(inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None) -> SparseTensor:
    """``tf.sparse.cross_hashed``: the crosses as numbers, below ``num_buckets`` if that is not 0."""
    return _cross(inputs, True, num_buckets, hash_key, name)
