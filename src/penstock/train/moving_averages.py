"""Moving averages: of single variables, and of all of a model's for evaluation (ExponentialMovingAverage)."""
from __future__ import annotations

import itertools
from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import colocate_with, control_dependencies, name_scope
from penstock.ops.array.cast import cast
from penstock.ops.flow.misc import group
from penstock.ops.math.division import div
from penstock.ops.math.elementwise import minimum
from penstock.ops.math.powers import pow
from penstock.train import slots
from penstock.variables.assign import assign, assign_add, assign_sub
from penstock.variables.initialization import moving_average_variables, trainable_variables
from penstock.variables.initializers import Zeros
from penstock.variables.replicas import update_with_mean
from penstock.variables.scope import get_variable, get_variable_scope, variable_scope
from penstock.variables.variable import Variable


def assign_moving_average(variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None) -> Any:
    """``variable -= (1 - decay) * (variable - value)``; with ``zero_debias`` corrected for a start at zero."""
    with name_scope(name, "AssignMovingAvg", [variable.op, value]) as scope, colocate_with(variable.op):
        weight = to_tensor(1.0 - decay, name="decay")
        if weight.dtype.base_dtype is not variable.dtype.base_dtype:
            weight = cast(weight, variable.dtype.base_dtype)
        if zero_debias:
            return update_with_mean(lambda value: assign(variable, _debias(variable, value, weight), name=scope), value)
        return update_with_mean(lambda value: assign_sub(variable, (variable - value) * weight, name=scope), value)


def _debias(variable: Any, value: Any, weight: Tensor) -> Tensor:
    """The average of the values so far, as if it had not started at zero."""
    with variable_scope(variable.op.name, values=[variable, value, weight]):
        biased = get_variable(_new_name("biased"), initializer=Zeros(), shape=variable.shape, dtype=variable.dtype.base_dtype, trainable=False)
        steps = get_variable(_new_name("local_step"), shape=[], dtype=variable.dtype.base_dtype, initializer=Zeros(), trainable=False)
    moved = assign_sub(biased, (biased - value) * weight)
    counted = assign_add(steps, 1.0)
    return moved / (1.0 - pow(1.0 - weight, to_tensor(counted)))


def _new_name(name: str) -> str:
    """The name, with a number if the scope has such a variable: several averages may move one variable."""
    scope = get_variable_scope()
    taken = () if scope.reuse else {variable.op.name for variable in scope.global_variables()}
    candidates = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(1)))
    return next(each for each in candidates if f"{scope.name}/{each}" not in taken)


def weighted_moving_average(value: Any, decay: Any, weight: Any, truediv: bool = True, collections: Any = None, name: str | None = None) -> Tensor:
    """The moving average of ``value``, each counted by its ``weight``."""
    with name_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope, variable_scope(name, "WeightedMovingAvg"):
        value = to_tensor(value)
        numerator = get_variable("value_x_weight", shape=value.shape, dtype=value.dtype, initializer=Zeros(), trainable=False,
                                 collections=collections)
        denominator = get_variable("weight", shape=value.shape, dtype=value.dtype, initializer=Zeros(), trainable=False,
                                   collections=collections)
        over = assign_moving_average(numerator, value * weight, decay, zero_debias=False)
        under = assign_moving_average(denominator, to_tensor(weight, value.dtype), decay, zero_debias=False)
        return to_tensor(over) / under if truediv else div(to_tensor(over), to_tensor(under), name=scope)


class ExponentialMovingAverage:
    """Keeps a shadow of each variable, which follows it slowly: ``shadow = decay * shadow + (1 - decay) * variable``.

    With ``num_updates`` the decay starts small: ``min(decay, (1 + num_updates) / (10 + num_updates))``.
    """

    def __init__(self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage") -> None:
        self._decay, self._num_updates, self._zero_debias, self._name = decay, num_updates, zero_debias, name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The suffix of the shadows' names."""
        return self._name

    def apply(self, var_list: Any = None) -> Any:
        """An operation that moves the shadows towards the variables (or tensors); makes the shadows at the first call."""
        var_list = trainable_variables() if var_list is None else list(var_list)
        for var in var_list:
            if not var.dtype.base_dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            if var not in self._averages:
                with control_dependencies(None):
                    self._averages[var] = self._shadow(var)
        with name_scope(self._name) as scope:
            decay = to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                updates = cast(self._num_updates, decay.dtype)
                decay = minimum(decay, (1.0 + updates) / (10.0 + updates))
            moves = [assign_moving_average(self._averages[var], var, decay, zero_debias=self._zero_debias and not isinstance(var, Variable))
                     for var in var_list]
            return group(*moves, name=scope)

    def _shadow(self, var: Any) -> Any:
        if not isinstance(var, Variable):
            return slots.create_zeros_slot(var, self._name, colocate_with_primary=var.op.type in ("Variable", "VariableV2", "VarHandleOp"))
        default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
        return slots.create_slot(var, var.initialized_value(), self._name)

    def average(self, var: Any) -> Any:
        """The shadow of a variable, or None."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """The name that the shadow of a variable has or would have."""
        if var in self._averages:
            return self._averages[var].op.name
        return default_graph().unique_name(var.op.name + "/" + self._name, mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """{name to restore from: variable}: the shadow's name for variables that have one."""
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + moving_average_variables()
        averaged = list(dict.fromkeys(moving_avg_variables))
        names = {self.average_name(var): var for var in averaged}
        for var in default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES):
            if var not in averaged and var.op.name not in names:
                names[var.op.name] = var
        return names
