"""Relatives of Adam. Dense updates are one native op per variable; sparse ones touch the rows that a gradient names and nothing else of them."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.train.rules import AdamOptimizer


class LazyAdamOptimizer(AdamOptimizer):
    """``tf.contrib.opt.LazyAdamOptimizer``: Adam whose sparse updates leave the averages of all other rows as they are."""

    def _update_rows(self, grad: tf.Tensor, var: Any, indices: tf.Tensor) -> Any:
        dtype = var.dtype.base_dtype
        lr, beta1, beta2, epsilon = (tf.cast(self._tensors[name], dtype) for name in ("lr", "beta1", "beta2", "epsilon"))
        power1, power2 = (tf.cast(power, dtype) for power in self._get_beta_accumulators())
        rate = lr * tf.sqrt(1 - power2) / (1 - power1)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = beta1 * tf.gather(m, indices) + (1 - beta1) * grad
        v_rows = beta2 * tf.gather(v, indices) + (1 - beta2) * tf.square(grad)
        new_m = tf.scatter_update(m, indices, m_rows, use_locking=self._use_locking)
        new_v = tf.scatter_update(v, indices, v_rows, use_locking=self._use_locking)
        moved = tf.scatter_sub(var, indices, rate * m_rows / (tf.sqrt(v_rows) + epsilon), use_locking=self._use_locking)
        return tf.group(moved, new_m, new_v)


class NadamOptimizer(AdamOptimizer):
    """``tf.contrib.opt.NadamOptimizer``: Adam with Nesterov's momentum."""

    def __init__(self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8, use_locking: bool = False,
                 name: str = "Adam") -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._options["use_nesterov"] = True

    def _update_rows(self, grad: tf.Tensor, var: Any, indices: tf.Tensor) -> Any:
        dtype = var.dtype.base_dtype
        lr, beta1, beta2, epsilon = (tf.cast(self._tensors[name], dtype) for name in ("lr", "beta1", "beta2", "epsilon"))
        power1, power2 = (tf.cast(power, dtype) for power in self._get_beta_accumulators())
        rate = lr * tf.sqrt(1 - power2) / (1 - power1)
        scaled = grad * (1 - beta1)
        m = self._decay_and_add(self.get_slot(var, "m"), beta1, scaled, indices)
        v = self._decay_and_add(self.get_slot(var, "v"), beta2, grad * grad * (1 - beta2), indices)
        ahead = scaled + beta1 * tf.gather(m, indices)
        step = -rate * ahead / (tf.sqrt(tf.gather(v, indices)) + epsilon)
        return tf.group(tf.scatter_add(var, indices, step, use_locking=self._use_locking), ahead, v)


class AdaMaxOptimizer(AdamOptimizer):
    """``tf.contrib.opt.AdaMaxOptimizer``: Adam with the largest gradient so far, which decays, instead of an average of squares."""

    rule = "AdaMax"

    def __init__(self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8, use_locking: bool = False,
                 name: str = "AdaMax") -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda var: var.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _get_beta_accumulators(self) -> Any:
        return self._get_non_slot_variable("beta1_power", tf.get_default_graph())

    def _update_rows(self, grad: tf.Tensor, var: Any, indices: tf.Tensor) -> Any:
        dtype = var.dtype.base_dtype
        lr, beta1, beta2, epsilon = (tf.cast(self._tensors[name], dtype) for name in ("lr", "beta1", "beta2", "epsilon"))
        power = tf.cast(self._get_beta_accumulators(), dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = tf.gather(m, indices) * beta1 + grad * (1 - beta1)
        v_rows = tf.maximum(tf.gather(v, indices) * beta2, tf.abs(grad))
        new_m = tf.scatter_update(m, indices, m_rows, use_locking=self._use_locking)
        new_v = tf.scatter_update(v, indices, v_rows, use_locking=self._use_locking)
        step = -lr / (1 - power) * (m_rows / (v_rows + epsilon))
        return tf.group(tf.scatter_add(var, indices, step, use_locking=self._use_locking), new_m, new_v)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        with tf.control_dependencies(update_ops):
            power = self._get_beta_accumulators()
            with tf.colocate_with(power.op):
                updated = tf.assign(power, power * self._tensors["beta1"], use_locking=self._use_locking)
        return tf.group(*update_ops, updated, name=name_scope)


class AdamGSOptimizer(AdamOptimizer):
    """``tf.contrib.opt.AdamGSOptimizer``: Adam that counts its steps by a global step, so that it needs no powers of its betas on one task."""

    def __init__(self, global_step: Any = 0, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
                 use_locking: bool = False, name: str = "Adam") -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        self._steps = tf.cast(tf.identity(self._global_step) + 1, tf.float32)

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        return tf.pow(self._tensors["beta1"], self._steps), tf.pow(self._tensors["beta2"], self._steps)

    def _power(self, name: str) -> Any:
        return self._get_beta_accumulators()[name == "beta2_power"]

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        return tf.group(*update_ops, name=name_scope)


class LazyAdamGSOptimizer(AdamGSOptimizer, LazyAdamOptimizer):
    """``tf.contrib.opt.LazyAdamGSOptimizer``: AdamGS whose sparse updates leave the averages of all other rows as they are."""
