"""The optimizers of ``tf.train``: each is a rule of ``ops/state/training.py`` with its slots and hyperparameters."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import lookup
from penstock.graph.scopes import colocate_with, control_dependencies
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.repeats import Repeats
from penstock.ops.array.cast import cast
from penstock.ops.flow.misc import group
from penstock.ops.math.elementwise import multiply
from penstock.ops.math.powers import sqrt
from penstock.ops.state import training as _training  # noqa: F401 (the operations of the rules, which are looked up by their names)
from penstock.train.optimizer import DirectSubclass, Optimizer
from penstock.variables.assign import assign, assign_sub, scatter_add, scatter_sub
from penstock.variables.initializers import Constant, Ones
from penstock.variables.resource_variable import ResourceVariable


class RuleOptimizer(Optimizer, metaclass=DirectSubclass):
    """An optimizer whose updates are the ops ``[Resource][Sparse]Apply{rule}``.

    ``hyper`` maps an input of those ops to (value, name of its tensor); ``slots`` maps an input to (slot name, initial value or None for zeros,
    suffix of the variable's name).
    """

    rule = ""
    slots: dict[str, tuple[str, Any, str]] = {}

    def __init__(self, use_locking: bool, name: str, hyper: dict[str, tuple[Any, str]], **options: Any) -> None:
        super().__init__(use_locking, name)
        self._hyper, self._options = hyper, options
        self._tensors = {}
        if type(self).__module__ == __name__:
            self._repeats = Repeats()
        for value, tensor_name in hyper.values():  # under TensorFlow's private names: programs read `_learning_rate`
            setattr(self, f"_{tensor_name}", value)

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            for slot_name, initial, suffix in self.slots.values():
                self._make_slot(var, slot_name, initial, suffix or self._name)

    def _make_slot(self, var: Any, slot_name: str, initial: Any, op_name: str) -> None:
        if initial is None:
            self._zeros_slot(var, slot_name, op_name)
            return
        value = getattr(self, initial) if isinstance(initial, str) else initial
        dtype = var.dtype.base_dtype
        initializer = Ones(dtype) if value == 1.0 else Constant(value, dtype)
        if var.shape.is_fully_defined():
            self._get_or_make_slot_with_initializer(var, initializer, var.shape, dtype, slot_name, op_name)
        else:
            first = var.initialized_value()
            self._get_or_make_slot(var, first * 0 + np.asarray(value, dtype.np), slot_name, op_name)

    def _prepare(self) -> None:
        graph = default_graph()
        self._tensors = {}
        for key, (value, name) in self._hyper.items():
            value = self._call_if_callable(value)
            number = graph.number(value, dtypes.float32) if isinstance(graph, EagerGraph) and type(value) is float else None
            self._tensors[key] = to_tensor(value, name=name) if number is None else number

    def _rule(self, var: Any, given: dict[str, Any], sparse: bool) -> Any:
        """The op of the rule for one variable, its inputs looked up by their names."""
        resource = isinstance(var, ResourceVariable)
        definition = lookup(f"{'Resource' if resource else ''}{'Sparse' if sparse else ''}Apply{self.rule}")
        values = [self._input(arg.name, var, given, resource) for arg in definition.inputs]
        options = {key: value for key, value in self._options.items() if key in definition.attrs}
        op = definition.node(values, {"use_locking": self._use_locking, **options})
        return op if resource else op.outputs[0]

    def _input(self, name: str, var: Any, given: dict[str, Any], resource: bool) -> Any:
        if name in given:
            return given[name]
        if name == "var" or name in self.slots:
            variable = var if name == "var" else self.get_slot(var, self.slots[name][0])
            return variable.handle if resource else variable
        if name in self._extra_inputs():
            return self._extra_inputs()[name]
        return cast(self._tensors[name], var.dtype.base_dtype)

    def _extra_inputs(self) -> dict[str, Any]:
        return {}

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        return self._rule(var, {"grad": grad, "delta": grad}, sparse=False)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        return self._rule(handle, {"grad": grad, "delta": grad}, sparse=False)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        return self._rule(var, {"grad": grad.values, "indices": grad.indices}, sparse=True)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        return self._rule(handle, {"grad": grad, "indices": indices}, sparse=True)


class GradientDescentOptimizer(RuleOptimizer):
    """``var -= learning_rate * grad``."""

    rule = "GradientDescent"

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name, {"alpha": (learning_rate, "learning_rate")})

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        delta = grad.values * cast(self._tensors["alpha"], var.dtype.base_dtype)
        return scatter_sub(var, grad.indices, delta, use_locking=self._use_locking).op

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        default_graph().imply(isinstance(self._hyper["alpha"][0], (int, float)))  # TensorFlow makes another constant of it
        return lookup("ResourceScatterAdd").node([handle.handle, indices, -grad * cast(self._tensors["alpha"], grad.dtype.base_dtype)], {})


class MomentumOptimizer(RuleOptimizer):
    """``accum = momentum * accum + grad; var -= learning_rate * accum``, or Nesterov's form of it."""

    rule = "Momentum"
    slots = {"accum": ("momentum", None, "")}

    def __init__(self, learning_rate: Any, momentum: Any, use_locking: bool = False, name: str = "Momentum", use_nesterov: bool = False) -> None:
        super().__init__(use_locking, name, {"lr": (learning_rate, "learning_rate"), "momentum": (momentum, "momentum")}, use_nesterov=use_nesterov)


class AdagradOptimizer(RuleOptimizer):
    """``accum += grad ** 2; var -= learning_rate * grad / sqrt(accum)``."""

    rule = "Adagrad"
    slots = {"accum": ("accumulator", "_initial", "")}

    def __init__(self, learning_rate: Any, initial_accumulator_value: float = 0.1, use_locking: bool = False, name: str = "Adagrad") -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name, {"lr": (learning_rate, "learning_rate")})
        self._initial = initial_accumulator_value


