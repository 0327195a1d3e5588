"""``print_op``: prints a tensor, sparse tensor, tensor array or variable with its name, type and shape whenever it is computed."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.ops.array.cast import cast
from penstock.ops.constant import constant, identity
from penstock.ops.flow.printing import Print
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.math.argmax import argmax
from penstock.variables.variable import Variable

_KINDS = (Tensor, SparseTensor, TensorArray, Variable)


def _parts_to_print(value: Any, name: bool, kind: bool, shape: bool, first_true: bool) -> Iterator[Any]:
    """What is printed of one value: texts and tensors."""
    if name and isinstance(value, Tensor):
        yield f"Name: {value.name}"
    if kind:
        class_name = next((known.__name__ for known in _KINDS if isinstance(value, known)), None)
        if class_name is None:
            raise ValueError("t must be a Tensor, SparseTensor, TensorArray or Variable.")
        yield f"Type: {class_name} ({value.dtype.name})"
    if shape and isinstance(value, SparseTensor):
        yield from ("Shape:", value.dense_shape)
    elif shape and isinstance(value, Tensor):
        yield f"Shape: {value.shape.dims}"
    elif shape and isinstance(value, TensorArray):
        yield from ("Size:", value.size())
    if first_true and value.dtype == dtypes.bool_:
        yield from ("First True in Boolean tensor at:", argmax(cast(value, dtypes.uint8), 0))
    if isinstance(value, SparseTensor):
        yield from ("Sparse indices:", value.indices, "Sparse values:", value.values)
    elif isinstance(value, (Tensor, TensorArray)):
        yield from ("Value:", value.stack() if isinstance(value, TensorArray) else value)


def print_op(input_: Any, data: Iterable[Any] | None = None, message: str | None = None, first_n: int | None = None, summarize: int = 20,
             print_tensor_name: bool = True, print_tensor_type: bool = True, print_shape: bool = True, summarize_indicator_vector: bool = True,
             name: str | None = None) -> Any:
    """``input_``, which is printed together with ``data`` whenever it is computed."""
    if not isinstance(input_, _KINDS):
        raise ValueError("input_ must be of type Tensor, SparseTensor or TensorArray")
    described = [item for value in (input_, *(data or ()))
                 for item in _parts_to_print(value, print_tensor_name, print_tensor_type, print_shape, summarize_indicator_vector)]
    printed = [constant(item) if isinstance(item, str) else item for item in described]
    if isinstance(input_, (Tensor, Variable)):
        return Print(input_, printed, message or "", first_n, summarize, name)
    with control_dependencies([Print(constant([], dtypes.float32), printed, message or "", first_n, summarize, name)]):
        if isinstance(input_, SparseTensor):
            return SparseTensor(identity(input_.indices), identity(input_.values), identity(input_.dense_shape))
        return input_.identity()
