"""VariableStore: the variables that ``tf.get_variable`` made in a graph, by name; and how it makes, checks and shares them."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import colocate_with, name_scope
from penstock.graph.shape import TensorShape, as_shape, unknown_shape
from penstock.ops.array.slicing import slice_
from penstock.variables import creators
from penstock.variables.initializers import GlorotUniform, Zeros
from penstock.variables.modes import VariableAggregation, VariableSynchronization, decide_trainable
from penstock.variables.partitioned import PartitionedVariable, PartitionInfo, full_extents, partition_of, slices_of
from penstock.variables.save_slice import SaveSliceInfo

_KEY = ("variable store",)  # a collection that belongs to the graph but is not exported


class ReuseMode:
    """The type of ``tf.AUTO_REUSE``."""

    def __repr__(self) -> str:
        return "AUTO_REUSE"


AUTO_REUSE = ReuseMode()  # make a variable the first time, share it after that


class VariableStore:
    """The variables of a graph that can be found, and shared, by name."""

    keeps_values = False  # True for a store of imperative style

    def __init__(self) -> None:
        self._vars: dict[str, Any] = {}
        self._partitioned_vars: dict[str, PartitionedVariable] = {}

    def get_variable(self, name: str, shape: Any = None, dtype: Any = dtypes.float32, initializer: Any = None, regularizer: Any = None,
                     reuse: Any = None, trainable: bool | None = None, collections: Any = None, caching_device: Any = None,
                     partitioner: Any = None, validate_shape: bool = True, use_resource: bool | None = None, custom_getter: Any = None,
                     constraint: Any = None, synchronization: Any = VariableSynchronization.AUTO,
                     aggregation: Any = VariableAggregation.NONE) -> Any:
        """The variable called ``name``: an existing one or a new one, as ``reuse`` says; through ``custom_getter`` if there is one."""
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        arguments = {
            "name": name, "shape": shape, "dtype": dtypes.as_dtype(dtype), "initializer": initializer, "regularizer": regularizer,
            "reuse": reuse, "trainable": decide_trainable(trainable, synchronization), "collections": collections,
            "caching_device": caching_device, "partitioner": partitioner, "validate_shape": validate_shape, "use_resource": use_resource,
            "synchronization": synchronization, "aggregation": aggregation}
        if custom_getter is None:
            return self._true_getter(**arguments, constraint=constraint)
        if _accepts(custom_getter, "constraint"):
            arguments["constraint"] = constraint
        return custom_getter(getter=self._true_getter, **arguments)

    def _true_getter(self, name: str, shape: Any = None, dtype: Any = dtypes.float32, initializer: Any = None, regularizer: Any = None,
                     reuse: Any = None, partitioner: Any = None, **rest: Any) -> Any:
        """What custom getters call in the end."""
        dtype = dtypes.as_dtype(dtype)
        if shape is not None and as_shape(shape).ndims == 0:
            partitioner = None  # a scope's partitioner is for those of its variables that can be split
        is_partitioned = name in self._partitioned_vars
        if partitioner is not None or (is_partitioned and reuse is True):  # parts are shared without naming the partitioner again
            if partitioner is not None and not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            with name_scope(None):
                return self._get_partitioned(name, partitioner, shape, dtype, initializer, regularizer, reuse, rest)
        if f"{name}/part_0" in self._vars:
            raise ValueError(f"No partitioner was provided, but a partitioned version of the variable was found: {name}/part_0. Perhaps a "
                             "variable of the same name was already created with partitioning?")
        return self._get_single(name, shape, dtype, initializer, regularizer, reuse, None, rest)

    # --- one variable ------------------------------------------------------------------------------------------------

    def _get_single(self, name: str, shape: Any, dtype: DType, initializer: Any, regularizer: Any, reuse: Any, info: PartitionInfo | None,
                rest: dict[str, Any]) -> Any:
        if initializer is not None and not callable(initializer) and shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        shape = unknown_shape() if shape is None else as_shape(shape)
        if name in self._vars:
            return self._existing_variable(name, shape, dtype, reuse or self.keeps_values)
        if reuse is True:
            raise ValueError(f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                             "reuse=tf.AUTO_REUSE in VarScope?")
        value, dtype_of_value = _initial_value(name, shape, dtype, initializer, info)
        variable = creators.create(initial_value=value, name=name, dtype=dtype_of_value, **rest)
        if self.keeps_values or not variable.graph.imperative:  # there, a variable lives as long as the program holds it
            self._vars[name] = variable
        if regularizer:
            _regularize(variable, name, regularizer)
        return variable

    def _existing_variable(self, name: str, shape: TensorShape, dtype: DType, reuse: Any) -> Any:
        variable = self._vars[name]
        if reuse is False or reuse is None:
            raise ValueError(f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope? "
                             f"Originally defined at:\n\n  {variable.op.origin}\n")
        if not shape.is_compatible_with(variable.shape):
            raise ValueError(f"Trying to share variable {name}, but specified shape {shape} and found shape {variable.shape}.")
        if not dtype.is_compatible_with(variable.dtype):
            raise ValueError(f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype {variable.dtype.name}.")
        return variable

    # --- parts -------------------------------------------------------------------------------------------------------

    def _get_partitioned(self, name: str, partitioner: Any, shape: Any, dtype: DType, initializer: Any, regularizer: Any, reuse: Any,
                     rest: dict[str, Any]) -> PartitionedVariable:
        from_value = initializer is not None and not callable(initializer)
        if name in self._vars:
            raise ValueError(f"A partitioner was provided, but an unpartitioned version of the variable was found: {name}. Perhaps a variable "
                             "of the same name was already created without partitioning?")
        shape = as_shape(shape)
        if from_value:
            initializer = to_tensor(initializer)
            shape = shape.merge_with(initializer.shape)
        partitions = None
        if not reuse or partitioner is not None:
            partitions = partition_of(partitioner, shape, dtype)
        if name in self._partitioned_vars:
            return self._existing_partitioned(name, shape, dtype, partitions, reuse)
        if reuse is True:
            raise ValueError(f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                             "reuse=False or reuse=tf.AUTO_REUSE in VarScope?")
        assert partitions is not None
        parts = [self._get_part(name, index, shape, offset, extents, dtype, initializer, regularizer, reuse, rest)
                 for index, (offset, extents) in enumerate(slices_of(full_extents(shape), partitions))]
        whole = PartitionedVariable(name=name, shape=shape, dtype=dtype, variable_list=parts, partitions=partitions)
        self._partitioned_vars[name] = whole
        return whole

    def _get_part(self, name: str, index: int, whole: TensorShape, offset: list[int], extents: list[int], dtype: DType, initializer: Any,
              regularizer: Any, reuse: Any, rest: dict[str, Any]) -> Any:
        part_name = f"{name}/part_{index}"
        shape: list[int] | None = extents
        full_shape = full_extents(whole)
        info = PartitionInfo(full_shape, offset)
        if initializer is not None and not callable(initializer):
            with name_scope(part_name + "/PartitionedInitializer/"):
                initializer, shape = slice_(initializer, offset, extents), None
        variable = self._get_single(part_name, shape, dtype, initializer, regularizer, reuse, info, rest)
        variable._set_save_slice_info(SaveSliceInfo(name, full_shape, offset, extents))
        return variable

    def _existing_partitioned(self, name: str, shape: TensorShape, dtype: DType, partitions: list[int] | None, reuse: Any) -> PartitionedVariable:
        if reuse is False or reuse is None:
            raise ValueError(f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                             "reuse=tf.AUTO_REUSE in VarScope?")
        existing = self._partitioned_vars[name]
        if not shape.is_compatible_with(existing.shape):
            raise ValueError(f"Trying to reuse partitioned variable {name}, but specified shape {shape} and found shape {existing.shape}.")
        if not dtype.is_compatible_with(existing.dtype):
            raise ValueError(f"Trying to reuse partitioned variable {name}, but specified dtype {dtype.name} and found dtype "
                             f"{existing.dtype.name}.")
        if partitions is not None and partitions != existing._get_partitions():
            raise ValueError(f"Trying to reuse partitioned variable {name}, but specified partitions {partitions} and found partitions "
                             f"{existing._get_partitions()}.")
        return existing


class EagerVariableStore:
    """``tfe.EagerVariableStore``: inside ``with store.as_default()``, ``tf.get_variable`` and layers share variables by name, as with AUTO_REUSE."""

    def __init__(self, store: VariableStore | None = None) -> None:
        if store is not None and not store.keeps_values:
            raise ValueError("Cannot construct EagerVariableStore from a VariableStore object that does not hold eager variables.")
        self._store = store or VariableStore()
        self._store.keeps_values = True

    @contextmanager
    def as_default(self) -> Iterator[None]:
        """Makes it the store of the default graph inside a ``with`` block."""
        kept = default_graph().get_collection_ref(_KEY)
        kept.insert(0, self._store)
        try:
            yield
        finally:
            kept.remove(self._store)

    def variables(self) -> list[Any]:
        """Its variables, in the order of their names."""
        return sorted(self._store._vars.values(), key=lambda variable: str(variable.name))

    def trainable_variables(self) -> list[Any]:
        """Those that are trained."""
        return [variable for variable in self.variables() if variable.trainable]

    def non_trainable_variables(self) -> list[Any]:
        """The others."""
        return [variable for variable in self.variables() if not variable.trainable]

    def copy(self) -> EagerVariableStore:
        """A store with variables of the same names and values, which are its own."""
        other = EagerVariableStore()
        for name, variable in self._store._vars.items():
            other._store._vars[name] = creators.create(initial_value=variable.value(), name=name, trainable=variable.trainable, use_resource=True)
        return other


def variable_store() -> VariableStore:
    """The store of the default graph."""
    kept = default_graph().get_collection_ref(_KEY)
    if not kept:
        kept.append(VariableStore())
    return kept[0]


def _initial_value(name: str, shape: TensorShape, dtype: DType, initializer: Any, info: PartitionInfo | None) -> tuple[Any, DType | None]:
    """What to give ``tf.Variable``: a value, or a function without arguments; and the type, if the value does not decide it."""
    if initializer is not None and not callable(initializer):
        return initializer, None
    if initializer is None:
        initializer = _default_initializer(name, dtype)
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape.is_fully_defined():
        arguments = {"dtype": dtype.base_dtype}
        if _accepts(initializer, "partition_info"):
            arguments["partition_info"] = info  # type: ignore[assignment]
        return functools.partial(initializer, shape.as_list(), **arguments), dtype.base_dtype
    if _needs_arguments(initializer):
        raise ValueError("The initializer passed is not valid. It should be a callable with no arguments and the shape should not be provided "
                         "or an instance of `tf.keras.initializers.*' and `shape` should be fully defined.")
    return initializer, None


def _default_initializer(name: str, dtype: DType) -> Any:
    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype == dtypes.string:
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _signature(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # builtins do not tell
        return {}


def _accepts(function: Callable[..., Any], name: str) -> bool:
    parameters = _signature(function)
    return name in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


def _needs_arguments(function: Callable[..., Any]) -> bool:
    return any(p.default is inspect.Parameter.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
               for p in _signature(function).values())


def _regularize(variable: Any, name: str, regularizer: Callable[[Any], Any]) -> None:
    """Adds the loss that keeps a new variable small."""
    with colocate_with(variable.op), name_scope(name + "/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
