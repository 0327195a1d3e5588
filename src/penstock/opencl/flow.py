"""Loops and branches on a device: the host reads their conditions, and keeps the lists in which a loop leaves values for its gradient."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.native.calls import Array
from penstock.native.items import Value
from penstock.native.specialise.flow import Flow
from penstock.opencl.emitter import HostCall
from penstock.opencl.memory import DeviceArray

_HOLDER = "lists of loops"


class DeviceFlow(Flow):
    """What ops with functions, and ops on lists, say to the emitter."""

    def _call(self, label: str, operands: list[Array], writes: int, action: Callable[[Any], None]) -> None:
        self.emit.calls.append(HostCall(label, operands, [], label, writes, 0, list(self.emit.items), action=action))  # type: ignore[arg-type]

    def _loop_list(self, value: Value, start: Array, outer: Value, needed: bool) -> Array:
        """The list of a loop that pushes, or the loop's own view of one that it pops."""
        roles = {user.node.definition.list_role for user in value.users}
        if roles == {"push"} and outer.item is not None and outer.item.node.definition.list_role == "empty":
            return self.empty_list() if needed else self._list(0)
        if roles != {"pop"}:
            self.emit.unsupported("a list that is not simply filled or emptied by a loop")
        own = self._list()

        def share(instance: Any) -> None:
            instance.lists[own.buffer] = list(instance.lists[start.buffer])

        self._call("list", [start, own], 1, share)
        return own

    def empty_list(self) -> Array:
        """A list without elements."""
        made = self._list()

        def clear(instance: Any) -> None:
            instance.lists[made.buffer] = []

        self._call("list", [made], 1, clear)
        return made

    def push(self, values: Array, tensor: Array) -> Array:
        """The same list, one element longer."""
        if values.buffer.nbytes:
            tensor = self.emit.contiguous(tensor)

            def append(instance: Any) -> None:
                buffer, offset = instance.place(tensor)
                held = DeviceArray(instance.queue, tensor.shape, tensor.dtype, _HOLDER)
                instance.queue.copy(buffer, held.buffer, tensor.nbytes, source_offset=offset)
                instance.lists[values.buffer].append(held)

            self._call("push", [tensor, values], 1, append)
        return values

    def pop(self, values: Array) -> tuple[Array, Array]:
        """The same list, one element shorter, and that element."""
        item = self.emit.item
        tensor = self.emit.empty(item.outputs[1].shape, item.outputs[1].dtype.np)

        def take(instance: Any) -> None:
            held = instance.lists[values.buffer]
            buffer, offset = instance.place(tensor)
            if not tensor.nbytes:
                return
            if held:
                instance.queue.copy(held.pop().buffer, buffer, tensor.nbytes, target_offset=offset)
            else:
                instance.queue.zero(buffer, tensor.nbytes, offset)

        self._call("pop", [values, tensor], 2, take)
        return values, tensor
