"""``tf.TensorArray``: an array of tensors that is written element by element, mostly in a loop, and read or stacked afterwards."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn

from penstock.errors import InvalidArgumentError, OutOfRangeError
from penstock.graph import dtypes as dt
from penstock.graph.convert import convert_to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import colocate_with, control_dependencies, device, name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros
from penstock.ops.array.pack import concat, split, stack, unstack
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import constant, identity
from penstock.ops.flow.tensor_array import (
    TensorArrayCloseV3,
    TensorArrayConcatV3,
    TensorArrayGatherV3,
    TensorArrayGradV3,
    TensorArrayReadV3,
    TensorArrayScatterV3,
    TensorArraySizeV3,
    TensorArraySplitV3,
    TensorArrayV3,
    TensorArrayWriteV3,
)


class _Knowledge:
    """What all forms of one array share: the shape of its elements, as far as writes have told it, and the tensor that was written first."""

    def __init__(self, element_shape: TensorShape, infer_shape: bool, colocate: bool) -> None:
        self.element_shape, self.infer_shape, self.colocate = element_shape, infer_shape, colocate
        self.first_value: Tensor | None = None

    def merge(self, shape: TensorShape) -> None:
        """Another element has this shape."""
        if not self.infer_shape:
            return
        if not self.element_shape.is_compatible_with(shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape} (and infer_shape=True)")
        self.element_shape = self.element_shape.merge_with(shape)


class TensorArray:
    """``tf.TensorArray``: each method that changes the array returns the array after the change; use that one from then on.

    An element is written once. Reading clears it, unless ``clear_after_read=False``. The array lives as long as the step.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     array = tf.TensorArray(tf.float32, size=2).write(0, 1.0).write(1, 2.0)
    ...     sess.run(array.stack()).tolist()
    [1.0, 2.0]
    """

    def __new__(cls, dtype: Any, size: Any = None, dynamic_size: bool | None = None, clear_after_read: bool | None = None,
                tensor_array_name: str | None = None, handle: Tensor | None = None, flow: Tensor | None = None, infer_shape: bool = True,
                element_shape: Any = None, colocate_with_first_write_call: bool = True, name: str | None = None) -> TensorArray:
        """In imperative style, a list."""
        return object.__new__(TensorList if cls is TensorArray and default_graph().imperative and handle is None else cls)

    def __init__(self, dtype: Any, size: Any = None, dynamic_size: bool | None = None, clear_after_read: bool | None = None,
                 tensor_array_name: str | None = None, handle: Tensor | None = None, flow: Tensor | None = None, infer_shape: bool = True,
                 element_shape: Any = None, colocate_with_first_write_call: bool = True, name: str | None = None) -> None:
        self._check_arguments(size, dynamic_size, clear_after_read, tensor_array_name, handle, flow)
        self._dtype = dt.as_dtype(dtype).base_dtype
        self._known = _Knowledge(as_shape(element_shape), infer_shape or element_shape is not None, colocate_with_first_write_call)
        self._dynamic_size = bool(dynamic_size)
        with name_scope(name, "TensorArray", [item for item in (handle, size, flow) if isinstance(item, Tensor)]) as scope:
            if handle is not None:
                assert flow is not None
                self._handle, self._flow = handle, flow
                return
            with self._anywhere() if colocate_with_first_write_call else nullcontext():
                self._handle, self._flow = TensorArrayV3(
                    0 if size is None else size, dtype=self._dtype, element_shape=self._known.element_shape, dynamic_size=dynamic_size,
                    clear_after_read=clear_after_read, tensor_array_name=tensor_array_name, identical_element_shapes=infer_shape, name=scope)

    @staticmethod
    def _check_arguments(size: Any, dynamic_size: Any, clear_after_read: Any, tensor_array_name: Any, handle: Any, flow: Any) -> None:
        if handle is not None and tensor_array_name:
            raise ValueError("Cannot construct with both handle and tensor_array_name")
        if handle is not None and not isinstance(handle, Tensor):
            raise TypeError("Handle must be a Tensor")
        if handle is None and size is None:
            raise ValueError("Size must be provided if handle is not provided")
        for name, value in (("a size", size), ("dynamic_size", dynamic_size), ("clear_after_read", clear_after_read)):
            if handle is not None and value is not None:
                raise ValueError(f"Cannot provide both a handle and {name} at the same time")
        if handle is not None and flow is None:
            raise ValueError("flow must not be None if handle is not None.")

    @staticmethod
    @contextmanager
    def _anywhere() -> Iterator[None]:
        """The array is placed with what is written to it, not with the code around its creation."""
        with device(None), colocate_with(None, ignore_existing=True):
            yield

    # --- what it is --------------------------------------------------------------------------------------------------

    @property
    def flow(self) -> Tensor:
        """What the next operation on the array comes after."""
        return self._flow

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def handle(self) -> Tensor:
        """The handle of the array."""
        return self._handle

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of the elements."""
        return self._known.element_shape

    @property
    def dynamic_size(self) -> bool:
        """True if the array grows when something is written behind its end."""
        return self._dynamic_size

    def with_flow(self, flow: Tensor) -> TensorArray:
        """The same array, after what ``flow`` comes from."""
        array = object.__new__(type(self))
        array.__dict__.update(self.__dict__)
        array._flow = flow
        return array

    def identity(self) -> TensorArray:
        """The array, with a flow of its own."""
        return self.with_flow(identity(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The array of the gradients of the elements."""
        flow = self._flow if flow is None else flow
        with name_scope(name, "TensorArrayGrad", [self._handle]), colocate_with(self._handle.op):
            handle, _ = TensorArrayGradV3(self._handle, flow, source=source)
            with control_dependencies([handle.op]):
                flow = identity(flow, name="gradient_flow")
            array = TensorArray(self._dtype, handle=handle, flow=flow, infer_shape=self._known.infer_shape, colocate_with_first_write_call=False)
            array._known.element_shape = self._known.element_shape
            return array

    # --- elements ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _beside(self, value: Tensor) -> Iterator[None]:
        """Writes run where the first value that was written is."""
        if not self._known.colocate:
            yield
            return
        if self._known.first_value is None:
            self._known.first_value = value
        with colocate_with(self._known.first_value.op):
            yield

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element at ``index``."""
        value = TensorArrayReadV3(self._handle, index, self._flow, dtype=self._dtype, name=name)
        value.set_shape(self._known.element_shape)
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Puts ``value`` at ``index``."""
        with name_scope(name, "TensorArrayWrite", self._tensors(index, value)):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._known.merge(value.shape)
            with self._beside(value):
                return self.with_flow(TensorArrayWriteV3(self._handle, index, value, self._flow, name=name))

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as one tensor, along a new first axis."""
        with colocate_with(self._handle.op), name_scope(name, "TensorArrayStack", [self._handle]):
            return self.gather(range_(0, self.size()), name=name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at ``indices`` as one tensor, along a new first axis."""
        return TensorArrayGatherV3(self._handle, indices, self._flow, dtype=self._dtype, element_shape=self._known.element_shape, name=name)

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, joined along their first axis."""
        rest = self._known.element_shape[1:] if self._known.element_shape.ndims else TensorShape(None)
        return TensorArrayConcatV3(self._handle, self._flow, dtype=self._dtype, element_shape_except0=rest, name=name)[0]

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Makes the slices of ``value`` along its first axis the elements."""
        with name_scope(name, "TensorArrayUnstack", self._tensors(value)):
            return self.scatter(range_(0, shape(value)[0]), value, name=name)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Puts the slices of ``value`` along its first axis at ``indices``."""
        with name_scope(name, "TensorArrayScatter", self._tensors(indices, value)):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            if value.shape.ndims:
                self._known.merge(value.shape[1:])
            with self._beside(value):
                return self.with_flow(TensorArrayScatterV3(self._handle, indices, value, self._flow, name=name))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Makes parts of ``value`` along its first axis, with these lengths, the elements."""
        with name_scope(name, "TensorArraySplit", self._tensors(value, lengths)):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            with self._beside(value):
                lengths = cast(lengths, dt.int64)
                known = constant_value(lengths)
                if known is not None and value.shape.ndims and known.size and known.max() == known.min():
                    self._known.merge(TensorShape([int(known[0])]).concatenate(value.shape[1:]))
                return self.with_flow(TensorArraySplitV3(self._handle, value, lengths, self._flow, name=name))

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        return TensorArraySizeV3(self._handle, self._flow, name=name)

    def close(self, name: str | None = None) -> Operation:
        """Forgets the array before the step ends."""
        return TensorArrayCloseV3(self._handle, name=name)

    def _tensors(self, *values: Any) -> list[Any]:
        return [self._handle, *(value for value in values if isinstance(value, Tensor))]


class TensorList(TensorArray):
    """A TensorArray of imperative style: a list of values. Gradients go through the values themselves."""

    def __init__(self, dtype: Any, size: Any = None, dynamic_size: bool | None = None, clear_after_read: bool | None = None,
                 tensor_array_name: str | None = None, handle: None = None, flow: None = None, infer_shape: bool = True, element_shape: Any = None,
                 colocate_with_first_write_call: bool = True, name: str | None = None) -> None:
        self._check_arguments(size, dynamic_size, clear_after_read, tensor_array_name, handle, flow)
        self._dtype = dt.as_dtype(dtype).base_dtype
        self._known = _Knowledge(as_shape(element_shape), infer_shape or element_shape is not None, False)
        self._dynamic_size, self._clears = bool(dynamic_size), clear_after_read is None or clear_after_read
        self._elements: list[Tensor | None] = [None] * int(size or 0)
        self._cleared: set[int] = set()

    @property
    def flow(self) -> Tensor:
        """A constant: the program's own order is that of the operations."""
        return constant(0.0)

    @property
    def handle(self) -> None:  # type: ignore[override]
        """None: the elements are in the program."""

    def with_flow(self, flow: Tensor) -> TensorArray:
        """The array itself."""
        if not default_graph().imperative:
            raise NotImplementedError("A TensorArray of imperative style cannot be an argument of a function that is traced; pass `array.stack()`.")
        return self

    def identity(self) -> TensorArray:
        """The array itself."""
        return self

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> NoReturn:
        """NotImplementedError: gradients go through the elements."""
        raise NotImplementedError("TensorArray.grad is not supported when executing eagerly; eager's gradient implementation does not use/need this "
                                  "function to compute gradients of operations that use TensorArrays.")

    def _element(self, index: int) -> Tensor:
        """An element; zeros for one that was not written, or that was cleared."""
        value = self._elements[index]
        if value is None:
            value = self._elements[index] = zeros(self._known.element_shape, self._dtype)
        return value

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """An element, which is cleared, unless ``clear_after_read`` is off."""
        place = int(index)
        if place < 0:
            raise OutOfRangeError(None, None, f"Reading from negative indices (index {place}) is not allowed.")
        if place >= len(self._elements):
            raise OutOfRangeError(None, None, f"Tried to read from index {place} but array size is: {len(self._elements)}")
        if self._elements[place] is None and place in self._cleared:
            raise InvalidArgumentError(None, None, f"Could not read index {place} twice because it was cleared after a previous read (perhaps try "
                                                   "setting clear_after_read = false?)")
        value = self._element(place)
        if self._clears:
            self._elements[place] = None
            self._cleared.add(place)
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Sets an element; the array itself."""
        place = int(index)
        if place < 0:
            raise OutOfRangeError(None, None, f"Writing to negative indices (index {place}) is not allowed.")
        if place >= len(self._elements):
            if not self._dynamic_size:
                raise OutOfRangeError(None, None, f"Tried to write to index {place} but array is not resizeable and size is: {len(self._elements)}")
            self._elements += [None] * (place + 1 - len(self._elements))
        self._elements[place] = self._check(value)
        return self

    def _check(self, value: Any) -> Tensor:
        tensor = convert_to_tensor(value, preferred_dtype=self._dtype)
        if tensor.dtype.base_dtype is not self._dtype:
            raise InvalidArgumentError(None, None, f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {tensor.dtype.name}")
        if not self._known.element_shape.is_compatible_with(tensor.shape):
            raise ValueError(f"Incompatible shape for value ({tensor.shape}), expected ({self._known.element_shape})")
        self._known.merge(tensor.shape)
        return tensor

    def _all(self) -> list[Tensor]:
        return [self._element(index) for index in range(len(self._elements))]

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, as one tensor."""
        return stack(self._all()) if self._elements else zeros(TensorShape([0]).concatenate(self._known.element_shape), self._dtype)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Some elements, as one tensor."""
        return stack([self._element(int(index)) for index in convert_to_tensor(indices)])

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, joined along their first axis."""
        return concat(self._all(), 0)

    def _replace(self, values: list[Tensor], how: str) -> TensorArray:
        if len(values) > len(self._elements) and not self._dynamic_size:
            raise ValueError(f"Cannot {how} {len(values)} tensors into a TensorArray of static size {len(self._elements)}")
        self._elements = [self._check(value) for value in values]
        self._cleared.clear()
        return self

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Takes the rows of ``value`` as its elements."""
        return self._replace(unstack(convert_to_tensor(value, preferred_dtype=self._dtype)), "unstack")

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Writes the rows of ``value``."""
        for index, row in zip(convert_to_tensor(indices), unstack(convert_to_tensor(value, preferred_dtype=self._dtype))):
            self.write(index, row)
        return self

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Takes parts of ``value``, of these lengths, as its elements."""
        return self._replace(split(convert_to_tensor(value, preferred_dtype=self._dtype), [int(length) for length in convert_to_tensor(lengths)]),
                             "split")

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        return constant(len(self._elements))

    def close(self, name: str | None = None) -> None:  # type: ignore[override]
        """Forgets the elements."""
        self._elements.clear()
