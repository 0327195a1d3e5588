"""Queue operations, in two forms each (see ``handles.py``). The state of a queue is a ``penstock.state.queues.Queue``."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.errors import KernelError, UnimplementedError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import Attr, type_list
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape, scalar, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.common import fixed, nothing
from penstock.ops.queues.handles import SHARING, find_or_create, plain, two_forms
from penstock.ops.random.philox import Philox
from penstock.state import queue_kinds, queues

_CONTENTS = {"component_types": type_list(1), "shapes": Attr("list(shape)", ()), "capacity": -1}
CREATION = {**_CONTENTS, **SHARING}
_BLOCKS = 16  # of four random words, computed at once
_TYPES, _TIMEOUT = {"component_types": type_list(1)}, {"timeout_ms": -1}


def queue_of(ctx: Any, make: Callable[..., Any], component_types: Any, shapes: Any, capacity: int, container: str, shared_name: str,
             *more: Any) -> Any:
    """The queue that a creating node stands for; InvalidArgumentError if it is there already but differs from what the node asks for."""
    if shapes and len(shapes) != len(component_types):
        raise invalid_argument(f"Different number of component types ({len(component_types)}) vs. shapes ({len(shapes)}).")
    queue = find_or_create(ctx, make.kind, container, shared_name, lambda name: make(name, component_types, shapes, capacity, *more))
    queue.check_request(component_types, shapes, capacity)
    return queue


class _Fifo:
    """A queue whose elements leave in the order in which they came."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, component_types, shapes, capacity, container, shared_name):
        return queue_of(ctx, queues.Queue, component_types, shapes, capacity, container, shared_name)


class _Padding:
    """A queue whose components may differ in some extents; taken together they are padded with zeros or empty strings."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, component_types, shapes, capacity, container, shared_name):
        if len(shapes) != len(component_types):
            raise invalid_argument(f"Different number of component types ({len(component_types)}) vs. shapes ({len(shapes)}).")
        return queue_of(ctx, queue_kinds.PaddingQueue, component_types, shapes, capacity, container, shared_name)


class _Shuffle:
    """A queue whose elements leave in random order."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, component_types, shapes, capacity, min_after_dequeue, seed, seed2, container, shared_name):
        if min_after_dequeue < 0:
            raise invalid_argument(f"min_after_dequeue {min_after_dequeue} must be >= 0")
        if 0 <= capacity <= min_after_dequeue:
            raise invalid_argument(f"min_after_dequeue {min_after_dequeue} must be < capacity {capacity}")
        return queue_of(ctx, queue_kinds.ShuffleQueue, component_types, shapes, capacity, container, shared_name, min_after_dequeue,
                        _words(Philox.for_op(seed, seed2)))


class _Priority:
    """A queue whose elements leave by their first component, an int64 that is not among ``component_types``; the smallest first."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, component_types, shapes, capacity, container, shared_name):
        return queue_of(ctx, queue_kinds.PriorityQueue, component_types, shapes, capacity, container, shared_name)


def _words(generator: Philox) -> Callable[[], int]:
    """The words of a random stream, one per call."""
    def words() -> Iterator[int]:
        while True:
            yield from generator.reserve(_BLOCKS).blocks(_BLOCKS).ravel().tolist()

    return words().__next__


FIFOQueue, FIFOQueueV2 = two_forms("FIFOQueue", "-> handle: HANDLE", _Fifo, **CREATION)
PaddingFIFOQueue, PaddingFIFOQueueV2 = two_forms("PaddingFIFOQueue", "-> handle: HANDLE", _Padding, **CREATION)
RandomShuffleQueue, RandomShuffleQueueV2 = two_forms("RandomShuffleQueue", "-> handle: HANDLE", _Shuffle, **_CONTENTS, min_after_dequeue=0, seed=0,
                                                     seed2=0, **SHARING)
PriorityQueue, PriorityQueueV2 = two_forms("PriorityQueue", "-> handle: HANDLE", _Priority,
                                           **{**CREATION, "component_types": Attr("list(type)", ()), "shapes": Attr("list(shape)")})


def _check_types(handle: Any, given: list[dt.DType], form: str) -> Any:
    """The queue; InvalidArgumentError if its elements have other types than the node expects."""
    handle = plain(handle)
    if list(handle.dtypes) != list(given):
        have, expected = (", ".join(["resource", *(d.name for d in types)]) for types in (given, handle.dtypes))
        raise invalid_argument(f"Signature mismatch, have: {form.format(have)} expected: {form.format(expected)}")
    return handle


def no_timeout(timeout_ms: int) -> None:
    """Waiting is limited per step, not per operation."""
    if timeout_ms != -1:
        raise KernelError(UnimplementedError, "Timeout not supported yet.", "give the whole step a timeout: tf.RunOptions(timeout_in_ms=...)")


class _Enqueue:
    """Adds an element, when there is room for it."""

    stateful = blocking = cancellable = resumable = True
    coordinates = "enqueue"
    shape = nothing()
    gradient = None

    def kernel(handle, components, ctx, Tcomponents, timeout_ms):
        no_timeout(timeout_ms)
        handle = _check_types(handle, Tcomponents, "{}->")
        handle.enqueue(ctx.step, tuple(components))
        return ()


class _EnqueueMany:
    """Adds the slices along the first axis as elements, one by one."""

    stateful = blocking = cancellable = resumable = True
    coordinates = "enqueue_many"
    shape = nothing()
    gradient = None

    def kernel(handle, components, ctx, Tcomponents, timeout_ms):
        no_timeout(timeout_ms)
        handle = _check_types(handle, Tcomponents, "{}->")
        handle.enqueue_many(ctx.step, tuple(components))
        return ()


_, QueueEnqueueV2 = two_forms("QueueEnqueue", "handle: HANDLE, components: Tcomponents ->", _Enqueue, Tcomponents=type_list(1), **_TIMEOUT)
_, QueueEnqueueManyV2 = two_forms("QueueEnqueueMany", "handle: HANDLE, components: Tcomponents ->", _EnqueueMany, Tcomponents=type_list(1),
                                   **_TIMEOUT)


def component_shapes(handle: Tensor, component_types: Any) -> list[TensorShape]:
    """The shapes of the components, where the handle's own node tells them."""
    shapes = list(handle.op.attrs.get("shapes") or ())
    if handle.op.definition in (PriorityQueue, PriorityQueueV2):
        shapes.insert(0, scalar())
    return shapes if len(shapes) == len(component_types) else [unknown_shape() for _ in component_types]


