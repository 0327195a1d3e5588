"""Giving variables their first values, finding those that have none, and the lists of variables of a graph."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import colocate_with, control_dependencies, device, get_collection, name_scope
from penstock.ops.array.gather import boolean_mask
from penstock.ops.array.pack import stack
from penstock.ops.array.shape_ops import rank_internal
from penstock.ops.constant import constant
from penstock.ops.flow.misc import group, no_op
from penstock.ops.math.compare import LogicalNot
from penstock.variables.assign import is_variable_initialized
from penstock.variables.variable import Variable


def global_variables(scope: str | None = None) -> list[Variable]:
    """``tf.global_variables``: the variables that are shared and saved, those whose names start with ``scope`` (a regular expression)."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Variable]:
    """``tf.local_variables``: the variables of this process alone, which are not saved."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """``tf.model_variables``: the variables that a model needs for inference."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """``tf.trainable_variables``: the variables that optimizers change by default."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """``tf.moving_average_variables``: the variables that have a moving average."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def all_variables() -> list[Variable]:
    """``tf.all_variables``, the old name of ``global_variables``."""
    return global_variables()


def variables_initializer(var_list: Sequence[Variable] | None, name: str = "init") -> Operation:
    """``tf.variables_initializer``: an operation that gives these variables their initial values, in any order."""
    if not var_list:
        return no_op(name=name)
    return group(*[variable.initializer for variable in var_list], name=name)


def initialize_variables(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """``tf.initialize_variables``, the old name of ``variables_initializer``."""
    return variables_initializer(var_list, name)


def global_variables_initializer() -> Operation:
    """``tf.global_variables_initializer``: an operation that initializes all global variables."""
    return variables_initializer(global_variables())


def initialize_all_variables() -> Operation:
    """``tf.initialize_all_variables``, the old name of ``global_variables_initializer``."""
    return global_variables_initializer()


def local_variables_initializer() -> Operation:
    """``tf.local_variables_initializer``: an operation that initializes all local variables."""
    return variables_initializer(local_variables())


def initialize_local_variables() -> Operation:
    """``tf.initialize_local_variables``, the old name of ``local_variables_initializer``."""
    return local_variables_initializer()


def report_uninitialized_variables(var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables") -> Tensor:
    """``tf.report_uninitialized_variables``: a tensor with the names of the variables that have no value yet."""
    if var_list is None:
        var_list = global_variables() + local_variables()
    with name_scope(name):
        if not var_list:
            with device("/cpu:0"):
                return constant(np.empty(0, object))
        initialized = stack([is_variable_initialized(variable) for variable in var_list])
        with device("/cpu:0"):
            missing = LogicalNot(initialized)
            names = constant([variable.op.name for variable in var_list])
            return boolean_mask(names, missing)


def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Any:
    """``tf.assert_variables_initialized``: an op that fails if a variable has no value; None if there are none."""
    if not var_list:
        var_list = global_variables() + local_variables()
    if not var_list:
        return None
    ranks = []
    for variable in var_list:
        with control_dependencies(None), colocate_with(variable.op):
            ranks.append(rank_internal(variable, optimize=False))  # a rank known beforehand would read nothing
    return ranks[0] if len(ranks) == 1 else stack(ranks)
