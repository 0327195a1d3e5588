"""The optimizers of ``tf.keras.optimizers``: SGD, Adam, RMSprop, Adagrad, Adadelta, Adamax, Nadam, Ftrl.

Dense updates are single ops (``ops/state/training.py``) wherever TensorFlow has one.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.imperative.repeats import Repeats
from penstock.keras.optimizers.optimizer import OptimizerV2, State
from penstock.keras.optimizers.schedules import LearningRateSchedule
from penstock.layers import settings
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import gather
from penstock.ops.constant import identity
from penstock.ops.flow.misc import group
from penstock.ops.math.elementwise import abs as absolute
from penstock.ops.math.elementwise import maximum, square
from penstock.ops.math.powers import pow as power
from penstock.ops.math.powers import sqrt
from penstock.ops.state import training
from penstock.ops.state.resource import ResourceScatterAdd
from penstock.variables.initializers import Constant


def _uses_momentum(momentum: Any) -> bool:
    if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
        raise ValueError("`momentum` must be between [0, 1].")
    return isinstance(momentum, Tensor) or callable(momentum) or momentum > 0


class _Rule(OptimizerV2):
    """An optimizer with a learning rate and an initial decay of it."""

    slot_names: tuple[str, ...] = ()

    def __init__(self, name: str | None, learning_rate: Any, hyper: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        if type(self).__module__ == __name__:
            self._repeats = Repeats()
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        for key, value in hyper.items():
            self._set_hyper(key, value)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for slot in self.slot_names:
            for variable in var_list:
                self.add_slot(variable, slot)

    def _handles(self, var: Any, *slots: str) -> list[Any]:
        return [var.handle, *(self.get_slot(var, slot).handle for slot in slots)]


class SGD(_Rule):
    """``tf.keras.optimizers.SGD``: gradient descent, with or without momentum."""

    def __init__(self, learning_rate: Any = 0.01, momentum: Any = 0.0, nesterov: bool = False, name: str | None = "SGD", **kwargs: Any) -> None:
        super().__init__(name, learning_rate, {"momentum": momentum}, **kwargs)
        self._momentum, self.nesterov = _uses_momentum(momentum), nesterov
        self.slot_names = ("momentum",) if self._momentum else ()

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: State) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[var_device, var_dtype]["momentum"] = identity(self._get_hyper("momentum", var_dtype))

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        if not self._momentum:
            return training.ResourceApplyGradientDescent(var.handle, c["lr_t"], grad, use_locking=True)
        return training.ResourceApplyKerasMomentum(*self._handles(var, "momentum"), c["lr_t"], grad, c["momentum"], use_locking=True,
                                                   use_nesterov=self.nesterov)

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, var: Any, indices: Any, **kwargs: Any) -> Any:
        if self._momentum:
            return super()._resource_apply_sparse_duplicate_indices(grad, var, indices, **kwargs)
        return ResourceScatterAdd(var.handle, indices, -grad * self._coefficients(var, kwargs.get("apply_state"))["lr_t"])

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        return training.ResourceSparseApplyKerasMomentum(*self._handles(var, "momentum"), c["lr_t"], grad, indices, c["momentum"],
                                                         use_locking=True, use_nesterov=self.nesterov)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the optimizer again."""
        return {**super().get_config(), **self._hyper_config("learning_rate", "decay", "momentum"), "nesterov": self.nesterov}


