"""Tensors with a shape that is checked, sums over several tensors, functions of Python on nests, and questions about graphs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.graph import dtypes, nest
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.convert import graph_for, to_tensor
from penstock.graph.graph import Graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies, get_default_graph, name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.layers.branching import static_truth
from penstock.ops.array.shape_ops import rank, reshape, shape, size
from penstock.ops.constant import identity
from penstock.ops.flow.check_shapes import assert_scalar
from penstock.ops.flow.control_flow import case
from penstock.ops.flow.misc import Assert
from penstock.ops.flow.py_func import py_func as flat_py_func
from penstock.ops.math.add_n import add_n
from penstock.ops.math.compare import equal, logical_and, logical_or
from penstock.ops.math.reduce import reduce_all, reduce_sum
from penstock.ops.nn import confusion_matrix


def is_tensor(x: Any) -> bool:
    """``tf.is_tensor``: whether ``x`` is a tensor, a sparse one, or a variable, which stands for one."""
    return isinstance(x, (Tensor, SparseTensor, IndexedSlices)) or hasattr(x, "initialized_value")


def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of all elements of all tensors."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with name_scope(name, "reduce_sum_n", tensors) as scope:
        sums = [reduce_sum(tensor, name=f"{tensor.op.name}/sum") for tensor in tensors]
        return sums[0] if len(sums) == 1 else add_n(sums, name=scope)


def remove_squeezable_dimensions(predictions: Any, labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Both, of one rank: a last axis of extent 1 is dropped from the one that has it too much."""
    labels, predictions = confusion_matrix.remove_squeezable_dimensions(to_tensor(labels), to_tensor(predictions), name=name)
    return predictions, labels


def assert_scalar_int(tensor: Any, name: str | None = None) -> Tensor:
    """The tensor. Raises ValueError unless it is a whole number."""
    with name_scope(name, "assert_scalar_int", [tensor]) as scope:
        tensor = to_tensor(tensor)
        if not tensor.dtype.base_dtype.is_integer:
            raise ValueError(f"Expected integer type for {tensor.name}, received type: {tensor.dtype}.")
        return assert_scalar(tensor, name=scope)


# --- shapes ----------------------------------------------------------------------------------------------------------

def with_same_shape(expected_tensor: Any, tensor: Any) -> Tensor:
    """``tensor``, which must have the shape of another one."""
    with name_scope(f"{tensor.op.name}/", values=[expected_tensor, tensor]):
        known = expected_tensor.shape
        return with_shape(known.as_list() if known.is_fully_defined() else shape(expected_tensor, name="expected_shape"), tensor)


def with_shape(expected_shape: Any, tensor: Any) -> Tensor:
    """``tensor``, which must have this shape: checked now if both are known, else when the graph runs."""
    if isinstance(tensor, SparseTensor):
        raise ValueError("SparseTensor not supported.")
    expected = expected_shape if is_tensor(expected_shape) else _as_array(expected_shape)
    if not isinstance(expected, TensorShape):
        _check_kind(expected, tensor)
    if not tensor.shape.is_fully_defined() or is_tensor(expected):
        return _check_at_run_time(expected, tensor)
    if tensor.shape.is_compatible_with(expected):
        return tensor
    if len(expected) < 1 and tensor.shape.is_compatible_with([1]):
        with name_scope(f"{tensor.op.name}/", values=[tensor]):
            return reshape(tensor, [])
    raise ValueError(f"Invalid shape for tensor {tensor.name}, expected {expected}, got {tensor.shape}.")


def _as_array(expected: Any) -> Any:
    if not isinstance(expected, (list, tuple)):
        return expected
    array = np.asarray(expected) if len(expected) else np.zeros(0, np.int32)
    return array.astype(np.int32) if array.dtype == np.int64 else array


def _check_kind(expected: Any, tensor: Any) -> None:
    if len(expected.shape) > 1:
        raise ValueError(f"Invalid rank {len(expected.shape)} for shape {expected} expected of tensor {tensor.name}.")
    if dtypes.as_dtype(expected.dtype).base_dtype != dtypes.int32:
        raise ValueError(f"Invalid dtype {expected.dtype} for shape {expected} expected of tensor {tensor.name}.")


