"""Variables by kind and by scope: those of a model, local ones, and the ways to find them again.

A model variable is in two collections, the global and the model's. ``variable`` and ``model_variable`` take part in ``arg_scope``.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any

from penstock.contrib.framework.arg_scope import add_arg_scope
from penstock.graph import dtypes
from penstock.graph.device import DeviceSpec
from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collection, control_dependencies, get_collection
from penstock.graph.scopes import device as device_scope
from penstock.ops.array.fill import zeros
from penstock.ops.flow.misc import Assert
from penstock.ops.math.compare import logical_not
from penstock.train import global_step as steps
from penstock.variables import creators
from penstock.variables.assign import assign, is_variable_initialized
from penstock.variables.modes import VariableAggregation, VariableSynchronization
from penstock.variables.scope import VariableScope, get_variable, get_variable_scope

# --- making them -----------------------------------------------------------------------------------------------------

@add_arg_scope
def variable(name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None, trainable: bool = True,
             collections: Any = None, caching_device: Any = None, device: Any = None, partitioner: Any = None, custom_getter: Any = None,
             use_resource: bool | None = None, synchronization: VariableSynchronization = VariableSynchronization.AUTO,
             aggregation: VariableAggregation = VariableAggregation.NONE) -> Any:
    """The variable of this name in the current scope, on a device."""
    listed = list(dict.fromkeys([GraphKeys.GLOBAL_VARIABLES] if collections is None else collections))
    getter: Any = get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=get_variable_scope().reuse)
    with device_scope(device or ""):
        return getter(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable, collections=listed,
                      caching_device=caching_device, partitioner=partitioner, use_resource=use_resource, synchronization=synchronization,
                      aggregation=aggregation)


@add_arg_scope
def model_variable(name: str, shape: Any = None, dtype: Any = dtypes.float32, initializer: Any = None, regularizer: Any = None,
                   trainable: bool = True, collections: Any = None, caching_device: Any = None, device: Any = None, partitioner: Any = None,
                   custom_getter: Any = None, use_resource: bool | None = None,
                   synchronization: VariableSynchronization = VariableSynchronization.AUTO,
                   aggregation: VariableAggregation = VariableAggregation.NONE) -> Any:
    """A variable that belongs to the model: it is in the collection of model variables, too."""
    return variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
                    collections=[*(collections or []), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES], caching_device=caching_device,
                    device=device, partitioner=partitioner, custom_getter=custom_getter, use_resource=use_resource,
                    synchronization=synchronization, aggregation=aggregation)


def _plain_variable(collection: str, initial_value: Any, validate_shape: bool, name: str | None, use_resource: bool | None) -> Any:
    if use_resource is None:
        use_resource = get_variable_scope().use_resource
    return creators.create(initial_value=initial_value, trainable=False, collections=[collection], validate_shape=validate_shape, name=name,
                           use_resource=use_resource)


def local_variable(initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None) -> Any:
    """A variable that is neither trained nor saved."""
    return _plain_variable(GraphKeys.LOCAL_VARIABLES, initial_value, validate_shape, name, use_resource)


def global_variable(initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None) -> Any:
    """A variable that is saved, but not trained."""
    return _plain_variable(GraphKeys.GLOBAL_VARIABLES, initial_value, validate_shape, name, use_resource)


def add_model_variable(var: Any) -> None:
    """Puts a variable into the collection of model variables, once."""
    if not any(var is other for other in get_collection(GraphKeys.MODEL_VARIABLES)):
        add_to_collection(GraphKeys.MODEL_VARIABLES, var)


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    """Sets a variable that has no value yet to zeros. Fails, when it is run, if the variable has a value."""
    if not hasattr(ref, "initialized_value"):
        raise ValueError(f"zero_initializer needs a variable, not {ref}. Give it what tf.Variable or tf.get_variable returned.")
    new = Assert(logical_not(is_variable_initialized(ref)), [f"{ref.op.name} is initialized already."])
    with control_dependencies([new]):
        return assign(ref, zeros(ref.shape, ref.dtype.base_dtype), use_locking=use_locking, name=name)


# --- finding them ----------------------------------------------------------------------------------------------------

def get_variables(scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES) -> list[Any]:
    """The variables of a collection whose names begin with a scope (a regular expression) and end with a suffix."""
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = (scope or "") + ".*" + (suffix if ":" in suffix else suffix + ":")
    return get_collection(collection, scope)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The model variables by scope and suffix."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The local variables by scope and suffix."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """The trained variables by scope and suffix."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """The global variables whose names end with ``suffix``."""
    return get_variables(scope=scope, suffix=suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The global variables whose last component is ``given_name``."""
    return get_variables(scope=scope, suffix=f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """The global variable of this name. Raises ValueError if there is none."""
    candidates = get_variables(scope=var_op_name)
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    for candidate in candidates:
        if candidate.op.name == var_op_name:
            return candidate
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The global variables of the scopes ``include`` (all if None) without those of the scopes ``exclude``."""
    for name, value in (("include", include), ("exclude", exclude)):
        if value is not None and not isinstance(value, (list, tuple)):
            raise TypeError(f"{name} is provided but is not a list or a tuple.")
    included = get_variables() if include is None else [var for scope in include for var in get_variables(scope)]
    excluded = {id(var) for scope in exclude or [] for var in get_variables(scope)}
    return [var for var in included if id(var) not in excluded]


def filter_variables(var_list: Iterable[Any], include_patterns: Any = None, exclude_patterns: Any = None, reg_search: bool = True) -> list[Any]:
    """The variables whose names fit one of some patterns and none of others; patterns may fit anywhere, or at the beginning only."""
    fits = re.search if reg_search else re.match
    kept = [var for var in var_list if include_patterns is None or any(fits(pattern, var.name) for pattern in include_patterns)]
    return [var for var in kept if not any(fits(pattern, var.name) for pattern in exclude_patterns or [])]


def get_variable_full_name(var: Any) -> str:
    """The name under which a checkpoint has the variable: that of the whole, for a part of one."""
    info = var._save_slice_info
    return info.full_name if info else var.op.name


# --- the global step -------------------------------------------------------------------------------------------------

def assert_global_step(global_step_tensor: Any) -> None:
    """Raises TypeError unless the tensor can be a global step."""
    steps.assert_global_step(global_step_tensor)


def assert_or_get_global_step(graph: Graph | None = None, global_step_tensor: Any = None) -> Any:
    """The global step that is given, checked, or that of the graph."""
    if global_step_tensor is None:
        return steps.get_global_step(graph)
    steps.assert_global_step(global_step_tensor)
    return global_step_tensor


def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of the graph; None if it has none."""
    return steps.get_global_step(graph)


def create_global_step(graph: Graph | None = None) -> Any:
    """A new global step. Raises ValueError if the graph has one."""
    return steps.create_global_step(graph)


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step of the graph, a new one if it has none."""
    return steps.get_or_create_global_step(graph)


# --- placement -------------------------------------------------------------------------------------------------------

class VariableDeviceChooser:
    """A device function that deals variables out to the tasks of a job, one after the other."""

    def __init__(self, num_tasks: int = 0, job_name: str = "ps", device_type: str = "CPU", device_index: int = 0,
                 replica: int | None = None) -> None:
        self._job_name, self._num_tasks, self._next_task_id = job_name, num_tasks, 0
        self._fixed = {"replica": replica, "device_type": device_type, "device_index": device_index}

    def __call__(self, op: Any) -> str:
        """The device of the next variable."""
        if not self._num_tasks > 0:
            return DeviceSpec(**self._fixed).to_string()
        task, self._next_task_id = self._next_task_id, (self._next_task_id + 1) % self._num_tasks
        return DeviceSpec(job=self._job_name, task=task, **self._fixed).to_string()
