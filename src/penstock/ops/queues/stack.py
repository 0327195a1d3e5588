"""Stacks: what the loops of TensorFlow's graphs keep for their gradients. A stack belongs to the step that makes it."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

from penstock.errors import InvalidArgumentError, KernelError, invalid_argument
from penstock.graph.attrs import TYPE
from penstock.graph.dtypes import DType
from penstock.graph.opdef import op
from penstock.ops.common import fixed, like, nothing, unknown
from penstock.ops.queues.handles import plain, two_forms


class TensorStack:
    """Last in, first out; at most ``limit`` elements, or any number if it is negative."""

    def __init__(self, name: str, dtype: DType, limit: int) -> None:
        self.name, self.dtype, self._limit = name, dtype, limit
        self._items: list[Any] = []
        self._lock = threading.Lock()
        self._closed = False

    def push(self, item: Any) -> None:
        """Adds an element."""
        with self._lock:
            self._check_open()
            if 0 <= self._limit <= len(self._items):
                raise invalid_argument(f"Stack[{self.name}] overflowed its max_size ({self._limit})")
            self._items.append(item)

    def pop(self) -> Any:
        """Takes the youngest element."""
        with self._lock:
            self._check_open()
            if not self._items:
                raise invalid_argument(f"Stack[{self.name}] is empty when calling Pop().")
            return self._items.pop()

    def close(self) -> None:
        """Forgets all elements; the stack cannot be used any more."""
        with self._lock:
            self._items, self._closed = [], True

    def _check_open(self) -> None:
        if self._closed:
            raise KernelError(InvalidArgumentError, f"Stack[{self.name}] has already been closed.")


def _of_type(handle: Any, dtype: DType) -> TensorStack:
    stack: TensorStack = plain(handle)
    if stack.dtype is not dtype:
        raise invalid_argument(f"Stack[{stack.name}] holds {stack.dtype.name}, not {dtype.name}")
    return stack


@op("Stack", "-> handle: Ref(string)", elem_type=TYPE, stack_name="")
class Stack:
    """A new stack."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(ctx, elem_type, stack_name):
        return TensorStack(stack_name or ctx.op.name, elem_type, -1)


@op("StackV2", "max_size: int32 -> handle: resource", elem_type=TYPE, stack_name="")
class StackV2:
    """A new stack of at most ``max_size`` elements, or of any number if that is negative."""

    stateful = True
    ranks = {"max_size": 0}
    shape = fixed()
    gradient = None

    def kernel(max_size, ctx, elem_type, stack_name):
        return TensorStack(stack_name or ctx.op.name, elem_type, int(max_size))


class _Push:
    """Pushes an element, and gives it as its output."""

    stateful = True
    shape = like("elem")
    gradient = None

    def kernel(handle, elem, T):
        _of_type(handle, T).push(elem)
        return elem


class _Pop:
    """Takes the youngest element."""

    stateful = True
    shape = unknown()
    gradient = None

    def kernel(handle, elem_type):
        return np.asarray(_of_type(handle, elem_type).pop(), elem_type.np)


class _Close:
    """Forgets the elements of a stack."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(handle):
        plain(handle).close()
        return ()


_, StackPushV2 = two_forms("StackPush", "handle: HANDLE, elem: T -> output: T", _Push, T=TYPE, swap_memory=False)
_, StackPopV2 = two_forms("StackPop", "handle: HANDLE -> elem: elem_type", _Pop, elem_type=TYPE)
_, StackCloseV2 = two_forms("StackClose", "handle: HANDLE ->", _Close)
