"""One OpenCL device of this process: its context, its one queue, its pool of memory and its compiled kernels.

The queue is worked off in order. Nothing waits for it but a copy to the host, and a loop or a branch, whose condition the host has to read.
"""
from __future__ import annotations

import hashlib
import os
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl

from penstock.native.machine import cache
from penstock.native.unsupported import Unsupported
from penstock.opencl.memory import FRACTION
from penstock.opencl.pool import Pool

_OPTIONS = ["-cl-std=CL1.2", "-w"]
_NO_CACHE: Any = False  # of pyopencl: ours is private to the user
_WAITING = 64  # copies to the device whose host arrays are kept until they are done


@dataclass(frozen=True)
class Traits:
    """What the text of kernels depends on."""

    strips: bool  # a CPU: a work item does many elements in a loop, which the driver's compiler turns into vectors
    doubles: bool
    units: int  # compute units
    group: int  # work items of a group, at most
    local_bytes: int
    parameter_bytes: int  # of the arguments of a kernel
    vector_bytes: int = 32  # of a register of the CPU


def _traits(device: Any) -> Traits:
    strips = bool(device.type & cl.device_type.CPU)
    if os.environ.get("PENSTOCK_OPENCL_KERNELS") == "groups":  # the kernels of GPUs on a CPU: to test them there
        strips = False
    return Traits(strips, bool(device.double_fp_config), device.max_compute_units, min(device.max_work_group_size, 256), device.local_mem_size,
                  device.max_parameter_size, 4 * min(max(device.native_vector_width_float, 4), 16))


class DeviceQueue:
    """A device, as this process uses it: shared by all sessions."""

    def __init__(self, device: Any, name: str) -> None:
        self.device, self.name, self.traits = device, name, _traits(device)
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self.pool = Pool(self._allocate, int(device.global_mem_size * FRACTION), name)
        self.lock = threading.RLock()  # arguments are set, and kernels enqueued, by one thread at a time
        self._programs: dict[str, Any] = {}
        self._copies: deque[Any] = deque()

    def _allocate(self, nbytes: int) -> Any:
        if nbytes > self.device.max_mem_alloc_size:
            raise MemoryError(f"a single allocation can be {self.device.max_mem_alloc_size} bytes at most")
        try:
            return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, nbytes)
        except cl.MemoryError as error:
            raise MemoryError(str(error)) from error

    # --- copies ----------------------------------------------------------------------------------------------------------------------------

    def write(self, buffer: Any, array: np.ndarray, private: bool = False) -> None:
        """Copies an array to the device, without waiting for it; ``private``: no other thread can change the array meanwhile."""
        if array.nbytes:
            source = np.ascontiguousarray(array) if private else np.array(array, order="C")
            with self.lock:
                self._copies.append(cl.enqueue_copy(self.queue, buffer, source.reshape(-1).view(np.uint8), is_blocking=False))
                if len(self._copies) > _WAITING:
                    self._copies.popleft()  # (waits if it is not done yet)

    def read(self, buffer: Any, target: np.ndarray, offset: int = 0) -> None:
        """Copies to a contiguous host array, after all that is in the queue."""
        if target.nbytes:
            with self.lock:
                cl.enqueue_copy(self.queue, target.reshape(-1).view(np.uint8), buffer, src_offset=offset)
                self._copies.clear()

    def copy(self, source: Any, target: Any, nbytes: int, source_offset: int = 0, target_offset: int = 0) -> None:
        """Copies inside of the device."""
        if nbytes:
            with self.lock:
                cl.enqueue_copy(self.queue, target, source, byte_count=nbytes, src_offset=source_offset, dst_offset=target_offset)

    def zero(self, buffer: Any, nbytes: int, offset: int = 0) -> None:
        """Fills memory with zeros."""
        with self.lock:
            cl.enqueue_fill_buffer(self.queue, buffer, np.zeros(1, np.uint8), offset, nbytes)

    # --- kernels ---------------------------------------------------------------------------------------------------------------------------

    def kernel(self, text: str) -> Any:
        """A kernel of this text, with arguments of its own. Compiled programs are kept on disk, by device and driver."""
        program = self._programs.get(text)
        if program is None:
            program = self._programs[text] = self._load_from_disk(text) or self._compile(text)
        return cl.Kernel(program, "run")

    def _load_from_disk(self, text: str) -> Any | None:
        """The program as an earlier process has left it on disk."""
        binary = cache.load(self._name_of(text))
        if binary is None:
            return None
        try:
            return cl.Program(self.context, [self.device], [binary]).build(cache_dir=_NO_CACHE)
        except cl.Error:  # the driver does not take it back: it has changed without another version
            return None

    def _compile(self, text: str) -> Any:
        try:
            program = cl.Program(self.context, text).build(options=_OPTIONS, cache_dir=_NO_CACHE)
        except cl.Error as error:
            raise Unsupported(f"the driver's compiler refuses a kernel: {error}") from error
        (binary,) = program.get_info(cl.program_info.BINARIES)
        if binary:
            cache.store(self._name_of(text), bytes(binary))
        return program

    def _name_of(self, text: str) -> str:
        device = self.device
        parts = (device.platform.name, device.platform.version, device.name, device.version, device.driver_version, *_OPTIONS, text)
        return "opencl-" + hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def launch(self, kernel: Any, global_size: tuple[int, ...], local_size: tuple[int, ...]) -> None:
        """Puts a kernel, whose arguments are set, into the queue."""
        cl.enqueue_nd_range_kernel(self.queue, kernel, global_size, local_size)

    def finish(self) -> None:
        """Waits until all is done."""
        self.queue.finish()

