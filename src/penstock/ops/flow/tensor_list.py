"""Lists of tensors, in which a loop keeps the values that its gradient needs.

A list is a chain of cells, ``(rest, tensor)``; the empty one is ``()``. Pushing and popping share what is there and copy nothing.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value_as_shape
from penstock.ops.common import INDEX, at_most, fixed


@op("EmptyTensorList", "element_shape: shape_type, max_num_elements: int32 -> handle: variant", element_dtype=TYPE, shape_type=INDEX)
class EmptyTensorList:
    """A list without elements."""

    list_role = "empty"
    ranks = {"element_shape": at_most(1)}
    shape = fixed()

    def kernel():
        return ()

    def native(emit):
        return emit.flow.empty_list()

    gradient = None


@op("TensorListPushBack", "input_handle: variant, tensor: element_dtype -> output_handle: variant", element_dtype=TYPE)
class TensorListPushBack:
    """The list with one more element at its end."""

    list_role = "push"
    shape = fixed()

    def kernel(input_handle, tensor):
        return (input_handle, tensor)

    def native(emit, input_handle, tensor):
        return emit.flow.push(input_handle, tensor)

    def gradient(op, dlist):
        element = op.inputs[1]
        if not _has_gradient(element):  # nothing was pushed for it: see the gradient of TensorListPopBack
            return [dlist, None]
        rest, tensor = TensorListPopBack(dlist, element_shape_tensor(element.shape), element_dtype=element.dtype.base_dtype)
        return [rest, tensor]


def _has_gradient(element: Tensor) -> bool:
    dtype = element.dtype.base_dtype
    return dtype.is_floating or dtype.is_complex or dtype is dt.variant or (dtype is dt.resource and element._handle_data is not None)


def _fits(shape: tuple[int, ...], wanted: list[int]) -> bool:
    return len(shape) == len(wanted) and all(extent == other or other < 0 for extent, other in zip(shape, wanted))


def _check_type(element: Any, wanted: DType) -> None:
    if wanted.is_numpy_compatible and np.asarray(element).dtype != wanted.np:
        raise invalid_argument(f"Invalid data types; op elements {wanted.name} but list elements {np.asarray(element).dtype}")


@op("TensorListPopBack", "input_handle: variant, element_shape: int32 -> output_handle: variant, tensor: element_dtype", element_dtype=TYPE)
class TensorListPopBack:
    """The list without its last element, and that element. A list of gradients that was never filled gives zeros."""

    list_role = "pop"
    ranks = {"element_shape": at_most(1)}

    def shape(element_shape):
        return [TensorShape(()), constant_value_as_shape(element_shape) if element_shape.shape.ndims == 1 else TensorShape(None)]

    def kernel(input_handle, element_shape, element_dtype):
        if len(input_handle) != 2:
            extents = np.asarray(element_shape)
            if extents.ndim != 1 or (extents < 0).any():
                raise invalid_argument("Trying to pop from an empty list.")
            return (), np.zeros(extents, element_dtype.np)
        _check_type(input_handle[1], element_dtype)
        if np.ndim(element_shape) and element_dtype.is_numpy_compatible and not _fits(np.shape(input_handle[1]), element_shape.tolist()):
            raise invalid_argument(f"Incompatible shapes; op elements {element_shape.tolist()} but list element {list(np.shape(input_handle[1]))}")
        return input_handle

    def native(emit, input_handle):
        return emit.flow.pop(input_handle)

    def gradient(op, dlist, dtensor):
        if dlist is None:
            dlist = EmptyTensorList(op.inputs[1], -1, element_dtype=op.attrs["element_dtype"])
        if dtensor is None:
            if op.attrs["element_dtype"] is not dt.variant:
                return [dlist, None]
            dtensor = empty_like(op.outputs[1])  # lists of lists stay aligned
        return [TensorListPushBack(dlist, dtensor), None]


def _elements(handle: Any) -> list[Any]:
    elements = []
    while handle:
        handle, tensor = handle
        elements.append(tensor)
    return elements[::-1]


@op("TensorListConcatV2", "input_handle: variant, element_shape: shape_type, leading_dims: int64 -> tensor: element_dtype, lengths: int64",
    element_dtype=TYPE, shape_type=INDEX)
class TensorListConcatV2:
    """The elements of a list one after the other along their first axis, and how long each is.

    If ``leading_dims`` tells the lengths of more elements than there are, the first ones were never pushed: they are zeros.
    """

    ranks = {"element_shape": at_most(1), "leading_dims": 1}

    def shape(element_shape):
        element = constant_value_as_shape(element_shape) if element_shape.shape.ndims == 1 else TensorShape(None)
        return [TensorShape([None]).concatenate(element[1:]) if element.ndims else element, [None]]

    def kernel(input_handle, element_shape, leading_dims, element_dtype):
        elements = _elements(input_handle)
        for element in elements:
            _check_type(element, element_dtype)
        missing = leading_dims[:len(leading_dims) - len(elements)] if len(leading_dims) > len(elements) else ()
        row = np.shape(elements[0])[1:] if elements else tuple(np.reshape(element_shape, -1)[1:])
        if any(extent < 0 for extent in row) or not (elements or np.ndim(element_shape)):
            raise invalid_argument("All except the first dimension must be fully defined when concating an empty tensor list.")
        if any(np.ndim(tensor) == 0 or np.shape(tensor)[1:] != row for tensor in elements):
            raise invalid_argument(f"Tried to concat tensors with unequal shapes: {[list(np.shape(tensor)) for tensor in elements]}")
        lengths = np.array([*missing, *map(len, elements)], np.int64)
        return np.concatenate([np.zeros((sum(missing), *row), element_dtype.np), *elements]), lengths

    def gradient(op, dtensor, dlengths):
        if dtensor is None or not _has_gradient(op.outputs[0]):
            return [None, None, None]
        return [TensorListSplit(dtensor, element_shape_tensor(op.outputs[0].shape), op.outputs[1]), None, None]


@op("TensorListSplit", "tensor: element_dtype, element_shape: shape_type, lengths: int64 -> output_handle: variant", element_dtype=TYPE,
    shape_type=INDEX)
class TensorListSplit:
    """A list of the parts of a tensor along its first axis that have these lengths."""

    ranks = {"element_shape": at_most(1), "lengths": 1}
    shape = fixed()

    def kernel(tensor, element_shape, lengths):
        if np.ndim(tensor) < 1:
            raise invalid_argument(f"Tensor must be at least a vector, but saw shape: {list(np.shape(tensor))}")
        if sum(lengths) != len(tensor) or any(length < 0 for length in lengths):
            raise invalid_argument(f"Invalid value in lengths: {list(lengths)} do not add up to {len(tensor)}, the size of the first axis")
        handle: Any = ()
        for part in np.split(tensor, np.cumsum(lengths)[:-1]) if len(lengths) else ():
            handle = (handle, part)
        return handle

    def gradient(op, dlist):
        dtensor, _ = TensorListConcatV2(dlist, element_shape_tensor(TensorShape([None]).concatenate(op.inputs[0].shape[1:])), op.inputs[2],
                                        element_dtype=op.inputs[0].dtype.base_dtype)
        return [dtensor, None, None]


@op("TensorListStack", "input_handle: variant, element_shape: int32 -> tensor: element_dtype", element_dtype=TYPE, num_elements=-1)
class TensorListStack:
    """The elements of a list, stacked along a new first axis."""

    ranks = {"element_shape": at_most(1)}

    def shape(element_shape, num_elements):
        element = constant_value_as_shape(element_shape) if element_shape.shape.ndims == 1 else TensorShape(None)
        return TensorShape([None if num_elements < 0 else num_elements]).concatenate(element)

    def kernel(input_handle, element_shape, element_dtype, num_elements):
        elements = _elements(input_handle)
        if num_elements >= 0 and len(elements) != num_elements:
            raise invalid_argument(f"Operation expected a list with {num_elements} elements but got a list with {len(elements)} elements.")
        for element in elements:
            _check_type(element, element_dtype)
        if not elements:
            if not np.ndim(element_shape) or (element_shape < 0).any():
                raise invalid_argument(f"Tried to stack elements of an empty list with non-fully-defined element_shape: {element_shape}")
            return np.zeros((0, *element_shape), element_dtype.np)
        if len({np.shape(element) for element in elements}) > 1:
            raise invalid_argument(f"Tried to stack tensors with unequal shapes: {[list(np.shape(element)) for element in elements]}")
        return np.stack(elements)

    def gradient(op, dtensor):
        if dtensor is None or not _has_gradient(op.outputs[0]):
            return [None, None]
        return [TensorListFromTensor(dtensor, op.inputs[1]), None]


@op("TensorListFromTensor", "tensor: element_dtype, element_shape: shape_type -> output_handle: variant", element_dtype=TYPE, shape_type=INDEX)
class TensorListFromTensor:
    """A list of the rows of a tensor."""

    ranks = {"element_shape": at_most(1)}
    shape = fixed()

    def kernel(tensor):
        if np.ndim(tensor) < 1:
            raise invalid_argument(f"Tensor must be at least a vector, but saw shape: {list(np.shape(tensor))}")
        handle: Any = ()
        for row in tensor:
            handle = (handle, row)
        return handle

    def gradient(op, dlist):
        tensor = op.inputs[0]
        return [TensorListStack(dlist, element_shape_tensor(tensor.shape[1:]), element_dtype=tensor.dtype.base_dtype,
                                num_elements=-1 if tensor.shape.extent(0) is None else tensor.shape.extent(0)), None]


@op("TensorListLength", "input_handle: variant -> length: int32")
class TensorListLength:
    """The number of elements of a list."""

    shape = fixed()

    def kernel(input_handle):
        return np.int32(len(_elements(input_handle)))

    gradient = None


def empty_list(element_dtype: DType, element_shape: TensorShape) -> Tensor:
    """A list without elements that knows, as a tensor, what its elements will be."""
    made = EmptyTensorList(element_shape_tensor(element_shape), -1, element_dtype=element_dtype)
    made._handle_data = (element_dtype, element_shape)
    return made


def empty_like(handle: Tensor) -> Tensor:
    """A list without elements, for elements like those of another list."""
    return empty_list(*(handle._handle_data or (dt.float32, TensorShape(None))))


def element_shape_tensor(shape: TensorShape) -> Any:
    """A shape as the int vector (-1 for unknown extents, or a scalar -1 for an unknown rank) that list ops take."""
    if shape.ndims is None:
        return np.int32(-1)
    return np.array([-1 if extent is None else extent for extent in shape.as_list()], np.int32)
