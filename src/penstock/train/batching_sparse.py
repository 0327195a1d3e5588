"""Sparse tensors in batches: they wait in a table beside the queue, in which their handles take their place."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.static import constant_value
from penstock.ops.array.fill import fill
from penstock.ops.array.gather import gather
from penstock.ops.array.shape_ops import expand_dims, squeeze
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.misc import with_dependencies
from penstock.ops.sparse.sparse_functions import sparse_retain
from penstock.ops.sparse.sparse_serialize import TakeManySparseFromTensorsMap, add_many_sparse_to_tensors_map, add_sparse_to_tensors_map


class SparseStore:
    """Which components of a batch are sparse, and the tables that keep them."""

    def __init__(self, lists: list[list[Any]], enqueue_many: bool, keep: Tensor) -> None:
        self._lists, self._many, self._keep = lists, enqueue_many, keep
        self._names: dict[int, str] = {}  # of the tables, per component

    def lists_with_handles(self) -> list[list[Tensor]]:
        """The lists with handles in the place of sparse tensors."""
        return [[self._store(tensor, index) if isinstance(tensor, SparseTensor) else tensor for index, tensor in enumerate(tensors)]
                for tensors in self._lists]

    def _store(self, tensor: SparseTensor, index: int) -> Tensor:
        if index not in self._names:
            self._names[index] = default_graph().unique_name("sparse_batch", mark_as_used=True)
        if self._many and self._keep.shape.ndims == 1:
            tensor = sparse_retain(tensor, gather(self._keep, tensor.indices[:, 0]))
        handles = self._handles(tensor, self._names[index])
        return expand_dims(handles, [-1]) if self._many else expand_dims(handles, [0])

    def _handles(self, tensor: SparseTensor, name: str) -> Tensor:
        add = add_many_sparse_to_tensors_map if self._many else add_sparse_to_tensors_map
        if self._keep.shape.ndims == 1 or constant_value(self._keep) is not None:
            return add(tensor, shared_name=name)
        # What is not kept is not stored: it would never be taken out again.
        return cond(self._keep, lambda: add(tensor, shared_name=name),
                    lambda: fill(tensor.dense_shape[0:1] if self._many else [], dt.int64.np.type(-1)))

    def with_sparse_tensors(self, tensors: list[Tensor]) -> list[Any]:
        """A batch with the sparse tensors back in their places. Using one component takes all of them out of their tables."""
        if not self._names:
            return tensors
        whole = [self._restore(tensor, index) if index in self._names else tensor for index, tensor in enumerate(tensors)]
        ops = list(dict.fromkeys(_op(tensor) for tensor in whole))
        return [_after_ops([op for op in ops if op is not _op(tensor)], tensor) for tensor in whole]

    def _restore(self, handles: Tensor, index: int) -> SparseTensor:
        sparse = self._lists[0][index]
        rank = sparse.dense_shape.shape.extent(0) if sparse.dense_shape.shape.ndims is not None else None
        if rank is not None and not self._many:
            rank += 1
        indices, values, shape = TakeManySparseFromTensorsMap(squeeze(handles, [1]), dtype=sparse.dtype.base_dtype, shared_name=self._names[index])
        indices.set_shape([None, rank])
        shape.set_shape([rank])
        return SparseTensor(indices, values, shape)


def _op(tensor: Any) -> Any:
    return tensor.values.op if isinstance(tensor, SparseTensor) else tensor.op


def _after_ops(ops: list[Any], tensor: Any) -> Any:
    if not ops:
        return tensor
    if isinstance(tensor, SparseTensor):
        return SparseTensor(*(with_dependencies(ops, part) for part in (tensor.indices, tensor.values, tensor.dense_shape)))
    return with_dependencies(ops, tensor)