class Adam(_Rule):
    """``tf.keras.optimizers.Adam``, also in its variant AMSGrad."""

    def __init__(self, learning_rate: Any = 0.001, beta_1: Any = 0.9, beta_2: Any = 0.999, epsilon: Any = 1e-7, amsgrad: bool = False,
                 name: str | None = "Adam", **kwargs: Any) -> None:
        super().__init__(name, learning_rate, {"beta_1": beta_1, "beta_2": beta_2}, **kwargs)
        self.epsilon, self.amsgrad = epsilon or settings.epsilon(), amsgrad
        self.slot_names = ("m", "v", "vhat") if amsgrad else ("m", "v")

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: State) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        c = apply_state[var_device, var_dtype]
        step = cast(self.iterations + 1, var_dtype)
        beta_1, beta_2 = identity(self._get_hyper("beta_1", var_dtype)), identity(self._get_hyper("beta_2", var_dtype))
        c.update(beta_1_t=beta_1, beta_2_t=beta_2, beta_1_power=power(beta_1, step), beta_2_power=power(beta_2, step),
                 one_minus_beta_1_t=1 - beta_1, one_minus_beta_2_t=1 - beta_2, epsilon=to_tensor(self.epsilon, var_dtype))
        c["lr"] = c["lr_t"] * (sqrt(1 - c["beta_2_power"]) / (1 - c["beta_1_power"]))

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        rule = training.ResourceApplyAdamWithAmsgrad if self.amsgrad else training.ResourceApplyAdam
        return rule(*self._handles(var, *self.slot_names), c["beta_1_power"], c["beta_2_power"], c["lr_t"], c["beta_1_t"], c["beta_2_t"],
                    c["epsilon"], grad, use_locking=True)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        """Moments decay in all rows, so all rows move."""
        c = self._coefficients(var, apply_state)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t = self._decay_and_add(m, c["beta_1_t"], indices, grad * c["one_minus_beta_1_t"])
        v_t = self._decay_and_add(v, c["beta_2_t"], indices, (grad * grad) * c["one_minus_beta_2_t"])
        updates = [m_t, v_t]
        if self.amsgrad:
            v_t = self.get_slot(var, "vhat").assign(maximum(self.get_slot(var, "vhat"), v_t))
            updates.append(v_t)
        return group(var.assign_sub(c["lr"] * m_t / (sqrt(v_t) + c["epsilon"])), *updates)

    def _decay_and_add(self, slot: Any, factor: Any, indices: Any, values: Any) -> Any:
        with control_dependencies([slot.assign(slot * factor)]):
            return self._resource_scatter_add(slot, indices, values)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Replaces the values of ``weights``; a state of Keras's older Adam has one slot more, which is left out."""
        count = (len(self.weights) - 1) // 2
        super().set_weights(weights[:len(self.weights)] if len(weights) == 3 * count + 1 else weights)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the optimizer again."""
        return {**super().get_config(), **self._hyper_config("learning_rate", "decay", "beta_1", "beta_2"), "epsilon": self.epsilon,
                "amsgrad": self.amsgrad}


class _OldStates(_Rule):
    """Accepts states of older versions of Keras, which had no counter of steps."""

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Replaces the values of ``weights``."""
        super().set_weights([np.array(0), *weights] if len(self.weights) == len(weights) + 1 else weights)


