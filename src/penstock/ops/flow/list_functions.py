"""``tensorflow.python.ops.list_ops``: lists of tensors with shapes of elements as programs write them."""
from __future__ import annotations

from typing import Any

from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.flow import tensor_list as ops


def _element_shape(shape: Any) -> Any:
    """A shape as the ops take it: a tensor as it is."""
    return shape if isinstance(shape, Tensor) else ops.element_shape_tensor(TensorShape(None) if shape is None else as_shape(shape))


def empty_tensor_list(element_shape: Any, element_dtype: Any, max_num_elements: Any = None, name: str | None = None) -> Tensor:
    """A list without elements."""
    limit = -1 if max_num_elements is None else max_num_elements
    return ops.EmptyTensorList(_element_shape(element_shape), limit, element_dtype=element_dtype, name=name)


def tensor_list_push_back(input_handle: Any, tensor: Any, name: str | None = None) -> Tensor:
    """The list with one more element at its end."""
    return ops.TensorListPushBack(input_handle, tensor, name=name)


def tensor_list_pop_back(input_handle: Any, element_dtype: Any, name: str | None = None) -> Any:
    """(the list without its last element, that element)."""
    return ops.TensorListPopBack(input_handle, -1, element_dtype=element_dtype, name=name)


def tensor_list_from_tensor(tensor: Any, element_shape: Any, name: str | None = None) -> Tensor:
    """The list of the rows of a tensor."""
    return ops.TensorListFromTensor(tensor, _element_shape(element_shape), name=name)


def tensor_list_stack(input_handle: Any, element_dtype: Any, num_elements: int = -1, element_shape: Any = None, name: str | None = None) -> Tensor:
    """The elements as the rows of one tensor."""
    return ops.TensorListStack(input_handle, _element_shape(element_shape), element_dtype=element_dtype, num_elements=num_elements, name=name)


def tensor_list_concat(input_handle: Any, element_dtype: Any, element_shape: Any = None, name: str | None = None) -> Tensor:
    """The elements one after the other, along their first axis."""
    return ops.TensorListConcatV2(input_handle, _element_shape(element_shape), [], element_dtype=element_dtype, name=name)[0]


def tensor_list_split(tensor: Any, element_shape: Any, lengths: Any, name: str | None = None) -> Tensor:
    """The list of pieces, of these lengths, of a tensor."""
    return ops.TensorListSplit(tensor, _element_shape(element_shape), lengths, name=name)


def tensor_list_length(input_handle: Any, name: str | None = None) -> Tensor:
    """The number of elements."""
    return ops.TensorListLength(input_handle, name=name)
