"""The state of a TensorArray while a step runs. It travels along the handle's edges, and is gone when the step is.

An element is written once; reading it may clear it. The gradient of an array is an array too, kept by the one it belongs to and found by the name of
its source, that is, of the call of ``tf.gradients`` that asked for it. In it writes to the same element add up, and what was
never written is zero.
"""
from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.errors import KernelError, invalid_argument
from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.shape import TensorShape, brackets

WRITTEN, READ, CLEARED = 1, 2, 4  # what has been done to an element, as native code keeps it: see ``ArrayState.restore``


class _Element:
    """One place of an array. ``shape`` without ``value`` stands for zeros."""

    __slots__ = ("cleared", "read", "shape", "value")

    def __init__(self, shape: tuple[int, ...] | None = None) -> None:
        self.value: Any = None
        self.shape = shape
        self.read = self.cleared = False


class ArrayState:
    """The elements of a TensorArray, and the arrays of their gradients."""

    def __init__(self, name: str, dtype: DType, size: int, element_shape: TensorShape, dynamic: bool = False, clear_after_read: bool = True,
                 same_shapes: bool = False, adds_up: bool = False) -> None:
        if size < 0:
            raise invalid_argument(f"Size should be >= 0, but it is {size}")
        self.name, self.dtype, self.element_shape = name, dtype.base_dtype, element_shape
        self._dynamic, self._clears, self._same_shapes, self._adds_up = dynamic, clear_after_read, same_shapes, adds_up
        self._elements = [_Element() for _ in range(size)]
        self._gradients: dict[str, ArrayState] = {}
        self._closed = False
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._elements)

    def __repr__(self) -> str:
        return f"<TensorArray {self.name!r} {self.dtype.name} size={len(self)}>"

    def close(self) -> None:
        """Forgets the elements; the array cannot be used any more."""
        self._closed = True
        self._elements = []

    def _complain(self, text: str) -> KernelError:
        return invalid_argument(f"TensorArray {self.name}: {text}")

    def _check_open(self) -> None:
        if self._closed:
            raise invalid_argument(f"TensorArray {self.name} has already been closed.")

    # --- writing -----------------------------------------------------------------------------------------------------

    def write(self, index: int, value: Any) -> None:
        """Puts in an element."""
        with self._lock:
            self._check_open()
            self._make_room(index)
            self._check_shape(index, np.shape(value))
            element = self._elements[index]
            if element.read:
                raise self._complain(f"Could not write to TensorArray index {index} because it has already been read.")
            if element.shape is not None:
                value = self._sum_with(index, element, value)
            element.value, element.shape = value, np.shape(value)

    def _make_room(self, index: int) -> None:
        if index < 0 or (index >= len(self._elements) and not self._dynamic):
            raise self._complain(f"Tried to write to index {index} but array is not resizeable and size is: {len(self._elements)}")
        while len(self._elements) <= index:
            self._elements.append(_Element())

    def _check_shape(self, index: int, shape: tuple[int, ...]) -> None:
        if not self.element_shape.is_compatible_with(shape):
            raise self._complain(f"Could not write to TensorArray index {index} because the value shape is {brackets(shape)} which is incompatible "
                                 f"with the TensorArray's inferred element shape: {brackets(self.element_shape)} (consider setting "
                                 "infer_shape=False).")
        if self._same_shapes and not self.element_shape.is_fully_defined():
            self.element_shape = TensorShape(shape)

    def _sum_with(self, index: int, element: _Element, value: Any) -> Any:
        if not self._adds_up:
            raise self._complain(f"Could not write to TensorArray index {index} because it has already been written to.")
        if element.shape != np.shape(value):
            raise self._complain(f"Could not aggregate to TensorArray index {index} because the existing shape is {brackets(element.shape)} but "
                                 f"the new input shape is {brackets(np.shape(value))}.")
        return value if element.value is None else element.value + value

    def reserve(self, size: int) -> None:
        """Makes an array that may grow at least this long."""
        with self._lock:
            self._check_open()
            if self._dynamic and size > len(self._elements):
                self._make_room(size - 1)

    # --- reading -----------------------------------------------------------------------------------------------------

    def element(self, index: int) -> Any:
        """Takes a look at an element, and clears it if the array does so."""
        with self._lock:
            self._check_open()
            if index < 0 or (index >= len(self._elements) and not self._adds_up):
                raise invalid_argument(f"Tried to read from index {index} but array size is: {len(self._elements)}")
            if index >= len(self._elements):
                return self._zeros(index, None)
            element = self._elements[index]
            if element.cleared:
                raise self._complain(f"Could not read index {index} twice because it was cleared after a previous read (perhaps try setting "
                                     "clear_after_read = false?).")
            value = self._zeros(index, element.shape) if element.value is None else element.value
            element.read = True
            if self._clears:
                element.value, element.cleared = None, True
            return value

    def _zeros(self, index: int, shape: tuple[int, ...] | None) -> Any:
        if shape is None and not self.element_shape.is_fully_defined():
            raise self._complain(f"Could not read from TensorArray index {index}.  Furthermore, the element shape is not fully defined: "
                                 f"{brackets(self.element_shape)}.  It is possible you are working with a resizeable TensorArray and "
                                 "stop_gradients is not allowing the gradients to be written.  If you set the full element_shape property on the "
                                 "forward TensorArray, the proper all-zeros tensor will be returned instead of incurring this error.")
        extents = self.element_shape.as_list() if shape is None else shape
        return np.full(extents, b"", object) if self.dtype is dtypes.string else np.zeros(extents, self.dtype.np)

    def elements(self, indices: Sequence[int]) -> list[Any]:
        """Several elements."""
        return [self.element(int(index)) for index in indices]

    # --- gradients ---------------------------------------------------------------------------------------------------

    def gradient(self, source: str) -> ArrayState:
        """The array of the gradients of these elements for one source. From now on this array keeps its size."""
        with self._lock:
            self._check_open()
            self._dynamic = False
            array = self._gradients.get(source)
            if array is None:
                array = ArrayState(f"{self.name}@{source}", self.dtype, len(self._elements), self.element_shape, adds_up=True,
                                   clear_after_read=not self._adds_up, same_shapes=self._same_shapes)
                for mine, its in zip(self._elements, array._elements):
                    its.shape = mine.shape
                self._gradients[source] = array
            return array

    def restore(self, values: Sequence[Any], flags: Sequence[int]) -> None:
        """Takes over the elements of an array that native code has worked on."""
        for element, value, flag in zip(self._elements, values, flags):
            element.read, element.cleared = bool(flag & READ), bool(flag & CLEARED)
            if flag & WRITTEN:
                element.shape = np.shape(value)
                element.value = None if element.cleared else value
                self._check_shape(0, element.shape)

    @property
    def dynamic(self) -> bool:
        """True if the array may still grow."""
        return self._dynamic
