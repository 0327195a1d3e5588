"""Barriers: operations and the Python class. The state is a ``penstock.state.barriers.Barrier``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.attrs import INT, TYPE
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, as_shape, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.common import fixed, nothing
from penstock.ops.queues.handles import find_or_create, plain
from penstock.ops.queues.queue import CREATION, no_timeout
from penstock.state import barriers

_HANDLE = "handle: Ref(string)"


@op("Barrier", "-> handle: Ref(string)", **CREATION)
class BarrierOp:
    """A barrier: elements whose components arrive one by one."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, component_types, shapes, container, shared_name):
        barrier = find_or_create(ctx, "Barrier", container, shared_name, lambda name: barriers.Barrier(name, component_types, shapes))
        barrier.check_same(component_types, shapes)
        return barrier


@op("BarrierInsertMany", f"{_HANDLE}, keys: string, values: T ->", T=TYPE, component_index=INT)
class BarrierInsertMany:
    """Gives the elements of some keys one of their components."""

    stateful = True
    ranks = {"keys": 1}
    gradient = None

    def shape(keys, values):
        values.shape.with_rank_at_least(1)[:1].merge_with(keys.shape)
        return []

    def kernel(handle, keys, values, component_index):
        plain(handle).insert_many(component_index, list(keys), values)
        return ()


@op("BarrierTakeMany", f"{_HANDLE}, num_elements: int32 -> indices: int64, keys: string, values: component_types",
    component_types=CREATION["component_types"], allow_small_batch=False, wait_for_incomplete=False, timeout_ms=-1)
class BarrierTakeMany:
    """Takes complete elements, when there are as many."""

    stateful = blocking = cancellable = True
    ranks = {"num_elements": 0}
    gradient = None

    def shape(handle, num_elements, component_types, allow_small_batch):
        count = None if allow_small_batch else constant_value(num_elements)
        batch = TensorShape([None if count is None else int(count)])
        shapes = handle.op.attrs.get("shapes") or [unknown_shape()] * len(component_types)
        return [batch, batch, *(batch.concatenate(shape) for shape in shapes)]

    def kernel(handle, num_elements, ctx, allow_small_batch, wait_for_incomplete, timeout_ms):
        no_timeout(timeout_ms)
        return plain(handle).take_many(ctx.step, int(num_elements), allow_small_batch, wait_for_incomplete)


@op("BarrierClose", f"{_HANDLE} ->", cancel_pending_enqueues=False)
class BarrierClose:
    """Forbids new keys."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(handle, cancel_pending_enqueues):
        plain(handle).close(cancel_pending_enqueues)
        return ()


@op("BarrierReadySize", f"{_HANDLE} -> size: int32")
class BarrierReadySize:
    """How many elements are complete."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(handle):
        return np.int32(plain(handle).ready_size)


@op("BarrierIncompleteSize", f"{_HANDLE} -> size: int32")
class BarrierIncompleteSize:
    """How many elements lack components."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(handle):
        return np.int32(plain(handle).incomplete_size)




class Barrier:
    """Elements whose components arrive one by one, under string keys; complete ones can be taken."""

    def __init__(self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier") -> None:
        self._types = [dt.as_dtype(item) for item in (types if isinstance(types, (list, tuple)) else [types])]
        if shapes is None:
            self._shapes = [unknown_shape() for _ in self._types]
        else:
            self._shapes = [as_shape(shape) for shape in shapes]
            for index, shape in enumerate(self._shapes):
                if shape.num_elements() == 0:
                    raise ValueError(f"Empty tensors are not supported, but received shape '{shape}' at index {index}")
        self._barrier_ref = BarrierOp(component_types=self._types, shapes=self._shapes, shared_name=shared_name, name=name)

    @property
    def barrier_ref(self) -> Tensor:
        """The handle of the barrier."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the node that makes the barrier."""
        return self._barrier_ref.op.name

    def _name_for(self, what: str, name: str | None) -> str:
        return name or f"{self.name.split('/')[-1]}_{what}"

    def insert_many(self, component_index: int, keys: Any, values: Any, name: str | None = None) -> Operation:
        """An operation that gives the elements of ``keys`` one of their components."""
        return BarrierInsertMany(self._barrier_ref, keys, values, component_index=component_index, name=self._name_for("BarrierInsertMany", name))

    def take_many(self, num_elements: Any, allow_small_batch: bool = False, timeout: int | None = None, name: str | None = None) -> Any:
        """(indices, keys, values) of complete elements, when there are ``num_elements``."""
        return BarrierTakeMany(
            self._barrier_ref, num_elements, component_types=self._types, allow_small_batch=allow_small_batch, timeout_ms=timeout,
            name=self._name_for("BarrierTakeMany", name))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """An operation that forbids new keys."""
        return BarrierClose(self._barrier_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=self._name_for("BarrierClose", name))

    def ready_size(self, name: str | None = None) -> Tensor:
        """How many elements are complete."""
        return BarrierReadySize(self._barrier_ref, name=self._name_for("BarrierReadySize", name))

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many elements lack components."""
        return BarrierIncompleteSize(self._barrier_ref, name=self._name_for("BarrierIncompleteSize", name))
