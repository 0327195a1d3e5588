"""Queue operations. The state of a queue is a ``penstock.runtime.queues.Queue``, which travels along the handle edges.

Each operation exists twice, as in TensorFlow: with a resource handle (``QueueEnqueueV2``), which is what the classes here use, and with the
string reference of old graphs (``QueueEnqueue``).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import KernelError, UnimplementedError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import Attr, type_list
from penstock.graph.node import Tensor
from penstock.graph.opdef import OpDef, op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.common import fixed, nothing

CREATION = {"component_types": type_list(1), "shapes": Attr("list(shape)", ()), "capacity": -1, "container": "", "shared_name": ""}
_TYPES, _TIMEOUT = {"component_types": type_list(1)}, {"timeout_ms": -1}


def _two_forms(op_type: str, signature: str, body: type, **declared: Any) -> tuple[OpDef, OpDef]:
    """Registers an operation with a string reference as its handle, and its V2 with a resource."""
    return (op(op_type, signature.replace("HANDLE", "Ref(string)"), **declared)(body),
            op(op_type + "V2", signature.replace("HANDLE", "resource"), **declared)(body))


def queue_of(ctx: Any, kind: str, component_types: Any, shapes: Any, capacity: int, container: str, shared_name: str, **more: Any) -> Any:
    """The queue that a creating node stands for: made once per task, then found by its name."""
    from penstock.runtime import queues  # the runtime lies above the ops; it is there when a kernel runs

    if shapes and len(shapes) != len(component_types):
        raise invalid_argument(f"Different number of component types ({len(component_types)}) vs. shapes ({len(shapes)}).")
    name = shared_name or ctx.op.name
    queue = ctx.resources.lookup_or_create(container, name, kind, lambda: queues.KINDS[kind](name, component_types, shapes, capacity, **more))
    queue.check_request(component_types, shapes, capacity)
    return queue


class _Fifo:
    """A queue whose elements leave in the order in which they came."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, component_types, shapes, capacity, container, shared_name):
        return queue_of(ctx, "FIFOQueue", component_types, shapes, capacity, container, shared_name)


FIFOQueue, FIFOQueueV2 = _two_forms("FIFOQueue", "-> handle: HANDLE", _Fifo, **CREATION)


def _plain(handle: Any) -> Any:
    """The queue itself: a handle that was gathered from a list of handles comes in an array."""
    return handle.item() if isinstance(handle, np.ndarray) else handle


def _checked(handle: Any, found: list[dt.DType], form: str) -> Any:
    """The queue; InvalidArgumentError if its elements have other types than the node expects."""
    handle = _plain(handle)
    if list(handle.dtypes) != list(found):
        have, expected = (", ".join(["resource", *(d.name for d in types)]) for types in (found, handle.dtypes))
        raise invalid_argument(f"Signature mismatch, have: {form.format(have)} expected: {form.format(expected)}")
    return handle


def _no_timeout(timeout_ms: int) -> None:
    if timeout_ms != -1:
        raise KernelError(UnimplementedError, "Timeout not supported yet.", "give the whole step a timeout: tf.RunOptions(timeout_in_ms=...)")


class _Enqueue:
    """Adds an element, when there is room for it."""

    stateful = blocking = True
    shape = nothing()
    gradient = None

    def kernel(handle, components, ctx, Tcomponents, timeout_ms):
        _no_timeout(timeout_ms)
        handle = _checked(handle, Tcomponents, "{}->")
        handle.enqueue(ctx.step, tuple(components))
        return ()


class _EnqueueMany(_Enqueue):
    """Adds the slices along the first axis as elements, one by one."""

    stateful = blocking = True
    shape = nothing()
    gradient = None

    def kernel(handle, components, ctx, Tcomponents, timeout_ms):
        _no_timeout(timeout_ms)
        handle = _checked(handle, Tcomponents, "{}->")
        handle.enqueue_many(ctx.step, tuple(components))
        return ()


_, QueueEnqueueV2 = _two_forms("QueueEnqueue", "handle: HANDLE, components: Tcomponents ->", _Enqueue, Tcomponents=type_list(1), **_TIMEOUT)
_, QueueEnqueueManyV2 = _two_forms("QueueEnqueueMany", "handle: HANDLE, components: Tcomponents ->", _EnqueueMany, Tcomponents=type_list(1),
                                   **_TIMEOUT)


def component_shapes(handle: Tensor, component_types: Any) -> list[TensorShape]:
    """The shapes of the components, where the handle's own node tells them."""
    shapes = handle.op.attrs.get("shapes") or ()
    return list(shapes) if len(shapes) == len(component_types) else [unknown_shape() for _ in component_types]


def _batched(handle: Tensor, component_types: Any, length: int | None) -> list[TensorShape]:
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
        raise invalid_argument(f"a number of elements must be >= 0, not {int(n)}")
    if len(handle.shapes) != len(handle.dtypes):
        raise invalid_argument(f"{handle.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes.")
    return int(n)


class _Dequeue:
    """Takes an element, when there is one."""

    stateful = blocking = True
    gradient = None

    def shape(handle, component_types):
        return component_shapes(handle, component_types)

    def kernel(handle, ctx, component_types, timeout_ms):
        _no_timeout(timeout_ms)
        handle = _checked(handle, component_types, "resource->{}")
        return handle.dequeue(ctx.step)


class _DequeueMany:
    """Takes ``n`` elements, when there are as many, and stacks them."""

    stateful = blocking = True
    gradient = None

    def shape(handle, n, component_types):
        return _batched(handle, component_types, _known_length(n))

    def kernel(handle, n, ctx, component_types, timeout_ms):
        _no_timeout(timeout_ms)
        handle = _checked(handle, component_types, "resource->{}")
        return handle.dequeue_many(ctx.step, _check_length(handle, n))


class _DequeueUpTo:
    """Takes ``n`` elements, or what a closed queue has left, and stacks them."""

    stateful = blocking = True
    gradient = None

    def shape(handle, n, component_types):
        _known_length(n)
        return _batched(handle, component_types, None)

    def kernel(handle, n, ctx, component_types, timeout_ms):
        _no_timeout(timeout_ms)
        handle = _checked(handle, component_types, "resource->{}")
        return handle.dequeue_up_to(ctx.step, _check_length(handle, n))


_, QueueDequeueV2 = _two_forms("QueueDequeue", "handle: HANDLE -> components: component_types", _Dequeue, **_TYPES, **_TIMEOUT)
_, QueueDequeueManyV2 = _two_forms("QueueDequeueMany", "handle: HANDLE, n: int32 -> components: component_types", _DequeueMany, **_TYPES,
                                   **_TIMEOUT)
_, QueueDequeueUpToV2 = _two_forms("QueueDequeueUpTo", "handle: HANDLE, n: int32 -> components: component_types", _DequeueUpTo, **_TYPES,
                                   **_TIMEOUT)


class _Close:
    """Forbids further enqueues."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(handle, cancel_pending_enqueues):
        _plain(handle).close(cancel_pending_enqueues)
        return ()


class _Size:
    """How many elements wait in the queue."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(handle):
        return np.int32(len(_plain(handle)))


class _IsClosed:
    """Whether the queue is closed."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(handle):
        return np.bool_(_plain(handle).closed)


_, QueueCloseV2 = _two_forms("QueueClose", "handle: HANDLE ->", _Close, cancel_pending_enqueues=False)
_, QueueSizeV2 = _two_forms("QueueSize", "handle: HANDLE -> size: int32", _Size)
_, QueueIsClosedV2 = _two_forms("QueueIsClosed", "handle: HANDLE -> is_closed: bool", _IsClosed)