def _batch_shapes(handle: Tensor, component_types: Any, length: int | None) -> list[TensorShape]:
    if not handle.op.attrs.get("shapes"):
        return [unknown_shape() for _ in component_types]
    return [TensorShape([length]).concatenate(shape) for shape in component_shapes(handle, component_types)]


def _known_length(n: Tensor) -> int | None:
    n.shape.assert_has_rank(0)
    value = constant_value(n)
    if value is not None and value < 0:
        raise ValueError(f"Input 'n' must be >= 0, but is {int(value)}")
    return None if value is None else int(value)


def _check_length(handle: Any, n: Any) -> int:
    if n < 0:
        raise invalid_argument(f"DequeueManyOp requested {int(n)} < 0 elements")
    if len(handle.shapes) != len(handle.dtypes):
        raise invalid_argument(f"{handle.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes.")
    return int(n)


class _Dequeue:
    """Takes an element, when there is one."""

    stateful = blocking = cancellable = resumable = True
    coordinates = "dequeue"
    gradient = None

    def shape(handle, component_types):
        return component_shapes(handle, component_types)

    def kernel(handle, ctx, component_types, timeout_ms):
        no_timeout(timeout_ms)
        handle = _check_types(handle, component_types, "resource->{}")
        return handle.dequeue(ctx.step)


class _DequeueMany:
    """Takes ``n`` elements, when there are as many, and stacks them."""

    stateful = blocking = cancellable = resumable = True
    coordinates = "dequeue_many"
    gradient = None

    def shape(handle, n, component_types):
        return _batch_shapes(handle, component_types, _known_length(n))

    def kernel(handle, n, ctx, component_types, timeout_ms):
        no_timeout(timeout_ms)
        handle = _check_types(handle, component_types, "resource->{}")
        return handle.dequeue_many(ctx.step, _check_length(handle, n))


class _DequeueUpTo:
    """Takes ``n`` elements, or what a closed queue has left, and stacks them."""

    stateful = blocking = cancellable = resumable = True
    coordinates = "dequeue_many"
    gradient = None

    def shape(handle, n, component_types):
        _known_length(n)
        return _batch_shapes(handle, component_types, None)

    def kernel(handle, n, ctx, component_types, timeout_ms):
        no_timeout(timeout_ms)
        handle = _check_types(handle, component_types, "resource->{}")
        return handle.dequeue_up_to(ctx.step, _check_length(handle, n))


_, QueueDequeueV2 = two_forms("QueueDequeue", "handle: HANDLE -> components: component_types", _Dequeue, **_TYPES, **_TIMEOUT)
_, QueueDequeueManyV2 = two_forms("QueueDequeueMany", "handle: HANDLE, n: int32 -> components: component_types", _DequeueMany, **_TYPES,
                                   **_TIMEOUT)
_, QueueDequeueUpToV2 = two_forms("QueueDequeueUpTo", "handle: HANDLE, n: int32 -> components: component_types", _DequeueUpTo, **_TYPES,
                                   **_TIMEOUT)


class _Close:
    """Forbids further enqueues."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(handle, cancel_pending_enqueues):
        plain(handle).close(cancel_pending_enqueues)
        return ()


class _Size:
    """How many elements wait in the queue."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(handle):
        return np.int32(len(plain(handle)))


class _IsClosed:
    """Whether the queue is closed."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(handle):
        return np.bool_(plain(handle).closed)


_, QueueCloseV2 = two_forms("QueueClose", "handle: HANDLE ->", _Close, cancel_pending_enqueues=False)
_, QueueSizeV2 = two_forms("QueueSize", "handle: HANDLE -> size: int32", _Size)
_, QueueIsClosedV2 = two_forms("QueueIsClosed", "handle: HANDLE -> is_closed: bool", _IsClosed)
