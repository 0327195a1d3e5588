"""Sparse tensors in one piece: as strings (three TensorProtos), or kept in a table and named by a handle.

Either way a sparse tensor can wait in a queue and be batched there like a dense one.
"""
from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from penstock.errors import KernelError, ResourceExhaustedError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE, types
from penstock.graph.composite import SparseTensor
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import unknown_shape
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.ops.common import at_least
from penstock.ops.sparse.sparse import as_sparse, parts
from penstock.ops.sparse.sparse_kernels import check_bounds, check_parts, entries_shape, new_sparse

Parts = tuple[np.ndarray, np.ndarray, np.ndarray]
_MAX_ROWS = 1 << 24
_FORM = types(dt.string, dt.variant, default=dt.string)


# --- taking apart and putting together -------------------------------------------------------------------------------

def _rows(indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> list[Parts]:
    """A sparse tensor as one sparse tensor per row of its first dimension."""
    check_parts(indices, values, shape)
    if len(shape) < 2:
        raise invalid_argument(f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}")
    if shape[0] > _MAX_ROWS:
        raise KernelError(ResourceExhaustedError, f"a SparseTensor of {shape[0]} rows cannot be taken apart: at most {_MAX_ROWS} are possible")
    check_bounds(indices, shape)
    order = np.argsort(indices[:, 0], kind="stable")
    ends = np.cumsum(np.bincount(indices[:, 0], minlength=int(shape[0])))
    return [(indices[these, 1:], values[these], shape[1:]) for these in np.split(order, ends[:-1])] if len(ends) else []


def _together(pieces: list[Parts], leading: tuple[int, ...], dtype: np.dtype) -> Parts:
    """Sparse tensors of one rank as one, with ``leading`` dimensions in front; the others are as long as the longest."""
    if not leading:  # one tensor, as it was
        ((indices, values, shape),) = pieces
        return np.asarray(indices, np.int64), values, np.asarray(shape, np.int64)
    ranks = [len(shape) + len(leading) for _, _, shape in pieces]
    for place, rank in enumerate(ranks):
        if rank != ranks[0]:
            raise invalid_argument(f"Inconsistent rank across SparseTensors: rank prior to SparseTensor[{place}] was: {ranks[0]} but rank of "
                                   f"SparseTensor[{place}] is: {rank}")
    places = [np.array(place, np.int64) for place in np.ndindex(*leading)]
    indices = [np.concatenate([np.tile(place, (len(rows), 1)), rows], axis=1) for place, (rows, _, _) in zip(places, pieces)]
    longest = np.max([shape for _, _, shape in pieces], axis=0) if pieces else np.zeros(0, np.int64)
    rank = len(leading) + len(longest)
    return (np.concatenate(indices).astype(np.int64) if indices else np.zeros((0, rank), np.int64),
            np.concatenate([values for _, values, _ in pieces]) if pieces else np.zeros(0, dtype),
            np.concatenate([np.array(leading, np.int64), longest]).astype(np.int64))


def _serialize_pieces(pieces: list[Parts], out_type: Any) -> np.ndarray:
    """Three strings, or three variants that hold the arrays themselves, per sparse tensor."""
    result = np.empty(3 * len(pieces), object)
    for place, part in enumerate(part for piece in pieces for part in piece):
        result[place] = part if out_type is dt.variant else array_to_proto(part).SerializeToString()
    return result


def _array(serialized: bytes) -> np.ndarray:
    try:
        return proto_to_array(TensorProto.FromString(serialized))
    except (DecodeError, TypeError, ValueError):
        raise invalid_argument("Could not parse a serialized part of a SparseTensor") from None


def _deserialize_pieces(serialized: np.ndarray, dtype: Any) -> list[Parts]:
    """The inverse of ``_serialize_pieces``."""
    tensors = []
    for number, three in enumerate(serialized.reshape(-1, 3)):
        indices, values, shape = (_array(part) if isinstance(part, bytes) else part for part in three)
        if values.dtype != dtype.np:
            raise invalid_argument(f"Requested SparseTensor of type {dtype.name} but SparseTensor[{number}].values.dtype() == "
                                   f"{dt.as_dtype(values.dtype).name}")
        check_parts(indices, values, shape)
        tensors.append((indices, values, shape))
    return tensors


# --- strings ---------------------------------------------------------------------------------------------------------

_SPARSE = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
_OUTPUT = "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64"


@op("SerializeSparse", f"{_SPARSE} -> serialized_sparse: out_type", T=TYPE, out_type=_FORM)
class SerializeSparse:
    """A sparse tensor as three strings."""

    gradient = None

    def shape(sparse_indices, sparse_values, sparse_shape):
        entries_shape(sparse_indices, sparse_values, sparse_shape)
        return [3]

    def kernel(sparse_indices, sparse_values, sparse_shape, out_type):
        check_parts(sparse_indices, sparse_values, sparse_shape)
        return _serialize_pieces([(sparse_indices, sparse_values, sparse_shape)], out_type)


@op("SerializeManySparse", f"{_SPARSE} -> serialized_sparse: out_type", T=TYPE, out_type=_FORM)
class SerializeManySparse:
    """Each row of a sparse tensor as three strings."""

    gradient = None

    def shape(sparse_indices, sparse_values, sparse_shape):
        entries_shape(sparse_indices, sparse_values, sparse_shape)
        return [None, 3]

    def kernel(sparse_indices, sparse_values, sparse_shape, out_type):
        return _serialize_pieces(_rows(sparse_indices, sparse_values, sparse_shape), out_type).reshape(-1, 3)


@op("DeserializeManySparse", f"serialized_sparse: string -> {_OUTPUT}", dtype=TYPE)
class DeserializeManySparse:
    """Sparse tensors, given as rows of three strings, as the rows of one sparse tensor."""

    gradient = None

    def shape(serialized_sparse):
        serialized_sparse.shape.with_rank(2).merge_with([None, 3])
        return new_sparse(None)

    def kernel(serialized_sparse, dtype):
        return _together(_deserialize_pieces(serialized_sparse, dtype), (len(serialized_sparse),), dtype.np)


@op("DeserializeSparse", f"serialized_sparse: Tserialized -> {_OUTPUT}", dtype=TYPE, Tserialized=_FORM)
class DeserializeSparse:
    """Sparse tensors, three strings each in the last dimension, as one; the other dimensions come first in its shape."""

    ranks = {"serialized_sparse": at_least(1)}
    gradient = None

    def shape(serialized_sparse):
        if serialized_sparse.shape.ndims is not None:
            serialized_sparse.shape[-1].merge_with(3)
        return new_sparse(None)

    def kernel(serialized_sparse, dtype):
        return _together(_deserialize_pieces(serialized_sparse, dtype), serialized_sparse.shape[:-1], dtype.np)


# --- handles ---------------------------------------------------------------------------------------------------------

class SparseTensorsMap:
    """Sparse tensors that wait under a number until they are taken out."""

    def __init__(self) -> None:
        self._held: dict[int, Parts] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def add(self, piece: Parts) -> int:
        """Keeps a sparse tensor; returns its handle."""
        with self._lock:
            handle = next(self._numbers)
            self._held[handle] = piece
            return handle

    def take(self, handle: int) -> Parts:
        """Hands a sparse tensor out, once."""
        with self._lock:
            piece = self._held.pop(handle, None)
        if piece is None:
            raise invalid_argument(f"Unable to find SparseTensor: {handle} in map")
        return piece


def _map(ctx: Any, container: str, shared_name: str) -> SparseTensorsMap:
    return ctx.resources.lookup_or_create(container, shared_name or ctx.op.name, "SparseTensorsMap", SparseTensorsMap)


@op("AddSparseToTensorsMap", f"{_SPARSE} -> sparse_handle: int64", T=TYPE, container="", shared_name="")
class AddSparseToTensorsMap:
    """Keeps a sparse tensor in a table and gives its handle."""

    stateful = True
    gradient = None

    def shape(sparse_indices, sparse_values, sparse_shape):
        entries_shape(sparse_indices, sparse_values, sparse_shape)
        return []

    def kernel(sparse_indices, sparse_values, sparse_shape, ctx, container, shared_name):
        check_parts(sparse_indices, sparse_values, sparse_shape)
        return np.int64(_map(ctx, container, shared_name).add((sparse_indices, sparse_values, sparse_shape)))


@op("AddManySparseToTensorsMap", f"{_SPARSE} -> sparse_handles: int64", T=TYPE, container="", shared_name="")
class AddManySparseToTensorsMap:
    """Keeps each row of a sparse tensor in a table and gives their handles."""

    stateful = True
    gradient = None

    def shape(sparse_indices, sparse_values, sparse_shape):
        entries_shape(sparse_indices, sparse_values, sparse_shape)
        return unknown_shape(1)

    def kernel(sparse_indices, sparse_values, sparse_shape, ctx, container, shared_name):
        table = _map(ctx, container, shared_name)
        return np.array([table.add(row) for row in _rows(sparse_indices, sparse_values, sparse_shape)], np.int64)


@op("TakeManySparseFromTensorsMap", f"sparse_handles: int64 -> {_OUTPUT}", dtype=TYPE, container="", shared_name="")
class TakeManySparseFromTensorsMap:
    """The sparse tensors of these handles as the rows of one; they leave the table."""

    stateful = True
    gradient = None

    def shape(sparse_handles):
        sparse_handles.shape.with_rank(1)
        return new_sparse(None)

    def kernel(sparse_handles, ctx, dtype, container, shared_name):
        table = _map(ctx, container, shared_name)
        return _together([table.take(handle) for handle in sparse_handles.tolist()], (len(sparse_handles),), dtype.np)


# --- functions -------------------------------------------------------------------------------------------------------

def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = dt.string) -> Tensor:
    """``tf.serialize_sparse``: a vector of three strings."""
    return SerializeSparse(*parts(as_sparse(sp_input)), out_type=out_type, name=name)


