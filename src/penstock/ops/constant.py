"""Constants and placeholders: where values enter a graph."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes
from penstock.graph.attrs import SHAPE, TENSOR, TYPE
from penstock.graph.convert import register_tensor_conversion_function
from penstock.graph.dtypes import DType
from penstock.graph.graph import Tensor, default_graph
from penstock.graph.opdef import op
from penstock.graph.shape import Dimension, TensorShape, as_shape, unknown_shape
from penstock.graph.tensor_proto import to_array
from penstock.ops.common import like


@op("Const", "-> output: dtype", value=TENSOR, dtype=TYPE)
class Const:
    """A value that is part of the graph."""

    def shape(value, dtype):
        if value.dtype != dtype.np:
            raise ValueError(f"a value of type {value.dtype} for a constant of type {dtype.name}")
        return TensorShape._of(value.shape)

    def static(attrs):
        return attrs["value"]

    def kernel(value):
        return value

    def lower(b, value):
        return b.constant(value)

    gradient = None


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False) -> Tensor:
    """``tf.constant``: a tensor with this value; with ``shape``, too few values repeat the last one.

    >>> constant([1, 2, 3], shape=[2, 2]).op.attrs["value"].tolist()
    [[1, 2], [3, 3]]
    """
    dtype = dtypes.quantized_type_of(value) if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if isinstance(value, Tensor) and value.op.graph.imperative:
        value = value.numpy()  # type: ignore[attr-defined]
    if isinstance(value, Tensor):
        raise TypeError(f"tf.constant needs a value, not the symbolic {value!r}; use tf.identity or tf.convert_to_tensor")
    if default_graph().imperative:
        return _constant(_fill_shape(_own_copy(value, _array(value, dtype)), shape), dtype, name)
    try:
        array = _own_copy(value, to_array(value, dtype, None if verify_shape else shape))
    except NotImplementedError:  # NumPy asked a symbolic tensor inside for its value
        raise TypeError(f"List of Tensors when single Tensor expected: tf.constant needs values, got {value!r}; "
                        "use tf.stack or tf.convert_to_tensor") from None
    if verify_shape and shape is not None and array.shape != tuple(as_shape(shape).as_list()):
        raise TypeError(f"Expected Tensor's shape: {tuple(as_shape(shape).as_list())}, got {array.shape}.")
    return _constant(array, dtype, name)


def _array(value: Any, dtype: DType | None) -> np.ndarray:
    """The array for a value, with the errors of imperative style."""
    try:
        return to_array(value, dtype)
    except TypeError:
        if dtype is None or dtype is dtypes.string or isinstance(value, (np.ndarray, list, tuple)):
            raise
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {_C_NAMES.get(dtype.name, dtype.name)}") from None


_C_NAMES = {"float32": "float", "float64": "double"}  # of types, in TensorFlow's messages of imperative style


def _fill_shape(array: np.ndarray, shape: Any) -> np.ndarray:
    """The array in a shape: its elements, or its one element everywhere. TypeError for other numbers of elements."""
    if shape is None:
        return array
    wanted = as_shape(shape)
    extents = wanted.as_list()
    if array.size == wanted.num_elements():
        return array.reshape(extents)  # type: ignore[arg-type]
    if array.size == 1 and array.dtype != object:
        return np.full(extents, array.reshape(())[()], array.dtype)  # type: ignore[arg-type]
    if array.size == 1:
        filled = np.empty(extents, object)  # type: ignore[arg-type]
        filled[...] = array.reshape(())[()]
        return filled
    raise TypeError(f"Eager execution of tf.constant with unsupported shape (value has {array.size} elements, shape is {wanted} with "
                    f"{wanted.num_elements()} elements).")


def _constant(array: np.ndarray, dtype: DType | None, name: str | None) -> Tensor:
    """A Const of an array, which from now on belongs to the graph."""
    if dtype is None:
        dtype = dtypes.as_dtype(array.dtype)
    graph = default_graph()
    attributes = {"value": array, "dtype": dtype}
    if graph.imperative and array.dtype == dtype.np:
        value: Tensor = graph.constant(attributes, graph._name_for(name or "Const"))
        return value
    return Const.add_node(graph, graph._name_for(name or "Const"), (), attributes).outputs[0]


def _own_copy(value: Any, array: np.ndarray) -> np.ndarray:
    """A private copy where the caller could still write to the array."""
    return array.copy() if isinstance(value, np.ndarray) else array


def _convert_plain(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        return NotImplemented  # stacking is an op: ops/array registers it
    dtype = dtype or dtypes.quantized_type_of(value)
    return _constant(_own_copy(value, to_array(value, dtype)), dtype, name)


def _holds_tensors(value: Any) -> bool:
    return any(_holds_tensors(item) if isinstance(item, (list, tuple)) else isinstance(item, Tensor) or hasattr(item, "_as_graph_element")
               for item in value)


def _convert_shape(value: TensorShape, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
    dims = value.as_list()
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype {dtype.name}")  # type: ignore[union-attr]
    big = any(extent >= 2**31 for extent in dims)  # type: ignore[operator]
    return _constant(np.array(dims, (dtype or (dtypes.int64 if big else dtypes.int32)).np), None, name or "shape_as_tensor")


def _convert_dimension(value: Dimension, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if value.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a Dimension to dtype {dtype.name}")  # type: ignore[union-attr]
    return _constant(np.array(value.value, (dtype or dtypes.int32).np), None, name or "shape_as_tensor")


register_tensor_conversion_function(object, _convert_plain, 200)
register_tensor_conversion_function(TensorShape, _convert_shape, 90)
register_tensor_conversion_function(Dimension, _convert_dimension, 90)


@op("Placeholder", "-> output: dtype", dtype=TYPE, shape=unknown_shape())
class Placeholder:
    """A value that must be fed."""

    stateful = True  # its value comes from outside the graph

    def shape(shape):
        return shape

    def kernel(ctx, dtype, shape):
        op = ctx.op
        known = f" and shape {shape}" if shape.ndims is not None else ""
        raise invalid_argument(f"You must feed a value for placeholder tensor '{op.name}' with dtype {dtype.name}{known}",
                               hint=f"give it a value: sess.run(..., feed_dict={{{op.name}: value}})")

    gradient = None


@op("PlaceholderWithDefault", "input: dtype -> output: dtype", dtype=TYPE, shape=SHAPE)
class PlaceholderWithDefault:
    """``input``, unless another value is fed."""

    aliases = True
    stateful = True  # what is known of its input is not known of it: it may be fed

    def shape(input, shape):
        shape.assert_is_compatible_with(input.shape)
        return shape

    def kernel(input):
        return input

    def gradient(op, dy):
        return dy


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """``tf.placeholder``: a tensor whose value is given in ``feed_dict`` when it is run."""
    if default_graph().imperative:
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return Placeholder(dtype=dtype, shape=as_shape(shape), name=name)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """``tf.placeholder_with_default``: a tensor that may be fed."""
    return PlaceholderWithDefault(input, shape=as_shape(shape), name=name)


class Passing:
    """What the ops share whose output is their input."""

    aliases = elementwise = rearranges = forwards = True
    shape = like("input")

    def kernel(input):
        return input

    def lower(b, input):
        return input

    def native(emit, input):
        return input


@op("Identity", "input: T -> output: T", T=TYPE)
class Identity(Passing):
    """The input, under another name. Of a reference variable it is not a copy: later writes in the same step are seen through it."""

    forwards_reference = True

    def gradient(op, dy):
        return dy


def identity(input: Any, name: str | None = None) -> Tensor:
    """``tf.identity``: a tensor with the same value."""
    result = Identity(input, name=name)
    result._handle_data = getattr(input, "_handle_data", None)
    return result
