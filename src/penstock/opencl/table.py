"""The kernels of a region, put into the queue of a device one after the other: no kernel waits for the host, but where a loop or a branch asks for
its condition.

A kernel that finds fault with its inputs (an index out of range) sets the status of the run. Kernels that write to variables do nothing from then on,
and when the queue has come to the end, the region is run again by the host, which tells what is wrong.
"""
from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.execute.step import check_step
from penstock.native.calls import Array, Buffer
from penstock.native.table.arena import plan_arena
from penstock.opencl.emitter import DeviceEmitter, HostCall, Launch
from penstock.opencl.memory import DeviceArray
from penstock.opencl.queue import DeviceQueue

_BODY = "\n  if (*(__global long *)(p_status_ + o_status_)) return;\n"


class DeviceTable:
    """Calls, the arrays that a caller brings along, and where in the arena all others are."""

    def __init__(self, queue: DeviceQueue, holder: str, emitter: DeviceEmitter, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self.queue, self.holder = queue, holder
        self.calls, self.loops, self.status = emitter.calls, emitter.loops, emitter.status
        self.checks = any(array.buffer is self.status.buffer for call in self.calls for array in call.operands)  # may a kernel refuse its inputs?
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for position, array in enumerate(arrays):
                array.buffer.kind, array.buffer.position = kind, position
        self.inputs, self.outputs = list(inputs), list(outputs)
        if self.checks:
            self._guard_updates()
        self.offsets, self.arena_bytes = plan_arena(self.calls, self.status.buffer, emitter.loops)
        self._constants: dict[Buffer, DeviceArray] = {}
        self._idle: list[Instance] = []

    def _guard_updates(self) -> None:
        """Kernels that write to variables look at the status first."""
        for call in self.calls:
            if isinstance(call, Launch) and any(array.buffer.kind == "input" for array in call.operands[len(call.operands) - call.writes:]):
                call.code = guarded(str(call.code))  # type: ignore[assignment]
                call.operands = [self.status, *call.operands]

    def compile(self) -> None:
        """Compiles what is not compiled. Raises Unsupported."""
        for call in self.calls:
            if isinstance(call, Launch):
                self.queue.kernel(str(call.code))

    def constant(self, buffer: Buffer) -> DeviceArray:
        """A constant in the device's memory, where it is put once."""
        made = self._constants.get(buffer)
        if made is None:
            assert buffer.value is not None
            made = self._constants[buffer] = DeviceArray(self.queue, (max(buffer.nbytes, 1),), np.dtype(np.uint8), "constants")
            self.queue.write(made.buffer, np.ascontiguousarray(buffer.value), private=True)
        return made

    def run(self, arrays: Sequence[DeviceArray], generators: dict[int, np.ndarray], seconds: list[float] | None = None) -> bool:
        """Enqueues all calls over these arrays, inputs first, then outputs; False if a kernel found fault with them. ``generators``: by position, the
        states of random generators on the host, which move on with those on the device. ``seconds``: of each call, are added up there; it then waits
        for each."""
        with self.queue.lock:
            instance = self._idle.pop() if self._idle else Instance(self)
            instance.generators = generators
            sound = instance.run(arrays, seconds)
            self._idle.append(instance)  # what comes next in the queue may use its memory: it comes later
        return sound


def guarded(text: str) -> str:
    """A kernel that returns at once if the status is not 0. The status is its first operand."""
    head, opening, rest = text.partition("void run(")
    arguments, brace, body = rest.partition(") {")
    return f"{head}{opening}__global char *p_status_, long o_status_, {arguments}{brace}{_BODY}{body}"


class Instance:
    """The memory of one running step: an arena, kernels with their arguments, lists."""

    def __init__(self, table: DeviceTable) -> None:
        self._table, self.queue = table, table.queue
        self.arena = DeviceArray(table.queue, (table.arena_bytes,), np.dtype(np.uint8), table.holder)
        self.lists: dict[Buffer, list[DeviceArray]] = {}
        self.generators: dict[int, np.ndarray] = {}
        self._bound: dict[int, list[tuple[Any, int]]] = {}  # by position of an array that the caller brings: kernels, and which argument it is
        self._kernels = [self._prepare(call) if isinstance(call, Launch) else None for call in table.calls]
        self._last: list[Any] = [None] * (len(table.inputs) + len(table.outputs))

    def _prepare(self, call: Launch) -> Any:
        kernel = self.queue.kernel(str(call.code))
        for index, array in enumerate(call.operands):
            base, offset = self._place(array)
            if isinstance(base, int):
                self._bound.setdefault(base, []).append((kernel, 2 * index))
            else:
                kernel.set_arg(2 * index, base)
            kernel.set_arg(2 * index + 1, np.int64(offset))
        for index, number in enumerate(call.numbers):
            kernel.set_arg(2 * len(call.operands) + index, np.int64(number))
        return kernel

    def _place(self, array: Array) -> tuple[Any, int]:
        """The memory of an array, or the position of the caller's that it is in; and where it begins there."""
        buffer = array.buffer
        if buffer.kind == "arena":
            return self.arena.buffer, self._table.offsets[buffer] + array.offset
        if buffer.kind == "constant":
            return self._table.constant(buffer).buffer, array.offset
        assert buffer.kind in ("input", "output"), buffer.kind
        return buffer.position + (len(self._table.inputs) if buffer.kind == "output" else 0), array.offset

    def place(self, array: Array) -> tuple[Any, int]:
        """The memory of an array in this run, and where it begins there."""
        base, offset = self._place(array)
        return (self._last[base], offset) if isinstance(base, int) else (base, offset)

    def run(self, arrays: Sequence[DeviceArray], seconds: list[float] | None) -> bool:
        """Enqueues all; see ``DeviceTable.run``."""
        table, queue = self._table, self.queue
        for position, array in enumerate(arrays):
            buffer = array.buffer
            if self._last[position] is not buffer:
                self._last[position] = buffer
                for kernel, argument in self._bound.get(position, ()):
                    kernel.set_arg(argument, buffer)
        if table.checks:
            queue.zero(self.arena.buffer, 8, table.offsets[table.status.buffer])
        self._walk(seconds)
        return not table.checks or not self.failed()

    def _walk(self, seconds: list[float] | None) -> None:
        calls, kernels, launch = self._table.calls, self._kernels, self.queue.launch
        at = 0
        while at < len(calls):
            call, start = calls[at], time.perf_counter() if seconds is not None else 0.0
            if type(call) is Launch:
                launch(kernels[at], call.global_size, call.local_size)
            elif isinstance(call, HostCall):
                assert call.action is not None
                call.action(self)
            elif not self._holds(call.operands[0]):
                if self._table.checks and self.failed():
                    return
                if call.target <= at:  # an iteration has ended
                    check_step()
                at = call.target
                continue
            if seconds is not None:
                self.queue.finish()
                seconds[at] += time.perf_counter() - start
            at += 1

    def _holds(self, condition: Array) -> bool:
        """The value of a condition; waits for it."""
        if condition.buffer.kind == "constant":
            assert condition.buffer.value is not None
            return bool(condition.buffer.value)
        return bool(self.read(condition))

    def failed(self) -> bool:
        """Has a kernel found fault with its inputs? Waits for all of them."""
        return bool(self.read(self._table.status)[0])

    def read(self, array: Array) -> np.ndarray:
        """A contiguous array of this run, on the host."""
        result = np.empty(array.shape, array.dtype)
        buffer, offset = self.place(array)
        self.queue.read(buffer, result, offset)
        return result