def serialize_many_sparse(sp_input: Any, name: str | None = None, out_type: Any = dt.string) -> Tensor:
    """``tf.serialize_many_sparse``: three strings per row of the first dimension."""
    return SerializeManySparse(*parts(as_sparse(sp_input)), out_type=out_type, name=name)


def deserialize_many_sparse(serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None) -> SparseTensor:
    """``tf.deserialize_many_sparse``: the sparse tensors as rows of one; ``rank`` is what is known of the result's rank."""
    return _with_rank(DeserializeManySparse(serialized_sparse, dtype=dtype, name=name), rank)


def deserialize_sparse(serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None) -> SparseTensor:
    """``tf.deserialize_sparse``: the inverse of ``serialize_sparse``, also for stacks of its results."""
    return _with_rank(DeserializeSparse(serialized_sparse, dtype=dtype, name=name), rank)


def add_sparse_to_tensors_map(sp_input: Any, container: str = "", shared_name: str = "", name: str | None = None) -> Tensor:
    """Keeps a sparse tensor in a table; ``take_many_sparse_from_tensors_map`` gets it back from its handle."""
    return AddSparseToTensorsMap(*parts(as_sparse(sp_input)), container=container, shared_name=shared_name, name=name)


def add_many_sparse_to_tensors_map(sp_input: Any, container: str = "", shared_name: str = "", name: str | None = None) -> Tensor:
    """Keeps each row of a sparse tensor in a table."""
    return AddManySparseToTensorsMap(*parts(as_sparse(sp_input)), container=container, shared_name=shared_name, name=name)


def take_many_sparse_from_tensors_map(sparse_map_op: Operation, sparse_handles: Any, rank: int | None = None,
                                      name: str | None = None) -> SparseTensor:
    """The sparse tensors that ``sparse_map_op`` keeps under these handles, as the rows of one."""
    shared_name = sparse_map_op.attrs["shared_name"] or sparse_map_op.name
    result = TakeManySparseFromTensorsMap(sparse_handles, dtype=sparse_map_op.attrs["T"], shared_name=shared_name,
                                          container=sparse_map_op.attrs["container"], name=name)
    return _with_rank(result, rank)


def _with_rank(result: list[Tensor], rank: int | None) -> SparseTensor:
    indices, values, shape = result
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)
