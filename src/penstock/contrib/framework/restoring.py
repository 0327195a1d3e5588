"""Values for variables, from arrays and from checkpoints: operations with what they are fed, or functions of a session."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.checkpoint.contents import new_checkpoint_reader
from penstock.contrib.framework.variables import get_variable_full_name
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import get_collection
from penstock.ops.constant import placeholder
from penstock.ops.flow.misc import group
from penstock.platform import logging
from penstock.train.saver import Saver

Feeds = dict[Any, Any]


def assign_from_values(var_names_to_values: dict[str, Any]) -> tuple[Any, Feeds]:
    """(operation, feeds) that set variables, which are given by their names, to arrays."""
    feeds: Feeds = {}
    assigned = []
    for name, value in var_names_to_values.items():
        var = _variable_named(name)
        fed = _fed_value(var)
        assigned.append(var.assign(fed))
        feeds[fed] = np.asarray(value).reshape(var.shape.as_list())
    return group(*assigned), feeds


def _variable_named(name: str) -> Any:
    candidates = get_collection(GraphKeys.GLOBAL_VARIABLES, name)
    if not candidates:
        raise ValueError(f"Variable {name} wasn't found")
    exact = candidates if len(candidates) == 1 else [var for var in candidates if var.op.name == name]
    if not exact:
        raise ValueError(f"Variable {name} doesn't uniquely identify a variable")
    return exact[0]


def _fed_value(var: Any) -> Any:
    return placeholder(var.dtype.base_dtype, var.shape, name="placeholder/" + var.op.name)


def assign_from_values_fn(var_names_to_values: dict[str, Any]) -> Callable[[Any], Any]:
    """A function of a session that sets variables, which are given by their names, to arrays."""
    assign_op, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assign_op, feeds)


def assign_from_checkpoint(model_path: str, var_list: Any, ignore_missing_vars: bool = False) -> tuple[Any, Feeds]:
    """(operation, feeds) that set variables to what a checkpoint says.

    ``var_list`` is a list of variables, or a dict {name in the checkpoint: variable, or a list of them}. Parts of a partitioned variable get their
    part of the whole.
    """
    reader = new_checkpoint_reader(model_path)
    feeds: Feeds = {}
    assigned = []
    for name, variables in _by_checkpoint_name(var_list).items():
        if not reader.has_tensor(name):
            message = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(message)
            logging.warning(message)
            continue
        value = reader.get_tensor(name)
        for var in variables:
            fed = _fed_value(var)
            assigned.append(var.assign(fed))
            feeds[fed] = _value_for(var, name, np.asarray(value))
    return group(*assigned), feeds


def _by_checkpoint_name(var_list: Any) -> dict[str, list[Any]]:
    if not isinstance(var_list, (list, tuple)):
        return {name: list(value) if isinstance(value, (list, tuple)) else [value] for name, value in var_list.items()}
    grouped: dict[str, list[Any]] = {}
    for var in var_list:
        grouped.setdefault(get_variable_full_name(var), []).append(var)
    return grouped


def _value_for(var: Any, name: str, value: np.ndarray) -> np.ndarray:
    info = var._save_slice_info
    if info:
        return value[tuple(slice(start, start + size) for start, size in zip(info.var_offset, info.var_shape))]
    if var.shape.as_list() != list(value.shape):
        raise ValueError(f"Total size of new array must be unchanged for {name} lh_shape: [{value.shape}], rh_shape: [{var.shape}]")
    return value


def assign_from_checkpoint_fn(model_path: str, var_list: Any, ignore_missing_vars: bool = False,
                              reshape_variables: bool = False) -> Callable[[Any], None] | None:
    """A function of a session that restores variables; None, with a warning, if the checkpoint has none of them."""
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = new_checkpoint_reader(model_path)
        wanted = var_list if isinstance(var_list, dict) else {var.op.name: var for var in var_list}
        for name in wanted:
            if not reader.has_tensor(name):
                logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: var for name, var in wanted.items() if reader.has_tensor(name)}
    if not var_list:
        logging.warning("No Variables to restore")
        return None
    saver = Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
