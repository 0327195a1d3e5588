"""``tf.train.init_from_checkpoint``: variables whose initial values come from a checkpoint."""
from __future__ import annotations

from typing import Any

from penstock.checkpoint.contents import CheckpointReader, checkpoint_path, load_checkpoint
from penstock.graph.node import Tensor
from penstock.graph.scopes import colocate_with, control_dependencies, device
from penstock.graph.shape import as_shape
from penstock.ops.constant import constant
from penstock.ops.state.resource import AssignVariableOp
from penstock.ops.state.save_restore import RestoreV2
from penstock.ops.state.state import Assign
from penstock.platform import logging
from penstock.variables.partitioned import PartitionedVariable
from penstock.variables.resource_variable import ResourceVariable
from penstock.variables.store import variable_store
from penstock.variables.variable import Variable


def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: dict[str, Any]) -> None:
    """``tf.train.init_from_checkpoint``: replaces the initializers of variables by values of a checkpoint.

    ``assignment_map`` maps names in the checkpoint to variables or names of variables, and scopes (with a "/" at their end) to scopes.
    """
    path = checkpoint_path(ckpt_dir_or_file)
    reader = load_checkpoint(path)
    for source, target in sorted(assignment_map.items(), key=lambda pair: str(pair[0])):
        for name, variable in _assignments(reader, path, source, target):
            _set_initializer(reader, path, name, variable)


def _assignments(reader: CheckpointReader, path: str, source: str, target: Any) -> list[tuple[str, Any]]:
    """(name in the checkpoint, variable) pairs that one entry of the map means."""
    if isinstance(target, (Variable, PartitionedVariable)) or _is_list_of_variables(target):
        return [(source, target)]
    by_name = _variables_by_name()
    if target.rstrip("/") + "/" != target and target in by_name:
        return [(source, by_name[target])]
    return _scope_assignments(reader, path, source, target, by_name)


def _scope_assignments(reader: CheckpointReader, path: str, source: str, target: str, by_name: dict[str, Any]) -> list[tuple[str, Any]]:
    if "/" in target and not target.endswith("/"):
        raise ValueError(f"Assignment map with scope only name {target} should map to scope only {target}. Should be 'scope/': 'other_scope/'.")
    scope, old = target.rstrip("/"), source.rstrip("/")
    names = [name for name in by_name if not scope or name.startswith(scope + "/")]
    if not names:
        raise ValueError(f"Assignment map with scope only name {target} matches no variable of the graph")
    assignments = []
    for name in names:
        inside = name[len(scope) + 1:] if scope else name
        stored = f"{old}/{inside}" if old else inside
        if not reader.has_tensor(stored):
            raise ValueError(f"Tensor {stored} ({inside} in {source}) is not found in {path} checkpoint")
        assignments.append((stored, by_name[name]))
    return assignments


def _is_list_of_variables(target: Any) -> bool:
    return isinstance(target, list) and bool(target) and all(isinstance(item, Variable) for item in target)


def _variables_by_name() -> dict[str, Any]:
    """Variables of ``get_variable`` by name; the parts of a partitioned variable as a list under its name."""
    by_name: dict[str, Any] = {}
    for name, variable in variable_store()._vars.items():
        info = variable._get_save_slice_info()
        if info is None:
            by_name[name] = variable
        else:
            by_name.setdefault(info.full_name, []).append(variable)
    return by_name


def _set_initializer(reader: CheckpointReader, path: str, name: str, variable: Any) -> None:
    parts = list(variable) if isinstance(variable, (list, PartitionedVariable)) else [variable]
    if not reader.has_tensor(name):
        raise ValueError(f"Tensor {name} is not found in {path} checkpoint {reader.get_variable_to_shape_map()}")
    stored = as_shape(reader.get_variable_to_shape_map()[name])
    info = parts[0]._get_save_slice_info()
    shape = parts[0].shape if info is None or not isinstance(variable, (list, PartitionedVariable)) else as_shape(info.full_shape)
    if not shape.is_compatible_with(stored):
        raise ValueError(f"Shape of variable {parts[0].name} ({shape}) doesn't match with shape of tensor {name} ({stored}) from checkpoint reader.")
    for part in parts:
        _restore_on_init(part, path, name, "" if info is None or shape is part.shape else part._get_save_slice_info().spec)
    logging.debug("Initialize variable %s from checkpoint %s with %s", ",".join(part.name for part in parts), path, name)


def _restore_on_init(variable: Variable, path: str, name: str, spec: str) -> None:
    """Makes reading from the file what the initializer does."""
    with variable.graph.as_default(), device(variable.device), device("/device:CPU:0"), control_dependencies(None):
        (value,) = RestoreV2(constant(path), [name], [spec], dtypes=[variable.dtype.base_dtype], name="checkpoint_initializer")
    value.set_shape(variable.shape)
    replace_initializer(variable, value)


def replace_initializer(variable: Variable, value: Tensor) -> None:
    """Makes ``value`` the initial value of a variable that exists already."""
    with variable.graph.as_default(), colocate_with(variable.op), control_dependencies(None):
        if isinstance(variable, ResourceVariable):
            variable._initializer_op = AssignVariableOp(variable.handle, value)
        else:
            variable._initializer_op = Assign(variable._as_graph_element(), value).op
    variable._initial_value = value