def _check_at_run_time(expected: Any, tensor: Any) -> Tensor:
    with name_scope(f"{tensor.op.name}/", values=[tensor]):
        if not is_tensor(expected) and len(expected) < 1:
            return reshape(tensor, [])
        with control_dependencies([_assert_shape(expected, tensor)]):
            result = identity(tensor)
        if not is_tensor(expected):
            result.set_shape(expected)
        return result


def _assert_shape(expected: Any, tensor: Any) -> Any:
    with name_scope("assert_shape", values=[tensor]) as scope:
        actual = shape(tensor, name="actual")
        if isinstance(expected, TensorShape) and not expected.is_fully_defined():
            expected = [-1 if extent is None else extent for extent in expected.as_list()]
        return Assert(_is_shape(expected, tensor, actual),
                      [f"Wrong shape for {tensor.name} [expected] [actual].", expected, actual], name=scope)


def _is_shape(expected: Any, tensor: Any, actual: Tensor) -> Tensor:
    with name_scope("is_shape", values=[tensor]) as scope:
        with name_scope("is_rank", values=[tensor]) as inner:
            same_rank = equal(to_tensor(size(expected), name="expected"), rank(tensor, name="actual"), name=inner)
        with name_scope("shape_tensor_equal", values=[expected, actual]) as inner:
            open_or_same = logical_or(equal(expected, -1), equal(expected, actual, "equal"), name="exclude_partial_shape")
            same_extents = reduce_all(open_or_same, name=inner)
        return logical_and(same_rank, same_extents, name=scope)


# --- decisions -------------------------------------------------------------------------------------------------------

def smart_constant_value(pred: Any) -> bool | None:
    """What ``pred`` is known to be while building; None if it is not known."""
    return static_truth(pred)


def smart_case(pred_fn_pairs: Any, default: Callable[[], Any] | None = None, exclusive: bool = False, name: str = "smart_case") -> Any:
    """``tf.case`` that leaves out what is known while building."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    open_pairs = []
    for pred, function in pairs:
        known = static_truth(pred)
        if known and not open_pairs:
            return function()
        if known is not False:
            open_pairs.append((pred, function))
    if open_pairs:
        return case(open_pairs, default=default, exclusive=exclusive, name=name)
    if default is None:
        raise ValueError("smart_case: no condition holds, and there is no default. Give one as `default`.")
    return default()


# --- graphs and Python -----------------------------------------------------------------------------------------------

def get_graph_from_inputs(op_input_list: Any, graph: Graph | None = None) -> Graph:
    """The graph of tensors and operations, which must be one; the default graph if there are none."""
    for item in op_input_list if graph is not None else ():
        if item.graph is not graph:
            raise ValueError(f"{item} is not from the passed-in graph.")
    return graph or graph_for(list(op_input_list))


def get_name_scope() -> str:
    """The name scope that is open."""
    return get_default_graph().get_name_scope()


def get_placeholders(graph: Graph) -> list[Tensor]:
    """The placeholders of a graph, in the order in which they were made."""
    if not isinstance(graph, Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


def py_func(func: Callable[..., Any], args: Any = (), kwargs: Any = None, output_types: Any = None, output_shapes: Any = None,
            stateful: bool = True, name: str | None = None) -> Any:
    """A function of Python on nests of tensors, which it gets as arrays; it returns a nest like ``output_types``."""
    kwargs = {} if kwargs is None else kwargs
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"args must be list and not {type(args)}. args: {args}")
    if not isinstance(kwargs, dict):
        raise TypeError(f"kwargs must be dict and not {type(kwargs)}. args: {kwargs}")
    types = output_types(*args, **kwargs) if callable(output_types) and not isinstance(output_types, dtypes.DType) else output_types
    shapes = output_shapes(*args, **kwargs) if callable(output_shapes) else output_shapes
    given = (args, kwargs)

    def call(*values: Any) -> list[Any]:
        positional, named = nest.pack_sequence_as(given, values)
        result = func(*positional, **named)
        nest.assert_shallow_structure(types, result)
        return nest.flatten(result)

    tensors = flat_py_func(call, nest.flatten(given), nest.flatten(types), stateful=stateful, name=name)
    tensors = tensors if isinstance(tensors, list) else [tensors]
    if shapes is not None:
        for tensor, static in zip(tensors, nest.flatten(nest.map_structure_up_to(types, as_shape, shapes))):
            tensor.set_shape(static)
    return nest.pack_sequence_as(types, tensors)