class RMSprop(_OldStates):
    """``tf.keras.optimizers.RMSprop``."""

    def __init__(self, learning_rate: Any = 0.001, rho: Any = 0.9, momentum: Any = 0.0, epsilon: Any = 1e-7, centered: bool = False,
                 name: str | None = "RMSprop", **kwargs: Any) -> None:
        super().__init__(name, learning_rate, {"rho": rho, "momentum": momentum}, **kwargs)
        self._momentum, self.epsilon, self.centered = _uses_momentum(momentum), epsilon or settings.epsilon(), centered
        self.slot_names = ("rms", *(["momentum"] if self._momentum else []), *(["mg"] if centered else []))

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: State) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        c = apply_state[var_device, var_dtype]
        rho = identity(self._get_hyper("rho", var_dtype))
        c.update(neg_lr_t=-c["lr_t"], epsilon=to_tensor(self.epsilon, var_dtype), rho=rho, one_minus_rho=1.0 - rho,
                 momentum=identity(self._get_hyper("momentum", var_dtype)))

    def _fused_update(self, var: Any, c: dict[str, Any], grad: Any, *indices: Any) -> Any:
        """The op of the rule, which there is with momentum only."""
        name = f"Resource{'Sparse' if indices else ''}Apply{'Centered' if self.centered else ''}RMSProp"
        slots = ("mg", "rms", "momentum") if self.centered else ("rms", "momentum")
        return getattr(training, name)(*self._handles(var, *slots), c["lr_t"], c["rho"], c["momentum"], c["epsilon"], grad, *indices,
                                       use_locking=True)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        if self._momentum:
            return self._fused_update(var, c, grad)
        rms = self.get_slot(var, "rms")
        new = c["rho"] * rms + c["one_minus_rho"] * square(grad)
        updates, denominator = [rms.assign(new).op], new
        if self.centered:
            mg = self.get_slot(var, "mg")
            mean = c["rho"] * mg + c["one_minus_rho"] * grad
            updates.append(mg.assign(mean).op)
            denominator = new - square(mean)
        return group(var.assign(var - c["lr_t"] * grad / (sqrt(denominator) + c["epsilon"])).op, *updates)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        if self._momentum:
            return self._fused_update(var, c, grad, indices)
        updates = [self._decay(self.get_slot(var, "rms"), c, indices, grad * grad)]
        denominator = gather(updates[0], indices)
        if self.centered:
            updates.append(self._decay(self.get_slot(var, "mg"), c, indices, grad))
            denominator = denominator - square(gather(updates[1], indices))
        return group(self._resource_scatter_add(var, indices, c["neg_lr_t"] * grad / (sqrt(denominator) + c["epsilon"])), *updates)

    def _decay(self, slot: Any, c: dict[str, Any], indices: Any, values: Any) -> Any:
        """The slot behind a decay of all rows and the addition to some."""
        with control_dependencies([slot.assign(slot * c["rho"])]):
            return self._resource_scatter_add(slot, indices, values * c["one_minus_rho"])

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the optimizer again."""
        return {**super().get_config(), **self._hyper_config("learning_rate", "decay", "rho", "momentum"), "epsilon": self.epsilon,
                "centered": self.centered}


class Adagrad(_OldStates):
    """``tf.keras.optimizers.Adagrad``."""

    def __init__(self, learning_rate: Any = 0.001, initial_accumulator_value: float = 0.1, epsilon: Any = 1e-7, name: str | None = "Adagrad",
                 **kwargs: Any) -> None:
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, learning_rate, {}, **kwargs)
        self._initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon or settings.epsilon()

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            self.add_slot(variable, "accumulator", Constant(self._initial_accumulator_value, dtype=variable.dtype.base_dtype))

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: State) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[var_device, var_dtype]["epsilon"] = to_tensor(self.epsilon, var_dtype)
        default_graph().imply(2)  # TensorFlow has a negative rate and a zero, too

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        return training.ResourceApplyAdagradV2(*self._handles(var, "accumulator"), c["lr_t"], c["epsilon"], grad, use_locking=True)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        return training.ResourceSparseApplyAdagradV2(*self._handles(var, "accumulator"), c["lr_t"], c["epsilon"], grad, indices, use_locking=True)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the optimizer again."""
        return {**super().get_config(), **self._hyper_config("learning_rate", "decay"),
                "initial_accumulator_value": self._initial_accumulator_value, "epsilon": self.epsilon}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The optimizer that ``get_config`` describes; older versions of Keras began with 0."""
        return super().from_config({"initial_accumulator_value": 0.0, **config}, custom_objects)


class Adadelta(_OldStates):
    """``tf.keras.optimizers.Adadelta``."""

    slot_names = ("accum_grad", "accum_var")

    def __init__(self, learning_rate: Any = 0.001, rho: Any = 0.95, epsilon: Any = 1e-7, name: str | None = "Adadelta", **kwargs: Any) -> None:
        super().__init__(name, learning_rate, {"rho": rho}, **kwargs)
        self.epsilon = epsilon or settings.epsilon()

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: State) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[var_device, var_dtype].update(epsilon=to_tensor(self.epsilon, var_dtype), rho=identity(self._get_hyper("rho", var_dtype)))

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        return training.ResourceApplyAdadelta(*self._handles(var, *self.slot_names), c["lr_t"], c["rho"], c["epsilon"], grad, use_locking=True)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        return training.ResourceSparseApplyAdadelta(*self._handles(var, *self.slot_names), c["lr_t"], c["rho"], c["epsilon"], grad, indices,
                                                    use_locking=True)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the optimizer again."""
        return {**super().get_config(), **self._hyper_config("learning_rate", "decay", "rho"), "epsilon": self.epsilon}


