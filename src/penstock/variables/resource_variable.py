"""ResourceVariable: a variable as a handle, which explicit ops read and write. Its ops: ``v``, ``v/Assign``, ``v/Read/ReadVariableOp``, ..."""
from __future__ import annotations

import itertools
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import numpy as np

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.function import init_scope
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import REGISTRY
from penstock.graph.scopes import colocate_with, control_dependencies, device, name_scope
from penstock.graph.shape import TensorShape, as_shape
from penstock.ops.constant import identity
from penstock.ops.state.resource import (
    AssignVariableOp,
    ReadVariableOp,
    ResourceCountUpTo,
    ResourceGather,
    ResourceGatherNd,
    ResourceInitializedValue,
    VarIsInitializedOp,
    handle_data,
    variable_handle,
)
from penstock.ops.state.slice_assign import ResourceStridedSliceAssign
from penstock.variables.dependencies import guard_initial_value
from penstock.variables.naming import prepend_name_scope
from penstock.variables.variable import Variable, beside, own_name

_numbers = itertools.count()  # of variables of imperative style, whose names need not differ
_ASSIGN_OPS = {"Assign": "AssignVariableOp", "AssignAdd": "AssignAddVariableOp", "AssignSub": "AssignSubVariableOp"}


class ResourceVariable(Variable):
    """See ``Variable``. Every use reads the value anew, after the control dependencies around it; a write is an operation without outputs."""

    _cached_value: Tensor | None = None
    _made_as: dict[str, DType] | None = None  # of imperative style, on no device in particular: the attributes of a read, which loops do turn by turn
    _initialized_value_operations = 10  # that TensorFlow has for ``initialized_value``, a conditional there

    def __init__(self, initial_value: Any = None, trainable: bool | None = None, collections: Any = None, validate_shape: bool = True,
                 caching_device: Any = None, name: str | None = None, dtype: Any = None, variable_def: Any = None,
                 import_scope: str | None = None, constraint: Any = None, distribute_strategy: Any = None, synchronization: Any = None,
                 aggregation: Any = None, shape: Any = None, expected_shape: Any = None) -> None:
        self._construct(initial_value, variable_def, import_scope, name=name, dtype=dtype, shape=shape, validate_shape=validate_shape,
                        caching_device=caching_device, trainable=trainable, collections=collections, constraint=constraint,
                        synchronization=synchronization, aggregation=aggregation)

    def _build(self, scope: str, initial_value: Any, dtype: DType | None, validate_shape: bool, shape: Any) -> None:
        if default_graph().imperative:
            self._make(scope, initial_value, dtype, validate_shape, shape)
            return
        graph, handle_name = default_graph(), own_name(scope)
        with graph._attr_scope(beside(handle_name)):
            with name_scope("Initializer"), device(None):
                self._initial_value = to_tensor(initial_value() if callable(initial_value) else initial_value, dtype, "initial_value")
            self._handle = variable_handle(self._initial_value.dtype.base_dtype, self._storage_shape(shape, validate_shape), scope, handle_name,
                                           graph._container)
        with name_scope("IsInitialized"):
            self._is_initialized_op = VarIsInitializedOp(self._handle)
        with graph.colocate_with(None, ignore_existing=True), self._beside_handle():  # there, whatever the blocks around it say
            self._initializer_op = AssignVariableOp(self._handle, guard_initial_value(scope, self._initial_value), name="Assign")
        with name_scope("Read"):
            with self._beside_handle():
                self._graph_element = self._read()
            if self._caching_device is not None:
                with device(self._caching_device):
                    self._cached_value = identity(self._graph_element)

    def _make(self, scope: str, initial_value: Any, dtype: DType | None, validate_shape: bool, shape: Any) -> None:
        """Makes the variable, with its value, at once: imperative style."""
        value = to_tensor(initial_value() if callable(initial_value) else initial_value, dtype, "initial_value")
        self._initial_value = value
        self._handle = variable_handle(value.dtype.base_dtype, self._storage_shape(shape, validate_shape), scope,
                                       f"{own_name(scope)}_{next(_numbers)}", default_graph()._container)
        self._initial_value = self._initializer_op = self._is_initialized_op = None  # type: ignore[assignment]
        AssignVariableOp(self._handle, value)
        self.imperative = True
        if not self._handle.op._device:
            self._made_as = {"dtype": value.dtype.base_dtype}
        default_graph().keep_variable(self)  # type: ignore[attr-defined]

    def _beside_handle(self) -> AbstractContextManager[None]:
        return device(self._handle.device) if self._handle.device else nullcontext()

    def _from_proto(self, variable_def: Any, import_scope: str | None) -> None:
        if not variable_def.is_resource:
            raise ValueError("Trying to restore Variable as ResourceVariable.")
        graph = default_graph()
        self._restore_fields(graph, variable_def, import_scope)
        self._handle = graph.get_tensor_by_name(prepend_name_scope(variable_def.variable_name, import_scope))
        if variable_def.snapshot_name:
            snapshot = graph.get_tensor_by_name(prepend_name_scope(variable_def.snapshot_name, import_scope))
            self._cached_value = snapshot if snapshot.op.definition is not ReadVariableOp else None
            self._graph_element = snapshot if self._cached_value is None else snapshot.op.inputs[0]
        else:
            self._graph_element = self._read()
        self._is_initialized_op = VarIsInitializedOp(self._handle)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The VariableDef proto; None for a variable outside ``export_scope``."""
        snapshot = self._graph_element if self._cached_value is None else self._cached_value
        return self._proto(export_scope, snapshot.name, is_resource=True)

    @property
    def handle(self) -> Tensor:
        """The tensor that names the variable."""
        return self._handle

    @property
    def name(self) -> str:
        """``v:0``, the name of the handle."""
        return self._handle.name

    @property
    def op(self) -> Operation:
        """The VarHandleOp operation."""
        return self._handle.op

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        dtype = handle_data(self._handle)[0] if self._made_as is None else self._made_as["dtype"]
        assert dtype is not None
        return dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of its value."""
        return handle_data(self._handle)[1]

    def set_shape(self, shape: Any) -> None:
        """Adds what the caller knows of the shape."""
        self._handle._handle_data = (self.dtype, self.shape.merge_with(as_shape(shape)))
        if not self._handle.graph.imperative:
            self._graph_element.set_shape(shape)

    @property
    def create(self) -> Operation:
        """``initializer``."""
        return self._initializer_op

    def _read(self) -> Tensor:
        return ReadVariableOp(self._handle, dtype=self.dtype)

    def value(self) -> Tensor:
        """A fresh read of the value; the cached one if there is a caching device."""
        if self._cached_value is not None:
            return self._cached_value
        graph: Any = default_graph()
        if graph.imperative and self._made_as is not None and not graph._state.devices:
            return graph.call(ReadVariableOp, (self._handle,), self._made_as, None)
        with colocate_with(None, ignore_existing=True), self._beside_handle():
            return self._read()

    def read_value(self) -> Tensor:
        """The value at the time that this new op runs, after the control dependencies around it."""
        with name_scope("Read"), self._beside_handle():
            value = self._read()
        return identity(value)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """A bool tensor: true once it has a value."""
        return VarIsInitializedOp(self._handle, name=name)

    def initialized_value(self) -> Tensor:
        """Its value, or its initial value as long as it has none."""
        if self._handle.imperative:
            return self.value()
        with init_scope():
            self.graph.implied_operations += self._initialized_value_operations - 1
            return ResourceInitializedValue(self._handle, self._initial_value, name="InitializedValue")

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Rows of the variable, read without the rest."""
        with name_scope(name or "Gather", None, [] if name is None else [self._handle]) as scope:
            rows = ResourceGather(self._handle, indices, dtype=self.dtype, name=scope)
        return identity(rows)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Slices of the variable, read without the rest."""
        with name_scope(name or "GatherNd") as scope:
            slices = ResourceGatherNd(self._handle, indices, dtype=self.dtype, name=scope)
        return identity(slices)

    def _as_graph_element(self) -> Tensor:
        return self._read() if self._handle.graph.imperative else self._graph_element

    def numpy(self) -> Any:
        """The value as a NumPy array; NotImplementedError inside of graphs."""
        if default_graph().imperative and self._handle.graph.imperative:
            return self._read().numpy()  # type: ignore[attr-defined]
        raise NotImplementedError("numpy() is only available when eager execution is enabled.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.numpy(), dtype) if self._handle.graph.imperative else super().__array__(dtype, copy)

    def __int__(self) -> int:
        if self.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
            raise TypeError("Non-integer variable can't be converted to integer.")
        return int(self.numpy())

    def __repr__(self) -> str:
        if not default_graph().imperative or not self._handle.graph.imperative:
            return super().__repr__()
        value = self.numpy()
        text = repr(value) if isinstance(value, (np.ndarray, bytes)) else str(value)  # a scalar without its type, as NumPy 1 wrote it
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, numpy={text}>"

    def _convert(self, name: str | None, as_ref: bool) -> Tensor:
        return self._handle if as_ref else self.value()

    def _result_of_write(self, op: Operation, read_value: bool = True) -> Any:
        if op.graph.imperative:
            return self if read_value else None
        return UnreadVariable(self, op) if read_value else op

    def _assign(self, how: str, value: Any, use_locking: bool, name: str | None, read_value: bool, validate_shape: bool = True) -> Any:
        tensor = to_tensor(value, self.dtype)
        if how == "Assign" and validate_shape:
            self.shape.assert_is_compatible_with(tensor.shape)
        return self._result_of_write(REGISTRY[_ASSIGN_OPS[how]](self._handle, tensor, name=name), read_value)

    def _scatter(self, how: str, indices: Any, updates: Any, use_locking: bool, name: str | None) -> Any:
        updates = to_tensor(updates, self.dtype)
        return self._result_of_write(REGISTRY["ResourceScatter" + how](self._handle, indices, updates, name=name))

    def _strided_slice_assign(self, begin: Any, end: Any, strides: Any, value: Any, name: str, masks: dict[str, int]) -> Any:
        value = to_tensor(value, self.dtype)
        return self._result_of_write(ResourceStridedSliceAssign(self._handle, begin, end, strides, value, name=name, **masks))

    def count_up_to(self, limit: int) -> Tensor:
        """The value before it is incremented; OutOfRangeError once it has reached ``limit``."""
        return ResourceCountUpTo(self._handle, limit=limit, T=self.dtype)


def _not_in_place(sign: str, instead: str) -> Any:
    def operator(self: ResourceVariable, other: Any) -> NoReturn:
        raise RuntimeError(f"Variable {sign} value not supported. {instead}")
    return operator


for _sign, _method, _instead in (
        ("+=", "__iadd__", "Use variable.assign_add(value) to modify the variable value and variable = variable + value to get a new Tensor object."),
        ("-=", "__isub__", "Use variable.assign_sub(value) to modify the variable value and variable = variable - value to get a new Tensor object."),
        *((sign, method, f"Use `var.assign(var {sign[:-1]} value)` to modify the variable or `var = var {sign[:-1]} value` to get a new Tensor "
           "object.") for sign, method in (("*=", "__imul__"), ("/=", "__itruediv__"), ("//=", "__ifloordiv__"), ("**=", "__ipow__")))):
    setattr(ResourceVariable, _method, _not_in_place(_sign, _instead))


def is_resource_variable(variable: Any) -> bool:
    """True for a variable that is read and written through a handle."""
    return isinstance(variable, ResourceVariable)


class UnreadVariable(ResourceVariable):
    """A variable after a write: what reads it waits for that write. Its ``op`` is the write."""

    def __init__(self, variable: ResourceVariable, write: Operation) -> None:
        self._handle, self._parent_op = variable._handle, write
        self._initial_value, self._initializer_op = variable._initial_value, variable._initializer_op
        self._trainable, self._constraint = variable._trainable, variable._constraint
        self._synchronization, self._aggregation = variable._synchronization, variable._aggregation
        self._save_slice_info, self._is_initialized_op = variable._save_slice_info, variable._is_initialized_op
        if not self._handle.graph.imperative:  # a function of imperative style reads what it uses
            self._graph_element = self.read_value()

    @property
    def name(self) -> str:
        """The name of the write."""
        return self._parent_op.name

    @property
    def op(self) -> Operation:
        """The write."""
        return self._parent_op

    def _read(self) -> Tensor:
        with control_dependencies([self._parent_op]):
            return super()._read()

    def read_value(self) -> Tensor:
        """The value after the write."""
        return self._read()
