"""Values and variables in the memory of an OpenCL device."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.state.resources import Ref

if TYPE_CHECKING:
    from penstock.opencl.pool import PooledBlock
    from penstock.opencl.queue import DeviceQueue

FRACTION = 0.9  # of the device's memory, if the program does not say
TYPES = frozenset((dt.float32, dt.float64, dt.float16, dt.bfloat16, dt.bool_, dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32,
                   dt.uint64))


class DeviceArray:
    """A contiguous array on a device. What was handed out never changes, as with values on the host; NumPy cannot look inside."""

    __slots__ = ("__weakref__", "block", "dtype", "queue", "shape")

    __array__ = None  # an error, rather than an array of one object

    def __init__(self, queue: DeviceQueue, shape: tuple[int, ...], dtype: np.dtype, holder: str) -> None:
        self.queue, self.shape, self.dtype = queue, shape, dtype
        self.block: PooledBlock = queue.pool.block(self.nbytes, holder)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Of its elements."""
        return self.size * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def buffer(self) -> Any:
        """The memory, as OpenCL knows it."""
        return self.block.buffer

    def copy(self) -> DeviceArray:
        """Another one with the same contents."""
        other = DeviceArray(self.queue, self.shape, self.dtype, self.block.holder)
        self.queue.copy(self.buffer, other.buffer, self.nbytes)
        return other

    def numpy(self) -> np.ndarray:
        """A copy on the host; waits for what computes it."""
        result = np.empty(self.shape, self.dtype)
        self.queue.read(self.buffer, result)
        return result

    def __repr__(self) -> str:
        return f"<{self.dtype}{list(self.shape)} on {self.queue.name}>"


def upload(queue: DeviceQueue, array: Any, holder: str, private: bool = False) -> DeviceArray:
    """A host array in the memory of a device."""
    array = np.asarray(array)
    result = DeviceArray(queue, array.shape, array.dtype, holder)
    queue.write(result.buffer, array, private)
    return result


class DeviceVariable(Ref):
    """A variable whose value is a DeviceArray. Its contract is that of ``Ref``: what was read never changes."""

    __slots__ = ("_queue",)

    def __init__(self, name: str, dtype: DType, queue: DeviceQueue) -> None:
        super().__init__(name, dtype)
        self._queue = queue

    def assign(self, array: Any) -> None:
        """Makes a copy of a value, of this device or of the host, the variable's."""
        with self.lock:
            fits = self.value is not None and self.value.shape == np.shape(array) and self._alone()
            if not isinstance(array, DeviceArray):
                array = np.asarray(array, self.dtype.np)
                if not fits:
                    self.value = DeviceArray(self._queue, array.shape, array.dtype, self._holder)  # type: ignore[assignment]
                self._queue.write(self.value.buffer, array)  # type: ignore[union-attr]
                return
            if not fits:
                self.value = DeviceArray(self._queue, array.shape, array.dtype, self._holder)  # type: ignore[assignment]
            self._queue.copy(array.buffer, self.value.buffer, array.nbytes)  # type: ignore[union-attr]

    @property
    def _holder(self) -> str:
        return f"variable {self.name}"


class DeviceMemory:
    """The memory of one device, as ``program/copies.py`` and the kernels see it. ``queue()`` looks the device up when a value first needs it."""

    def __init__(self, find_queue: Any) -> None:
        self._find_queue = find_queue

    @property
    def queue(self) -> DeviceQueue:
        """The device."""
        return self._find_queue()

    def holds(self, dtype: DType) -> bool:
        """Numbers and truth values; not complex ones."""
        return dtype.base_dtype in TYPES

    def copy_in(self, array: Any) -> DeviceArray:
        """The value on the device."""
        return upload(self.queue, array, "values of running steps")

    def copy_out(self, value: DeviceArray) -> np.ndarray:
        """The value on the host."""
        return value.numpy()

    def variable(self, name: str, dtype: DType) -> Ref:
        """A variable here, or on the host if its type is not for devices."""
        return DeviceVariable(name, dtype, self.queue) if self.holds(dtype) else Ref(name, dtype)
