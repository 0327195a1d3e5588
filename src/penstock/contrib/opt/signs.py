"""Optimizers that take larger steps where gradient and momentum agree in sign; a function of the step may let this effect decay."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.train.rules import RuleOptimizer


class _SignOptimizer(RuleOptimizer):
    slots = {"m": ("m", None, "")}

    def __init__(self, use_locking: bool, name: str, hyper: dict[str, tuple[Any, str]], sign_decay_fn: Callable[[Any], Any] | None) -> None:
        super().__init__(use_locking, name, hyper)
        self._sign_decay_fn = sign_decay_fn

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Applies gradients; the effect of signs decays with ``global_step`` if there is a function for it."""
        if self._sign_decay_fn is not None:
            self._sign_decay = tf.convert_to_tensor(self._sign_decay_fn(global_step), name="sign_decay")
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _prepare(self) -> None:
        super()._prepare()
        if self._sign_decay_fn is None:
            self._sign_decay = tf.convert_to_tensor(1.0, name="sign_decay")
        self._tensors["sign_decay"] = self._sign_decay

    def _update_rows(self, grad: tf.Tensor, var: Any, indices: tf.Tensor) -> Any:
        dtype = var.dtype.base_dtype
        lr, beta, decay = (tf.cast(self._tensors[name], dtype) for name in ("lr", "beta", "sign_decay"))
        m = self.get_slot(var, "m")
        decayed = tf.assign(m, m * beta, use_locking=self._use_locking)
        with tf.control_dependencies([decayed]):
            new_m = tf.scatter_add(m, indices, grad * (1 - beta), use_locking=self._use_locking)
        agreement = tf.gather(tf.sign(tf.convert_to_tensor(new_m)), indices) * tf.sign(grad)
        step = lr * self._factor(decay * agreement, dtype) * grad
        return tf.group(tf.scatter_sub(var, indices, step, use_locking=self._use_locking), new_m)

    def _factor(self, agreement: tf.Tensor, dtype: Any) -> tf.Tensor:
        raise NotImplementedError

    def _apply_sparse(self, grad: tf.IndexedSlices, var: Any) -> Any:
        return self._update_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: tf.Tensor, handle: Any, indices: tf.Tensor) -> Any:
        return self._update_rows(grad, handle, indices)


class AddSignOptimizer(_SignOptimizer):
    """``tf.contrib.opt.AddSignOptimizer``: ``m = beta * m + (1 - beta) * g; var -= lr * (alpha + sign(g) * sign(m)) * g``."""

    rule = "AddSign"

    def __init__(self, learning_rate: Any = 0.1, alpha: Any = 1.0, beta: Any = 0.9, sign_decay_fn: Callable[[Any], Any] | None = None,
                 use_locking: bool = False, name: str = "AddSignOptimizer") -> None:
        hyper = {"lr": (learning_rate, "learning_rate"), "beta": (beta, "beta"), "alpha": (alpha, "alpha")}
        super().__init__(use_locking, name, hyper, sign_decay_fn)

    def _factor(self, agreement: tf.Tensor, dtype: Any) -> tf.Tensor:
        return tf.cast(self._tensors["alpha"], dtype) + agreement


class PowerSignOptimizer(_SignOptimizer):
    """``tf.contrib.opt.PowerSignOptimizer``: ``m = beta * m + (1 - beta) * g; var -= lr * base ** (sign(g) * sign(m)) * g``."""

    rule = "PowerSign"

    def __init__(self, learning_rate: Any = 0.1, base: float = math.e, beta: Any = 0.9, sign_decay_fn: Callable[[Any], Any] | None = None,
                 use_locking: bool = False, name: str = "PowerSignOptimizer") -> None:
        hyper = {"lr": (learning_rate, "learning_rate"), "beta": (beta, "beta"), "logbase": (math.log(base), "logbase")}
        super().__init__(use_locking, name, hyper, sign_decay_fn)

    def _factor(self, agreement: tf.Tensor, dtype: Any) -> tf.Tensor:
        return tf.pow(tf.cast(math.e, dtype), tf.cast(self._tensors["logbase"], dtype) * agreement)
