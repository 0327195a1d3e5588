"""The memory of one device: blocks that are used again, a limit, and an account of what holds how much.

A block that nothing refers to any more goes back to the pool at once, though kernels that use it may still be waiting in the queue: the queue is
worked off in order, so what is enqueued later for the same block comes after them.
"""
from __future__ import annotations

import threading
import weakref
from collections import Counter
from typing import Any

from penstock.errors import KernelError, ResourceExhaustedError

_SMALLEST = 256
_TOLD = 6  # holders in the message when memory runs out


class PooledBlock:
    """Some memory. It is given back when the block is dropped."""

    __slots__ = ("__weakref__", "buffer", "holder", "nbytes")

    def __init__(self, buffer: Any, nbytes: int, holder: str) -> None:
        self.buffer, self.nbytes, self.holder = buffer, nbytes, holder


class Pool:
    """Hands out blocks of the device's memory, at most ``limit`` bytes of it."""

    def __init__(self, allocate: Any, limit: int, name: str) -> None:
        self._allocate, self.limit, self._name = allocate, limit, name
        self._lock = threading.RLock()  # a block may be collected while another one is made
        self._free: dict[int, list[Any]] = {}
        self.taken = 0  # bytes that the driver has given, in use or free
        self.used = 0
        self._blocks: weakref.WeakSet[PooledBlock] = weakref.WeakSet()

    def block(self, nbytes: int, holder: str) -> PooledBlock:
        """Memory of at least this size; ``holder`` says what for. ResourceExhaustedError if there is none."""
        size = _size_class(nbytes)
        with self._lock:
            free = self._free.get(size)
            buffer = free.pop() if free else self._more(size, holder)
            self.used += size
            block = PooledBlock(buffer, size, holder)
            self._blocks.add(block)
        weakref.finalize(block, self._give_back, buffer, size).atexit = False
        return block

    def _give_back(self, buffer: Any, size: int) -> None:
        with self._lock:
            self.used -= size
            self._free.setdefault(size, []).append(buffer)

    def _more(self, size: int, holder: str) -> Any:
        if self.taken + size > self.limit:
            self._release()
        if self.taken + size > self.limit:
            raise self._out_of_memory(size, holder, f"the limit is {_text(self.limit)}")
        try:
            buffer = self._allocate(size)
        except MemoryError as error:
            self._release()
            try:
                buffer = self._allocate(size)
            except MemoryError:
                raise self._out_of_memory(size, holder, f"the driver says: {error}") from error
        self.taken += size
        return buffer

    def _release(self) -> None:
        """Returns what is free to the driver."""
        for size, buffers in self._free.items():
            self.taken -= size * len(buffers)
        self._free.clear()

    def bytes_by_holder(self) -> Counter[str]:
        """Bytes in use, by what holds them."""
        with self._lock:
            held: Counter[str] = Counter()
            for block in list(self._blocks):
                held[block.holder] += block.nbytes
            return held

    def _out_of_memory(self, size: int, holder: str, why: str) -> KernelError:
        most = "; ".join(f"{_text(nbytes)} by {name}" for name, nbytes in self.bytes_by_holder().most_common(_TOLD)) or "nothing"
        return KernelError(ResourceExhaustedError, f"OOM when allocating {_text(size)} for {holder} on {self._name}: {why}. {_text(self.used)} are "
                           f"in use: {most}",
                           hint="a smaller batch or model, a larger gpu_options.per_process_gpu_memory_fraction, or another device")


def _size_class(nbytes: int) -> int:
    """The next size class: four of them per doubling, so that arrays of similar sizes can share blocks."""
    size = max(nbytes, _SMALLEST)
    step = max(1 << (size - 1).bit_length() - 3, _SMALLEST)
    return -(-size // step) * step


def _text(nbytes: int) -> str:
    return f"{nbytes / (1 << 20):.1f} MB" if nbytes >= 1 << 20 else f"{nbytes / 1024:.1f} KB"
