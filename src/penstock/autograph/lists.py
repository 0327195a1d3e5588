"""Lists of converted functions (``Feature.LISTS``): a list that begins empty may be filled in a loop over tensors.

Such a list is a tensor of type variant, which graph control flow can carry. An append makes another list, so the variable is assigned.
"""
from __future__ import annotations

from typing import Any

from penstock.autograph.state import is_symbolic
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.flow.tensor_list import TensorListPopBack, TensorListPushBack, TensorListStack, element_shape_tensor, empty_list


def new_list() -> Any:
    """``[]``: in a graph, a list that loops and branches can fill."""
    return [] if default_graph().imperative else empty_list(dtypes.variant, TensorShape(None))


def _is_list(items: Any) -> bool:
    if is_symbolic(items) and items.dtype.base_dtype is not dtypes.variant:
        raise ValueError(f"tensor lists are expected to be Tensors with dtype=tf.variant, instead found {items}")
    return is_symbolic(items)


def list_append(items: Any, item: Any) -> Any:
    """``items.append(item)``; returns what the variable is from then on."""
    if hasattr(items, "with_flow"):
        return items.write(items.size(), item)
    if not _is_list(items):
        items.append(item)
        return items
    element = to_tensor(item)
    longer = TensorListPushBack(items, element)
    longer._handle_data = (element.dtype.base_dtype, element.shape)
    return longer


def list_pop(items: Any, *index: Any) -> tuple[Any, Any]:
    """``items.pop(index)``: (what the variable is from then on, the element)."""
    if not isinstance(items, Tensor) or not _is_list(items):
        return items, items.pop(*index)
    if index:
        raise NotImplementedError("tensor lists only support removing from the end")
    dtype, shape = items._handle_data or (dtypes.variant, TensorShape(None))
    if dtype is dtypes.variant:
        raise ValueError("cannot pop from a list without knowing its element type; use set_element_type to annotate it")
    shorter, element = TensorListPopBack(items, element_shape_tensor(shape), element_dtype=dtype)
    shorter._handle_data = items._handle_data
    return shorter, element


def set_element_type(entity: Any, dtype: Any, shape: Any = None) -> None:
    """Says what the elements of a list are."""
    if is_symbolic(entity):
        entity._handle_data = (dtypes.as_dtype(dtype), as_shape(shape))


def stack(list_or_tensor: Any, element_dtype: Any = None, strict: bool = True) -> Any:
    """The elements of a list as one tensor; a tensor as it is. What is neither is an error, unless not ``strict``."""
    if hasattr(list_or_tensor, "with_flow"):
        return list_or_tensor.stack()
    if not isinstance(list_or_tensor, Tensor):
        if strict:
            raise ValueError(f"{list_or_tensor} must be stackable when strict=True")
        return list_or_tensor
    if list_or_tensor.dtype.base_dtype is not dtypes.variant:
        return list_or_tensor
    dtype, shape = list_or_tensor._handle_data or (dtypes.variant, TensorShape(None))
    dtype = dtype if element_dtype is None else dtypes.as_dtype(element_dtype)
    if dtype is dtypes.variant:
        raise ValueError("cannot stack a list without knowing its element type; use set_element_type to annotate it")
    return TensorListStack(list_or_tensor, element_shape_tensor(shape), element_dtype=dtype)