class AdagradDAOptimizer(RuleOptimizer):
    """Adagrad by dual averaging: weights that stay exactly zero until the data speaks for them."""

    rule = "AdagradDA"
    slots = {"gradient_accumulator": ("gradient_accumulator", None, ""),
             "gradient_squared_accumulator": ("gradient_squared_accumulator", "_initial", "")}

    def __init__(self, learning_rate: Any, global_step: Any, initial_gradient_squared_accumulator_value: float = 0.1,
                 l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, use_locking: bool = False,
                 name: str = "AdagradDA") -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(f"initial_gradient_squared_accumulator_value must be positive: {initial_gradient_squared_accumulator_value}")
        super().__init__(use_locking, name, {"lr": (learning_rate, "learning_rate"), "l1": (l1_regularization_strength, "l1"),
                                             "l2": (l2_regularization_strength, "l2")})
        self._initial, self._global_step = initial_gradient_squared_accumulator_value, global_step

    def _extra_inputs(self) -> dict[str, Any]:
        return {"global_step": cast(to_tensor(self._global_step) + 1, dtypes.int64)}  # counted from one


class AdadeltaOptimizer(RuleOptimizer):
    """Steps scaled by the ratio of running averages of updates and gradients."""

    rule = "Adadelta"
    slots = {"accum": ("accum", None, ""), "accum_update": ("accum_update", None, "")}

    def __init__(self, learning_rate: Any = 0.001, rho: Any = 0.95, epsilon: Any = 1e-8, use_locking: bool = False, name: str = "Adadelta") -> None:
        super().__init__(use_locking, name, {"lr": (learning_rate, "lr"), "rho": (rho, "rho"), "epsilon": (epsilon, "epsilon")})


class RMSPropOptimizer(RuleOptimizer):
    """Steps divided by the root of a running average of squared gradients, with momentum; ``centered`` subtracts the mean."""

    rule = "RMSProp"
    slots = {"ms": ("rms", 1.0, ""), "mom": ("momentum", None, "")}

    def __init__(self, learning_rate: Any, decay: Any = 0.9, momentum: Any = 0.0, epsilon: Any = 1e-10, use_locking: bool = False,
                 centered: bool = False, name: str = "RMSProp") -> None:
        super().__init__(use_locking, name, {"lr": (learning_rate, "learning_rate"), "rho": (decay, "decay"), "momentum": (momentum, "momentum"),
                                             "epsilon": (epsilon, "epsilon")})
        if centered:
            self.rule, self.slots = "CenteredRMSProp", {"ms": self.slots["ms"], "mg": ("mg", None, ""), "mom": self.slots["mom"]}


