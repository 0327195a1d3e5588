"""``tf.FIFOQueue`` and its kin: queues as Python objects that add operations to the graph."""
from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.seeds import get_seed
from penstock.graph.shape import TensorShape, as_shape, scalar
from penstock.graph.static import constant_value
from penstock.ops.array.gather import gather
from penstock.ops.queues import queue as ops
from penstock.ops.queues.components import Components


class QueueBase(Components):
    """What all queues have."""

    _unequal_length = "Queue {} must have the same length as dtypes"

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Tensor) -> None:
        super().__init__(list(dtypes), shapes, names)
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Tensor, queues: Sequence[QueueBase]) -> QueueBase:
        """The queue with this index in a list of alike queues."""
        if not queues or not isinstance(queues, list) or not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(queue.dtypes != first.dtypes for queue in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(queue.names != first.names for queue in queues):
            raise TypeError("Queues do not have matching component names.")
        shapes = [functools.reduce(TensorShape.most_specific_compatible_shape, of_one) for of_one in zip(*(queue.shapes for queue in queues))]
        return QueueBase(first.dtypes, shapes, first.names, gather([queue.queue_ref for queue in queues], index))

    @property
    def queue_ref(self) -> Tensor:
        """The handle of the queue."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the node that makes the queue."""
        return self._queue_ref.op.name

    # --- elements in and out -----------------------------------------------------------------------------------------

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """An operation that adds one element: a tensor, a list of components, or a dictionary if the queue has names."""
        with name_scope(name, f"{self._name}_enqueue", self._scope_values(vals)) as scope:
            components = self._components(vals)
            for component, shape in zip(components, self._shapes):
                component.shape.assert_is_compatible_with(shape)
            return ops.QueueEnqueueV2(self._queue_ref, components, name=scope)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """An operation that adds the slices of the components along their first axis as elements."""
        with name_scope(name, f"{self._name}_EnqueueMany", self._scope_values(vals)) as scope:
            components = self._components(vals)
            batch = components[0].shape.with_rank_at_least(1)[0] if components[0].shape.ndims is not None else None
            for component, shape in zip(components, self._shapes):
                if component.shape.ndims is not None:
                    batch = component.shape.with_rank_at_least(1)[0].merge_with(batch)
                    component.shape[1:].assert_is_compatible_with(shape)
            return ops.QueueEnqueueManyV2(self._queue_ref, components, name=scope)

    def dequeue(self, name: str | None = None) -> Any:
        """One element: a tensor, a list of components, or a dictionary if the queue has names."""
        return self._as_element(ops.QueueDequeueV2(self._queue_ref, component_types=self._dtypes, name=name or f"{self._name}_Dequeue"))

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """``n`` elements, stacked along a new first axis."""
        tensors = ops.QueueDequeueManyV2(self._queue_ref, n, component_types=self._dtypes, name=name or f"{self._name}_DequeueMany")
        count = constant_value(tensors[0].op.inputs[1])
        return self._as_element(tensors, TensorShape([None if count is None else int(count)]))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """``n`` elements, or fewer if the queue is closed and has no more, stacked along a new first axis."""
        tensors = ops.QueueDequeueUpToV2(self._queue_ref, n, component_types=self._dtypes, name=name or f"{self._name}_DequeueUpTo")
        return self._as_element(tensors, TensorShape([None]))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """An operation that closes the queue."""
        return ops.QueueCloseV2(self._queue_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=name or f"{self._name}_Close")

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed."""
        return ops.QueueIsClosedV2(self._queue_ref, name=name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements in the queue."""
        return ops.QueueSizeV2(self._queue_ref, name=name or f"{self._name}_Size")

    # --- forms of an element -----------------------------------------------------------------------------------------

    @staticmethod
    def _scope_values(vals: Any) -> Any:
        if isinstance(vals, dict):
            return list(vals.values())
        return vals if isinstance(vals, (list, tuple)) else [vals]

    def _components(self, vals: Any) -> list[Tensor]:
        """The components of what a caller enqueues, as tensors."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(f"Keys in dictionary to enqueue do not match names of Queue.  Dictionary: {sorted(vals)}, "
                                 f"Queue: {sorted(self._names)}")
            vals = [vals[key] for key in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, (list, tuple)):
            vals = [vals]
        return [to_tensor(value, dtype, f"component_{index}") for index, (value, dtype) in enumerate(zip(vals, self._dtypes))]

    def _as_element(self, tensors: list[Tensor], batch: TensorShape = scalar()) -> Any:
        for tensor, shape in zip(tensors, self._shapes):  # the handle alone does not tell them if it was chosen from a list
            tensor.set_shape(batch.concatenate(shape))
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors


def _dtype_list(dtypes: Any) -> list[dt.DType]:
    return [dt.as_dtype(item) for item in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]


def _shape_list(shapes: Any, count: int) -> list[TensorShape] | None:
    """One shape per component; a single shape stands for all of a single component."""
    if shapes is None:
        return None
    if not isinstance(shapes, (list, tuple)) or (count == 1 and not any(isinstance(s, (list, tuple, TensorShape)) for s in shapes)):
        shapes = [shapes]
    return [as_shape(shape) for shape in shapes]


def _whole_shapes(shapes: Any, count: int) -> list[TensorShape] | None:
    """As ``_shape_list``, for queues whose elements all have the same shape."""
    whole = _shape_list(shapes, count)
    if any(not shape.is_fully_defined() for shape in whole or ()):
        raise ValueError(f"All shapes must be fully defined: {whole}")
    return whole


def _name_list(names: Any) -> list[str] | None:
    return [names] if isinstance(names, str) else names


class FIFOQueue(QueueBase):
    """``tf.FIFOQueue``: elements leave in the order in which they came."""

    def __init__(self, capacity: int, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
                 name: str = "fifo_queue") -> None:
        dtypes = _dtype_list(dtypes)
        shapes = _whole_shapes(shapes, len(dtypes))
        handle = ops.FIFOQueueV2(component_types=dtypes, shapes=shapes or (), capacity=capacity, shared_name=shared_name, name=name)
        super().__init__(dtypes, shapes, _name_list(names), handle)


class PaddingFIFOQueue(QueueBase):
    """``tf.PaddingFIFOQueue``: as FIFOQueue, for components with some extents unknown; ``dequeue_many`` pads them to the largest."""

    def __init__(self, capacity: int, dtypes: Any, shapes: Any, names: Any = None, shared_name: str | None = None,
                 name: str = "padding_fifo_queue") -> None:
        dtypes = _dtype_list(dtypes)
        shapes = _shape_list(shapes, len(dtypes)) or []
        if len(dtypes) != len(shapes):
            raise ValueError(f"Shapes must be provided for all components, but received {len(dtypes)} dtypes and {len(shapes)} shapes.")
        if any(shape.ndims is None for shape in shapes):
            raise ValueError(f"All dimensions must have a defined rank: {shapes}")
        handle = ops.PaddingFIFOQueueV2(component_types=dtypes, shapes=shapes, capacity=capacity, shared_name=shared_name, name=name)
        super().__init__(dtypes, shapes, _name_list(names), handle)


class RandomShuffleQueue(QueueBase):
    """``tf.RandomShuffleQueue``: elements leave in random order; while it is open, ``min_after_dequeue`` of them stay."""

    def __init__(self, capacity: int, min_after_dequeue: int, dtypes: Any, shapes: Any = None, names: Any = None, seed: int | None = None,
                 shared_name: str | None = None, name: str = "random_shuffle_queue") -> None:
        dtypes = _dtype_list(dtypes)
        shapes = _whole_shapes(shapes, len(dtypes))
        seed1, seed2 = get_seed(seed)
        if seed1 is None and seed2 is None:
            seed1, seed2 = 0, 0
        elif seed is None and shared_name is not None:
            # A shared queue needs equal seeds in every process: they come from its name.
            seed2 = int(hashlib.md5((str(seed1) + shared_name).encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
        handle = ops.RandomShuffleQueueV2(component_types=dtypes, shapes=shapes or (), capacity=capacity, min_after_dequeue=min_after_dequeue,
                                          seed=seed1, seed2=seed2, shared_name=shared_name, name=name)
        super().__init__(dtypes, shapes, _name_list(names), handle)


class PriorityQueue(QueueBase):
    """``tf.PriorityQueue``: the element with the smallest first component, an int64, leaves first; ``types`` are those of the others."""

    def __init__(self, capacity: int, types: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
                 name: str = "priority_queue") -> None:
        types = _dtype_list(types)
        shapes = _whole_shapes(shapes, len(types))
        handle = ops.PriorityQueueV2(component_types=types, shapes=shapes or (), capacity=capacity, shared_name=shared_name, name=name)
        super().__init__([dt.int64, *types], shapes and [scalar(), *shapes], _name_list(names), handle)
