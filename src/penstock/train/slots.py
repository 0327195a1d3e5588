"""Slots: the variables that an optimizer keeps beside each variable it trains, named ``variable/Slot``."""
from __future__ import annotations

from typing import Any

from penstock.graph.dtypes import DType
from penstock.graph.scopes import colocate_with
from penstock.ops.array.fill import zeros
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.variables.initializers import Zeros
from penstock.variables.resource_variable import ResourceVariable
from penstock.variables.save_slice import SaveSliceInfo
from penstock.variables.scope import get_variable, get_variable_scope, variable_scope
from penstock.variables.variable import Variable


def create_slot(primary: Any, value: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """A slot of ``primary`` that starts as ``value``."""
    return _create(primary, name, colocate_with_primary, lambda: _slot_variable(primary, value, None, None))


def create_slot_with_initializer(primary: Any, initializer: Any, shape: Any, dtype: DType, name: str, colocate_with_primary: bool = True) -> Any:
    """A slot of ``primary`` that starts as ``initializer`` says."""
    return _create(primary, name, colocate_with_primary, lambda: _slot_variable(primary, initializer, shape, dtype))


def create_zeros_slot(primary: Any, name: str, dtype: DType | None = None, colocate_with_primary: bool = True) -> Any:
    """A slot of the shape of ``primary`` that starts as zeros."""
    dtype = primary.dtype.base_dtype if dtype is None else dtype
    if primary.shape.is_fully_defined():
        return create_slot_with_initializer(primary, Zeros(), primary.shape, dtype, name, colocate_with_primary)
    first = primary.initialized_value() if hasattr(primary, "initialized_value") else primary
    return create_slot(primary, zeros(shape_of(first), dtype), name, colocate_with_primary)


def _create(primary: Any, name: str, colocate: bool, make: Any) -> Any:
    with variable_scope(None, primary.op.name + "/" + name):
        if not colocate:
            return make()
        with colocate_with(primary.op):
            return make()


def _slot_variable(primary: Any, initializer: Any, shape: Any, dtype: DType | None) -> Any:
    """A variable called like the scope that it is made in: hence the empty name."""
    scope = get_variable_scope()
    partitioner = scope.partitioner
    scope.set_partitioner(None)  # a slot of a part is not cut again
    try:
        slot = get_variable("", initializer=initializer, trainable=False, use_resource=isinstance(primary, ResourceVariable), shape=shape,
                            dtype=dtype, validate_shape=(shape if shape is not None else initializer.shape).is_fully_defined())
    finally:
        scope.set_partitioner(partitioner)
    _mark_as_part(slot, primary)
    return slot


def _mark_as_part(slot: Any, primary: Any) -> None:
    """The slot of a part is saved as a part of the whole variable's slot.

    TensorFlow cuts as many letters off the slot's name as the part's name has. Under a variable scope, which stands in front of the slot's name
    only, the end of the part's name is left. Checkpoints have it so.
    """
    info = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if info is not None and slot.shape.is_compatible_with(primary.shape):
        name = slot.op.name[len(primary.op.name) + 1:]
        slot._set_save_slice_info(SaveSliceInfo(f"{info.full_name}/{name}", list(info.full_shape or ()), list(info.var_offset or ()),
                                                list(info.var_shape or ())))