class FtrlOptimizer(RuleOptimizer):
    """Follow the regularized leader: sparse weights by L1, with per-coordinate rates."""

    slots = {"accum": ("accum", "_initial", ""), "linear": ("linear", None, "")}

    def __init__(self, learning_rate: Any, learning_rate_power: float = -0.5, initial_accumulator_value: float = 0.1,
                 l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, use_locking: bool = False, name: str = "Ftrl",
                 accum_name: str | None = None, linear_name: str | None = None, l2_shrinkage_regularization_strength: float = 0.0) -> None:
        for value, what in ((initial_accumulator_value, "initial_accumulator_value"), (l1_regularization_strength, "l1_regularization_strength"),
                            (l2_regularization_strength, "l2_regularization_strength"),
                            (l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength"),
                            (-learning_rate_power, "-learning_rate_power")):
            if value < 0.0:
                raise ValueError(f"{what} {value} needs to be positive or zero")
        hyper = {"lr": (learning_rate, "learning_rate"), "l1": (l1_regularization_strength, "l1_regularization_strength"),
                 "l2": (l2_regularization_strength, "l2_regularization_strength"), "lr_power": (learning_rate_power, "learning_rate_power")}
        if l2_shrinkage_regularization_strength > 0:
            hyper["l2_shrinkage"] = (l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength")
        super().__init__(use_locking, name, hyper)
        self.rule = "FtrlV2" if l2_shrinkage_regularization_strength > 0 else "Ftrl"
        self._initial = initial_accumulator_value
        if accum_name or linear_name:
            self.slots = {"accum": ("accum", "_initial", accum_name or ""), "linear": ("linear", None, linear_name or "")}

    def _prepare(self) -> None:
        super()._prepare()
        if self.rule == "Ftrl":
            default_graph().imply(1)  # TensorFlow has a tensor for the shrinkage that there is not


class ProximalGradientDescentOptimizer(RuleOptimizer):
    """Gradient descent, then a step towards small and sparse weights."""

    rule = "ProximalGradientDescent"

    def __init__(self, learning_rate: Any, l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0,
                 use_locking: bool = False, name: str = "ProximalGradientDescent") -> None:
        super().__init__(use_locking, name, {
            "alpha": (learning_rate, "learning_rate"), "l1": (l1_regularization_strength, "l1_regularization_strength"),
            "l2": (l2_regularization_strength, "l2_regularization_strength")})


class ProximalAdagradOptimizer(RuleOptimizer):
    """Adagrad, then a step towards small and sparse weights."""

    rule = "ProximalAdagrad"
    slots = {"accum": ("accumulator", "_initial", "")}

    def __init__(self, learning_rate: Any, initial_accumulator_value: float = 0.1, l1_regularization_strength: float = 0.0,
                 l2_regularization_strength: float = 0.0, use_locking: bool = False, name: str = "ProximalAdagrad") -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name, {"lr": (learning_rate, "learning_rate"), "l1": (l1_regularization_strength, "l1_regularization_strength"),
                                             "l2": (l2_regularization_strength, "l2_regularization_strength")})
        self._initial = initial_accumulator_value


class AdamOptimizer(RuleOptimizer):
    """Steps by running averages of the gradient and its square, corrected for their start at zero.

    Rows that a sparse gradient does not name still move, by their decaying averages, as in TensorFlow.
    """

    rule = "Adam"
    slots = {"m": ("m", None, ""), "v": ("v", None, "")}

    def __init__(self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8, use_locking: bool = False,
                 name: str = "Adam") -> None:
        super().__init__(use_locking, name, {"lr": (learning_rate, "learning_rate"), "beta1": (beta1, "beta1"), "beta2": (beta2, "beta2"),
                                             "epsilon": (epsilon, "epsilon")})
        self._lr, self._beta1, self._beta2 = learning_rate, beta1, beta2

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda var: var.name)  # the powers live where the first variable lives
        self._create_non_slot_variable(self._call_if_callable(self._beta1), "beta1_power", first)
        self._create_non_slot_variable(self._call_if_callable(self._beta2), "beta2_power", first)
        super()._create_slots(var_list)

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        graph = default_graph()
        return self._get_non_slot_variable("beta1_power", graph), self._get_non_slot_variable("beta2_power", graph)

    def _input(self, name: str, var: Any, given: dict[str, Any], resource: bool) -> Any:
        if name in ("beta1_power", "beta2_power"):
            return cast(self._power(name), var.dtype.base_dtype)
        return super()._input(name, var, given, resource)

    def _prepare(self) -> None:
        super()._prepare()
        self._start_updates()

    def _start_updates(self) -> None:
        self._powers: dict[str, Any] = {}

    def _power(self, name: str) -> Any:
        """A power; in imperative style it is read once for all variables."""
        graph = default_graph()
        power = self._powers.get(name)
        if power is None:
            power = self._get_non_slot_variable(name, graph)
            if graph.imperative:
                power = self._powers[name] = power.value()
        return power

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        return self._update_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        return self._update_rows(grad, handle, indices)

    def _update_rows(self, grad: Tensor, var: Any, indices: Tensor) -> Operation:
        dtype = var.dtype.base_dtype
        lr, beta1, beta2, epsilon = (cast(self._tensors[name], dtype) for name in ("lr", "beta1", "beta2", "epsilon"))
        power1, power2 = (cast(power, dtype) for power in self._get_beta_accumulators())
        rate = lr * sqrt(1 - power2) / (1 - power1)
        m = self._decay_and_add(self.get_slot(var, "m"), beta1, grad * (1 - beta1), indices)
        v = self._decay_and_add(self.get_slot(var, "v"), beta2, grad * grad * (1 - beta2), indices)
        update = assign_sub(var, rate * m / (sqrt(v) + epsilon), use_locking=self._use_locking)
        return group(update, m, v)

    def _decay_and_add(self, slot: Any, beta: Tensor, rows: Tensor, indices: Tensor) -> Tensor:
        decayed = assign(slot, slot * beta, use_locking=self._use_locking)
        with control_dependencies([decayed]):
            added = to_tensor(scatter_add(slot, indices, rows, use_locking=self._use_locking))
        if added.op.definition.snapshot:
            default_graph().imply(-1)  # TensorFlow does not read a resource as soon as it is written
        return added

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        power1, power2 = self._get_beta_accumulators()
        with control_dependencies(update_ops), colocate_with(power1.op):
            updates = [assign(power, multiply(power, self._tensors[name]), use_locking=self._use_locking)
                       for power, name in ((power1, "beta1"), (power2, "beta2"))]
        return group(*update_ops, *updates, name=name_scope)
