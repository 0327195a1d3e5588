"""RefVariable: a variable as an edge of a ref type, the default of TensorFlow 1. Its ops: ``v``, ``v/Assign``, ``v/read``."""
from __future__ import annotations

from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.function import init_scope
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import REGISTRY
from penstock.graph.scopes import colocate_with, device, name_scope
from penstock.graph.shape import TensorShape
from penstock.ops.constant import identity
from penstock.ops.state.slice_assign import StridedSliceAssign
from penstock.ops.state.state import Assign, CountUpTo, InitializedValue, IsVariableInitialized, VariableV2
from penstock.variables.dependencies import guard_initial_value
from penstock.variables.naming import prepend_name_scope
from penstock.variables.variable import Variable, beside, check_initial_shape, own_name


class RefVariable(Variable):
    """See ``Variable``. The ref tensor stands for the variable; ``v/read`` is its value for ops that only read."""

    _initialized_value_operations = 9  # that TensorFlow has for ``initialized_value``, a conditional there

    def __init__(self, initial_value: Any = None, trainable: bool | None = None, collections: Any = None, validate_shape: bool = True,
                 caching_device: Any = None, name: str | None = None, variable_def: Any = None, dtype: Any = None,
                 expected_shape: Any = None, import_scope: str | None = None, constraint: Any = None, synchronization: Any = None,
                 aggregation: Any = None, shape: Any = None) -> None:
        self._construct(initial_value, variable_def, import_scope, name=name, dtype=dtype, shape=shape, validate_shape=validate_shape,
                        caching_device=caching_device, trainable=trainable, collections=collections, constraint=constraint,
                        synchronization=synchronization, aggregation=aggregation)

    def _build(self, scope: str, initial_value: Any, dtype: DType | None, validate_shape: bool, shape: Any) -> None:
        name = own_name(scope)
        if callable(initial_value):
            with default_graph()._attr_scope(beside(name)):
                with name_scope("Initializer"), device(None):
                    self._initial_value = to_tensor(initial_value(), dtype, "initial_value")
                self._variable = self._storage(scope, validate_shape, shape)
        else:
            self._initial_value = to_tensor(initial_value, dtype, "initial_value")
            self._variable = self._storage(scope, validate_shape, shape)
        check_initial_shape(self._initial_value, validate_shape)
        self._initializer_op = Assign(self._variable, guard_initial_value(scope, self._initial_value), validate_shape=validate_shape).op
        with device(self._caching_device) if self._caching_device is not None else colocate_with(self._variable.op):
            self._snapshot = identity(self._variable, name="read")

    def _storage(self, scope: str, validate_shape: bool, shape: Any) -> Tensor:
        assert self._initial_value is not None
        return VariableV2(shape=self._storage_shape(shape, validate_shape), dtype=self._initial_value.dtype, container=default_graph()._container,
                          name=scope)

    def _from_proto(self, variable_def: Any, import_scope: str | None) -> None:
        graph = default_graph()
        self._restore_fields(graph, variable_def, import_scope)
        self._variable = graph.get_tensor_by_name(prepend_name_scope(variable_def.variable_name, import_scope))
        self._snapshot = graph.get_tensor_by_name(prepend_name_scope(variable_def.snapshot_name, import_scope))

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The VariableDef proto; None for a variable outside ``export_scope``."""
        return self._proto(export_scope, self._snapshot.name, is_resource=False)

    @property
    def name(self) -> str:
        """``v:0``, the name of the ref tensor."""
        return self._variable.name

    @property
    def op(self) -> Operation:
        """The VariableV2 operation."""
        return self._variable.op

    @property
    def dtype(self) -> DType:
        """The ref type of its elements."""
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of its value."""
        return self._variable.shape

    def set_shape(self, shape: Any) -> None:
        """Adds what the caller knows of the shape."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    def value(self) -> Tensor:
        """``v/read``: the value, shared by all who ask."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """The value at the time that this new op runs, after the control dependencies around it."""
        return identity(self._variable, name="read")

    def is_initialized(self, name: str | None = None) -> Tensor:
        """A bool tensor: true once it has a value."""
        return IsVariableInitialized(self._variable, name=name)

    def initialized_value(self) -> Tensor:
        """Its value, or its initial value as long as it has none."""
        with init_scope():
            self.graph.implied_operations += self._initialized_value_operations - 1
            return InitializedValue(self._variable, self._initial_value, name="InitializedValue")

    def _ref(self) -> Tensor:
        return self._variable

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def _convert(self, name: str | None, as_ref: bool) -> Tensor:
        return self._variable if as_ref else self._snapshot

    def _assign(self, how: str, value: Any, use_locking: bool, name: str | None, read_value: bool, validate_shape: bool = True) -> Any:
        given: dict[str, Any] = {"validate_shape": validate_shape} if how == "Assign" else {}
        assigned = REGISTRY[how](self._variable, value, use_locking=use_locking, name=name, **given)
        return assigned if read_value else assigned.op

    def _scatter(self, how: str, indices: Any, updates: Any, use_locking: bool, name: str | None) -> Any:
        return REGISTRY["Scatter" + how](self._variable, indices, updates, use_locking=use_locking, name=name)

    def _strided_slice_assign(self, begin: Any, end: Any, strides: Any, value: Any, name: str, masks: dict[str, int]) -> Any:
        return StridedSliceAssign(self._variable, begin, end, strides, value, name=name, **masks)

    def count_up_to(self, limit: int) -> Tensor:
        """The value before it is incremented; OutOfRangeError once it has reached ``limit``."""
        return CountUpTo(self._variable, limit=limit)