class Adamax(_Rule):
    """``tf.keras.optimizers.Adamax``: Adam with the maximum norm."""

    slot_names = ("m", "v")

    def __init__(self, learning_rate: Any = 0.001, beta_1: Any = 0.9, beta_2: Any = 0.999, epsilon: Any = 1e-7, name: str | None = "Adamax",
                 **kwargs: Any) -> None:
        super().__init__(name, learning_rate, {"beta_1": beta_1, "beta_2": beta_2}, **kwargs)
        self.epsilon = epsilon or settings.epsilon()

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: State) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        c = apply_state[var_device, var_dtype]
        beta_1, beta_2 = identity(self._get_hyper("beta_1", var_dtype)), identity(self._get_hyper("beta_2", var_dtype))
        c.update(beta_1_t=beta_1, beta_2_t=beta_2, beta_1_power=power(beta_1, cast(self.iterations + 1, var_dtype)),
                 one_minus_beta_1_t=1 - beta_1, epsilon=to_tensor(self.epsilon, var_dtype))
        c["neg_scaled_lr"] = -c["lr_t"] / (1 - c["beta_1_power"])
        default_graph().imply(1)  # TensorFlow has a zero, too

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        return training.ResourceApplyAdaMax(*self._handles(var, "m", "v"), c["beta_1_power"], c["lr_t"], c["beta_1_t"], c["beta_2_t"],
                                            c["epsilon"], grad, use_locking=True)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = gather(m, indices) * c["beta_1_t"] + grad * c["one_minus_beta_1_t"]
        v_rows = maximum(gather(v, indices) * c["beta_2_t"], absolute(grad))
        with control_dependencies([m_rows, v_rows]):
            updates = [self._resource_scatter_update(m, indices, m_rows), self._resource_scatter_update(v, indices, v_rows)]
        return group(self._resource_scatter_add(var, indices, c["neg_scaled_lr"] * (m_rows / (v_rows + c["epsilon"]))), *updates)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the optimizer again."""
        return {**super().get_config(), **self._hyper_config("learning_rate", "decay", "beta_1", "beta_2"), "epsilon": self.epsilon}


class Nadam(_Rule):
    """``tf.keras.optimizers.Nadam``: Adam with Nesterov's momentum."""

    slot_names = ("m", "v")

    def __init__(self, learning_rate: Any = 0.001, beta_1: Any = 0.9, beta_2: Any = 0.999, epsilon: Any = 1e-7, name: str | None = "Nadam",
                 **kwargs: Any) -> None:
        kwargs["decay"] = kwargs.pop("schedule_decay", 0.004)
        if isinstance(kwargs.get("lr", learning_rate), LearningRateSchedule):
            raise ValueError("The Nadam optimizer does not support tf.keras.optimizers.LearningRateSchedules as the learning rate.")
        super().__init__(name, learning_rate, {"beta_1": beta_1, "beta_2": beta_2}, **kwargs)
        self.epsilon = epsilon or settings.epsilon()
        self._m_cache: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        if self._m_cache is None:
            self._m_cache = self.add_weight("momentum_cache", shape=[], dtype=var_list[0].dtype.base_dtype, initializer="ones", trainable=False)
            self._weights.append(self._m_cache)
        super()._create_slots(var_list)

    def _prepare(self, var_list: Sequence[Any]) -> State:
        self._m_cache_read = identity(self._m_cache)
        return super()._prepare(var_list)

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: State) -> None:
        rate, beta_1, beta_2 = (identity(self._get_hyper(name, var_dtype)) for name in ("learning_rate", "beta_1", "beta_2"))
        step, following = cast(self.iterations + 1, var_dtype), cast(self.iterations + 2, var_dtype)
        base = cast(0.96, var_dtype)
        m_t, m_t_1 = (beta_1 * (1.0 - 0.5 * power(base, self._initial_decay * each)) for each in (step, following))
        schedule = cast(self._m_cache_read, var_dtype) * m_t
        if var_dtype is self._m_cache.dtype.base_dtype:
            schedule = identity(self._m_cache.assign(schedule))
        apply_state[var_device, var_dtype] = {
            "lr_t": rate, "neg_lr_t": -rate, "epsilon": to_tensor(self.epsilon, var_dtype), "beta_1_t": beta_1, "beta_2_t": beta_2, "m_t_1": m_t_1,
            "one_minus_beta_1_t": 1 - beta_1, "one_minus_beta_2_t": 1 - beta_2, "one_minus_m_t": 1.0 - m_t,
            "one_minus_m_schedule_new": 1.0 - schedule, "one_minus_m_schedule_next": 1.0 - schedule * m_t_1,
            "v_t_prime_denominator": 1.0 - power(beta_2, step)}

    def _direction(self, c: dict[str, Any], grad: Any, m_t: Any, v_t: Any) -> Any:
        """Where a variable moves, with its new moments."""
        m_bar = c["one_minus_m_t"] * (grad / c["one_minus_m_schedule_new"]) + c["m_t_1"] * (m_t / c["one_minus_m_schedule_next"])
        return m_bar / (sqrt(v_t / c["v_t_prime_denominator"]) + c["epsilon"])

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t = c["beta_1_t"] * m + c["one_minus_beta_1_t"] * grad
        v_t = c["beta_2_t"] * v + c["one_minus_beta_2_t"] * square(grad)
        default_graph().imply(1)  # TensorFlow groups the updates in one step more
        return group(var.assign(var - c["lr_t"] * self._direction(c, grad, m_t, v_t)).op, m.assign(m_t).op, v.assign(v_t).op)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        c = self._coefficients(var, apply_state)
        moments = []
        for slot, factor, values in (("m", "beta_1_t", grad * c["one_minus_beta_1_t"]), ("v", "beta_2_t", (grad * grad) * c["one_minus_beta_2_t"])):
            variable = self.get_slot(var, slot)
            with control_dependencies([variable.assign(variable * c[factor])]):
                moments.append(self._resource_scatter_add(variable, indices, values))
        m_rows, v_rows = (gather(moment, indices) for moment in moments)
        return group(self._resource_scatter_add(var, indices, c["neg_lr_t"] * self._direction(c, grad, m_rows, v_rows)), *moments)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the optimizer again."""
        return {**super().get_config(), **self._hyper_config("learning_rate", "decay", "beta_1", "beta_2"), "epsilon": self.epsilon}


class Ftrl(_Rule):
    """``tf.keras.optimizers.Ftrl``: follow the regularized leader."""

    def __init__(self, learning_rate: Any = 0.001, learning_rate_power: Any = -0.5, initial_accumulator_value: float = 0.1,
                 l1_regularization_strength: Any = 0.0, l2_regularization_strength: Any = 0.0, name: str | None = "Ftrl",
                 l2_shrinkage_regularization_strength: float = 0.0, **kwargs: Any) -> None:
        strengths = {"l1_regularization_strength": l1_regularization_strength, "l2_regularization_strength": l2_regularization_strength}
        for key, value in {"initial_accumulator_value": initial_accumulator_value, **strengths,
                           "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength}.items():
            if value < 0.0:
                raise ValueError(f"{key} {value} needs to be greater than or equal to zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        super().__init__(name, learning_rate, {"learning_rate_power": learning_rate_power, **strengths}, **kwargs)
        self._initial_accumulator_value = initial_accumulator_value
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            self.add_slot(variable, "accumulator", Constant(self._initial_accumulator_value, dtype=variable.dtype.base_dtype))
            self.add_slot(variable, "linear")

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: State) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        names = ("learning_rate_power", "l1_regularization_strength", "l2_regularization_strength")
        apply_state[var_device, var_dtype].update({name: identity(self._get_hyper(name, var_dtype)) for name in names},
                                                  shrinkage=cast(self._l2_shrinkage_regularization_strength, var_dtype))

    def _apply(self, var: Any, apply_state: Any, grad: Any, *indices: Any) -> Any:
        c = self._coefficients(var, apply_state)
        shrinks = self._l2_shrinkage_regularization_strength > 0.0
        rule = getattr(training, f"Resource{'Sparse' if indices else ''}ApplyFtrl{'V2' if shrinks else ''}")
        return rule(*self._handles(var, "accumulator", "linear"), grad, *indices, c["lr_t"], c["l1_regularization_strength"],
                    c["l2_regularization_strength"], *([c["shrinkage"]] if shrinks else []), c["learning_rate_power"], use_locking=True)

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        return self._apply(var, apply_state, grad)

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        return self._apply(var, apply_state, grad, indices)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the optimizer again."""
        return {**super().get_config(), **self._hyper_config("learning_rate", "decay"), "initial_accumulator_value": self._initial_accumulator_value,
                **self._hyper_config("learning_rate_power", "l1_regularization_strength", "l2_regularization_strength"),
                "l2_shrinkage_regularization_strength": self._l2_shrinkage_regularization_strength}
