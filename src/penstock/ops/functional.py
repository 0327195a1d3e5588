"""Conditionals and loops as operations on functions: If and While, and the lists that a loop's gradient keeps its values in.

A function is a FuncGraph, held in an attribute. A list of tensors is a chain of cells, ``(rest, tensor)``, so that pushing and popping share what is
there and copy nothing.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import OpError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import FUNC, SHAPE, TYPE, Attr
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value_as_shape
from penstock.ops.common import INDEX, fixed

SHAPES = Attr("list(shape)", ())
TYPES = Attr("list(type)")


@op("_FuncInput", "-> output: T", T=TYPE, shape=SHAPE, is_ref=False)
class FuncInput:
    """An argument of a function."""

    stateful = True  # its value comes from the caller

    def shape(shape):
        return shape

    gradient = None


def _by_value(function: Any, values: Any) -> list[Any]:
    """Arguments for a function: references are read where it takes a value."""
    return [value.read() if hasattr(value, "read") and not tensor.dtype.is_ref and tensor.dtype is not dt.resource else value
            for tensor, value in zip(function.inputs, values)]


def is_true(value: Any) -> bool:
    """A condition: a bool, a number that is not zero, a string that is not empty, or an array with elements."""
    array = np.asarray(value)
    return bool(array.size) if array.ndim else bool(array[()])


@op("If", "cond: Tcond, input: Tin -> output: Tout", Tcond=TYPE, Tin=TYPES, Tout=TYPES, then_branch=FUNC, else_branch=FUNC, output_shapes=SHAPES)
class If:
    """Runs one of two functions. What the other one would do does not happen."""

    stateful = passes_references = True

    def shape(then_branch, else_branch):
        return [one.shape.most_specific_compatible_shape(other.shape) for one, other in zip(then_branch.outputs, else_branch.outputs)]

    def kernel(ctx, cond, input, then_branch, else_branch):
        branch = then_branch if is_true(cond) else else_branch
        return ctx.call(branch, _by_value(branch, input))

    def gradient(op, *dys):
        from penstock.function_gradients import if_gradient  # differentiation stands above the ops
        return if_gradient(op, dys)


@op("While", "input: T -> output: T", T=TYPES, cond=FUNC, body=FUNC, output_shapes=SHAPES, parallel_iterations=10)
class While:
    """Runs a function on its own results as long as another one says so."""

    stateful = passes_references = True

    def shape(output_shapes):
        return output_shapes

    def kernel(ctx, input, cond, body):
        values = _by_value(body, input)
        iteration = 0
        try:
            while is_true(ctx.call(cond, values)[0]):
                values = ctx.call(body, values)
                iteration += 1
        except OpError as error:
            raise type(error)(None, error.op, f"{error.message}\n  in iteration {iteration} of the loop '{ctx.node.name}', made at "
                              f"{ctx.op.origin or 'an unknown place'}") from error.__cause__
        return values

    def gradient(op, *dys):
        from penstock.function_gradients import while_gradient  # differentiation stands above the ops
        return while_gradient(op, dys)


@op("EmptyTensorList", "element_shape: shape_type, max_num_elements: int32 -> handle: variant", element_dtype=TYPE, shape_type=INDEX)
class EmptyTensorList:
    """A list without elements."""

    shape = fixed()

    def kernel():
        return ()

    gradient = None


@op("TensorListPushBack", "input_handle: variant, tensor: element_dtype -> output_handle: variant", element_dtype=TYPE)
class TensorListPushBack:
    """The list with one more element at its end."""

    shape = fixed()

    def kernel(input_handle, tensor):
        return (input_handle, tensor)

    def gradient(op, dlist):
        element = op.inputs[1]
        rest, tensor = TensorListPopBack(dlist, element_shape_tensor(element.shape), element_dtype=element.dtype.base_dtype)
        return [rest, tensor]


@op("TensorListPopBack", "input_handle: variant, element_shape: int32 -> output_handle: variant, tensor: element_dtype", element_dtype=TYPE)
class TensorListPopBack:
    """The list without its last element, and that element. A list of gradients that was never filled gives zeros."""

    def shape(element_shape):
        return [TensorShape(()), constant_value_as_shape(element_shape) if element_shape.shape.ndims == 1 else TensorShape(None)]

    def kernel(input_handle, element_shape, element_dtype):
        if len(input_handle) != 2:
            extents = np.asarray(element_shape)
            if extents.ndim == 0 or (extents < 0).any():
                raise invalid_argument("Trying to pop from an empty list.")
            return (), np.zeros(extents, element_dtype.np)
        return input_handle

    def gradient(op, dlist, dtensor):
        if dlist is None:
            dlist = EmptyTensorList(op.inputs[1], -1, element_dtype=op.attrs["element_dtype"])
        if dtensor is None:
            return [dlist, None]
        return [TensorListPushBack(dlist, dtensor), None]


def element_shape_tensor(shape: TensorShape) -> Any:
    """A shape as the int vector (-1 for unknown extents, or a scalar -1 for an unknown rank) that list ops take."""
    if shape.ndims is None:
        return np.int32(-1)
    return np.array([-1 if extent is None else extent for extent in shape.as_list()], np.int32)
