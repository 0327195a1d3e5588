"""The operations on arrays of tensors. A handle's value is the array itself, an ``ArrayState``.

``flow`` is a number without meaning that each operation takes and gives on: it says which operation comes before which. Its gradient runs the other
way, and so says in which order the array of gradients is filled and read.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import KernelError, UnimplementedError, invalid_argument
from penstock.graph import raw_ops
from penstock.graph.attrs import STRING, TYPE, Attr
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import control_dependencies
from penstock.graph.shape import TensorShape, brackets
from penstock.graph.stacks import gradient_calls
from penstock.ops.common import fixed, nothing
from penstock.ops.constant import identity
from penstock.ops.flow.tensor_array_state import ArrayState

_ANY_SHAPE = Attr("shape", TensorShape(None))
_HANDLE, _SCALAR = TensorShape([2]), TensorShape([])
_FLOW = np.float32(0)


def _check_type(array: ArrayState, dtype: Any, verb: str) -> None:
    if array.dtype is not dtype.base_dtype:
        raise invalid_argument(f"TensorArray dtype is {_name(array.dtype)} but Op is trying to {verb} dtype {_name(dtype)}.")


def _name(dtype: Any) -> str:
    return {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)


def gradient_array(handle: Tensor, flow: Tensor) -> tuple[Tensor, Tensor]:
    """The array of the gradients of ``handle`` for the ``tf.gradients`` that is under way: (handle, flow)."""
    source = gradient_calls.items[0].rstrip("/") if gradient_calls.items else "gradients"
    grad_handle, _ = TensorArrayGradV3(handle, flow, source=source, name="TensorArrayGrad/TensorArrayGradV3")
    with control_dependencies([grad_handle.op]):
        return grad_handle, identity(flow, name="gradient_flow")


@op("TensorArrayV3", "size: int32 -> handle: resource, flow: float", dtype=TYPE, element_shape=_ANY_SHAPE, dynamic_size=False,
    clear_after_read=True, identical_element_shapes=False, tensor_array_name="")
class TensorArrayV3:
    """A new array."""

    stateful = True
    array_role = "create"
    ranks = {"size": 0}

    def shape():
        return [_HANDLE, _SCALAR]

    def kernel(size, ctx, dtype, element_shape, dynamic_size, clear_after_read, identical_element_shapes, tensor_array_name):
        return ArrayState(tensor_array_name or ctx.node.name, dtype, int(size), element_shape, dynamic_size, clear_after_read,
                          identical_element_shapes), _FLOW

    def native(emit):
        return emit.arrays.create()

    gradient = None


@op("TensorArrayGradV3", "handle: resource, flow_in: float -> grad_handle: resource, flow_out: float", source=STRING)
class TensorArrayGradV3:
    """The array of the gradients of an array: the same one each time for the same source."""

    stateful = True
    array_role = "gradient"

    def shape():
        return [_HANDLE, _SCALAR]

    def kernel(handle, source):
        return handle.gradient(source), _FLOW

    def native(emit):
        return emit.arrays.gradient()

    gradient = None


@op("TensorArrayWriteV3", "handle: resource, index: int32, value: T, flow_in: float -> flow_out: float", T=TYPE)
class TensorArrayWriteV3:
    """Puts in one element."""

    stateful = True
    array_role = "write"
    ranks = {"index": 0}
    shape = fixed()

    def kernel(handle, index, value, T):
        _check_type(handle, T, "write")
        handle.write(int(index), value)
        return _FLOW

    def native(emit, index, value):
        return emit.arrays.put(index, value)

    def gradient(op, dflow):
        handle, flow = gradient_array(op.inputs[0], dflow)
        return [None, None, TensorArrayReadV3(handle, op.inputs[1], flow, dtype=op.attrs["T"]), dflow]


@op("TensorArrayReadV3", "handle: resource, index: int32, flow_in: float -> value: dtype", dtype=TYPE)
class TensorArrayReadV3:
    """Takes out one element."""

    stateful = True
    array_role = "read"
    ranks = {"index": 0}

    def shape():
        return None

    def kernel(handle, index, dtype):
        _check_type(handle, dtype, "read")
        return handle.element(int(index))

    def native(emit, index):
        return emit.arrays.take(index)

    def gradient(op, dvalue):
        handle, flow = gradient_array(op.inputs[0], op.inputs[2])
        return [None, None, TensorArrayWriteV3(handle, op.inputs[1], dvalue, flow)]


@op("TensorArrayGatherV3", "handle: resource, indices: int32, flow_in: float -> value: dtype", dtype=TYPE, element_shape=_ANY_SHAPE)
class TensorArrayGatherV3:
    """Takes out several elements and stacks them."""

    stateful = True
    array_role = "gather"
    ranks = {"indices": 1}

    def shape(indices, element_shape):
        return TensorShape([indices.shape.as_list()[0] if indices.shape.ndims is not None else None]).concatenate(element_shape)

    def kernel(handle, indices, dtype, element_shape):
        _check_type(handle, dtype, "read")
        elements = handle.elements(indices)
        if not elements:
            return _no_elements(handle, dtype, element_shape)
        if not element_shape.is_compatible_with(np.shape(elements[0])):
            raise invalid_argument(f"TensorArray was passed element_shape {brackets(element_shape)} which does not match the Tensor at index 0: "
                                   f"{brackets(np.shape(elements[0]))}")
        return _stack_elements(elements, dtype)

    def native(emit, indices):
        return emit.arrays.take(indices)

    def gradient(op, dvalue):
        handle, flow = gradient_array(op.inputs[0], op.inputs[2])
        return [None, None, TensorArrayScatterV3(handle, op.inputs[1], dvalue, flow)]


def _stack_elements(elements: list[Any], dtype: Any) -> np.ndarray:
    first = np.shape(elements[0])
    for index, element in enumerate(elements):
        if np.shape(element) != first:
            raise invalid_argument(f"TensorArray has inconsistent shapes.  Index 0 has shape: {brackets(first)} but index {index} has shape: "
                                   f"{brackets(np.shape(element))}")
    result = np.empty((len(elements), *first), dtype.np)
    for index, element in enumerate(elements):
        result[index, ...] = element  # the string itself, where it is one, not an array that holds it
    return result


def _no_elements(array: ArrayState, dtype: Any, element_shape: TensorShape) -> np.ndarray:
    known = array.element_shape if array.element_shape.is_fully_defined() else element_shape
    if not known.is_fully_defined():
        raise KernelError(UnimplementedError, f"TensorArray has size zero, but element shape {brackets(known)} is not fully defined. Currently "
                                              "only static shapes are supported when packing zero-size TensorArrays.")
    return np.empty((0, *known.as_list()), dtype.np)


@op("TensorArrayScatterV3", "handle: resource, indices: int32, value: T, flow_in: float -> flow_out: float", T=TYPE)
class TensorArrayScatterV3:
    """Puts in several elements: the slices of a tensor along its first axis."""

    stateful = True
    array_role = "scatter"
    ranks = {"indices": 1}

    def shape(indices, value):
        if indices.shape.ndims is not None and value.shape.ndims is not None:
            value.shape.with_rank_at_least(1)[:1].merge_with(indices.shape)
        return _SCALAR

    def kernel(handle, indices, value, T):
        _check_type(handle, T, "write")
        if np.ndim(value) < 1:
            raise invalid_argument(f"Input value for unpack must be at least a vector but received shape: {brackets(np.shape(value))}")
        if len(indices) != len(value):
            raise invalid_argument(f"Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. {len(value)}")
        largest = int(np.max(indices, initial=-1))
        if largest >= len(handle) and not handle.dynamic:
            raise invalid_argument(f"Max scatter index must be < array size ({largest} vs. {len(handle)})")
        handle.reserve(largest + 1)
        for index, row in zip(indices.tolist(), value):
            handle.write(index, row)
        return _FLOW

    def native(emit, indices, value):
        return emit.arrays.put(indices, value)

    def gradient(op, dflow):
        handle, flow = gradient_array(op.inputs[0], dflow)
        value = op.inputs[2]
        element = value.shape[1:] if value.shape.ndims else TensorShape(None)
        return [None, None, TensorArrayGatherV3(handle, op.inputs[1], flow, dtype=op.attrs["T"], element_shape=element), dflow]


@op("TensorArrayConcatV3", "handle: resource, flow_in: float -> value: dtype, lengths: int64", dtype=TYPE, element_shape_except0=_ANY_SHAPE)
class TensorArrayConcatV3:
    """Takes out all elements and joins them along their first axis; also gives the extents that they had there."""

    stateful = True

    def shape(element_shape_except0):
        return [TensorShape([None]).concatenate(element_shape_except0), TensorShape([None])]

    def kernel(handle, dtype, element_shape_except0):
        _check_type(handle, dtype, "read")
        elements = handle.elements(range(len(handle)))
        if not elements:
            return _nothing_to_join(handle, dtype, element_shape_except0), np.empty(0, np.int64)
        for index, element in enumerate(elements):
            _check_joinable(index, np.shape(element), np.shape(elements[0]))
        if not element_shape_except0.is_compatible_with(np.shape(elements[0])[1:]):
            raise invalid_argument(f"TensorArray was passed element_shape_except0 {brackets(element_shape_except0)} which does not match that of "
                                   f"its elements (excepting dimension 0): {brackets(np.shape(elements[0])[1:])}")
        return np.concatenate(elements), np.array([len(element) for element in elements], np.int64)

    def gradient(op, dvalue, dlengths):
        handle, flow = gradient_array(op.inputs[0], op.inputs[1])
        return [None, TensorArraySplitV3(handle, dvalue, op.outputs[1], flow)]


def _check_joinable(index: int, shape: tuple[int, ...], first: tuple[int, ...]) -> None:
    if not shape:
        raise invalid_argument(f"Concat saw a scalar shape at index {index} but requires at least vectors.  Did you mean to call pack?")
    if shape[1:] != first[1:]:
        raise invalid_argument(f"TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: {brackets(first[1:])} but index "
                               f"{index} has (excepting dimension 0) shape: {brackets(shape[1:])}")


def _nothing_to_join(array: ArrayState, dtype: Any, shape: TensorShape) -> np.ndarray:
    known = array.element_shape[1:] if array.element_shape.ndims and array.element_shape[1:].is_fully_defined() else shape
    if not known.is_fully_defined():
        raise KernelError(UnimplementedError, f"TensorArray has size zero, but element_shape_except0 {brackets(known)} is not fully defined. "
                                              "Currently only static shapes are supported when concatenating zero-size TensorArrays.")
    return np.empty((0, *known.as_list()), dtype.np)


@op("TensorArraySplitV3", "handle: resource, value: T, lengths: int64, flow_in: float -> flow_out: float", T=TYPE)
class TensorArraySplitV3:
    """Puts in the parts of a tensor, of different lengths along its first axis, as the elements."""

    stateful = True
    ranks = {"lengths": 1}
    shape = fixed()

    def kernel(handle, value, lengths, T):
        _check_type(handle, T, "write")
        if np.ndim(value) < 1:
            raise invalid_argument(f"Expected value to be at least a vector, but received shape: {brackets(np.shape(value))}")
        if lengths.sum() != len(value):
            raise invalid_argument(f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {lengths.sum()} and value's shape "
                                   f"is: {brackets(np.shape(value))}")
        handle.reserve(len(lengths))
        if len(handle) != len(lengths):
            raise invalid_argument(f"TensorArray's size is not equal to the size of lengths ({len(handle)} vs. {len(lengths)}), and the TensorArray "
                                   "is not marked as dynamically resizeable")
        for index, part in enumerate(np.split(value, np.cumsum(lengths)[:-1])):
            handle.write(index, part)
        return _FLOW

    def gradient(op, dflow):
        handle, flow = gradient_array(op.inputs[0], dflow)
        value = op.inputs[1]
        rest = value.shape[1:] if value.shape.ndims else TensorShape(None)
        gradient = TensorArrayConcatV3(handle, flow, dtype=op.attrs["T"], element_shape_except0=rest)[0]
        if op.inputs[0].op.attrs.get("dynamic_size", True):  # elements that were written behind these are none of this value's
            gradient = gradient[:raw_ops.Shape(value)[0]]
        return [None, gradient, None, dflow]


@op("TensorArraySizeV3", "handle: resource, flow_in: float -> size: int32")
class TensorArraySizeV3:
    """How many elements the array has."""

    stateful = True
    array_role = "size"
    shape = fixed()

    def kernel(handle):
        return np.int32(len(handle))

    def native(emit):
        return emit.arrays.size()

    gradient = None


@op("TensorArrayCloseV3", "handle: resource ->")
class TensorArrayCloseV3:
    """Forgets the array before the end of the step."""

    stateful = True
    shape = nothing()

    def kernel(handle):
        handle.close()
        return ()

    gradient = None
