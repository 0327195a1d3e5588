"""``tf.contrib.mixed_precision``: a loss that is scaled up, so that the gradients of narrow floats do not vanish, and the scale that fits."""
from __future__ import annotations

import abc
from typing import Any

from penstock.contrib import prelude as tf
from penstock.train.optimizer import Optimizer
from penstock.train.optimizer_wrapper import OptimizerWrapper
from penstock.variables.variable import Variable


class LossScaleManager(abc.ABC):
    """``tf.contrib.mixed_precision.LossScaleManager``: says by what a loss is multiplied."""

    @abc.abstractmethod
    def get_loss_scale(self) -> Any:
        """The scale."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads: Any) -> Any:
        """An op that changes it, depending on whether all gradients were finite."""


class FixedLossScaleManager(LossScaleManager):
    """``tf.contrib.mixed_precision.FixedLossScaleManager``: always the same scale."""

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._loss_scale = tf.convert_to_tensor(loss_scale, dtype=tf.float32)

    def get_loss_scale(self) -> Any:
        """The scale."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """Nothing changes."""
        return tf.no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """``tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager``: grows after steps that went well, shrinks after those that overflowed."""

    def __init__(self, init_loss_scale: float, incr_every_n_steps: int, decr_every_n_nan_or_inf: int = 2, incr_ratio: float = 2,
                 decr_ratio: float = 0.8) -> None:
        self._incr_every_n_steps, self._decr_every_n_nan_or_inf = incr_every_n_steps, decr_every_n_nan_or_inf
        self._incr_ratio, self._decr_ratio = incr_ratio, decr_ratio
        self._loss_scale = Variable(tf.convert_to_tensor(init_loss_scale, tf.float32), name="loss_scale", dtype=tf.float32, trainable=False)
        self._good_steps = Variable(0, name="good_steps", dtype=tf.int32, trainable=False)
        self._bad_steps = Variable(0, name="bad_steps", dtype=tf.int32, trainable=False)

    def get_loss_scale(self) -> Any:
        """The scale."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Any) -> Any:
        """Counts the step, and changes the scale after enough good or bad ones."""
        return tf.cond(finite_grads, self._after_good_step, self._after_bad_step)

    def _rescale(self, scale: Any) -> Any:
        return tf.group(tf.assign(self._loss_scale, scale), tf.assign(self._good_steps, 0), tf.assign(self._bad_steps, 0))

    def _after_good_step(self) -> Any:
        def grow() -> Any:
            larger = self._loss_scale * self._incr_ratio
            return self._rescale(tf.where(tf.is_finite(larger), larger, tf.identity(self._loss_scale)))

        return tf.cond(self._good_steps + 1 >= self._incr_every_n_steps, grow, lambda: tf.group(tf.assign_add(self._good_steps, 1)))

    def _after_bad_step(self) -> Any:
        return tf.cond(self._bad_steps + 1 >= self._decr_every_n_nan_or_inf,
                       lambda: self._rescale(tf.maximum(1.0, self._loss_scale * self._decr_ratio)),
                       lambda: tf.group(tf.assign_add(self._bad_steps, 1), tf.assign(self._good_steps, 0)))


class LossScaleOptimizer(OptimizerWrapper):
    """``tf.contrib.mixed_precision.LossScaleOptimizer``: scales the loss up and gradients down; steps with gradients that overflowed are left out."""

    def __init__(self, opt: Optimizer, loss_scale_manager: LossScaleManager) -> None:
        super().__init__(opt, False, "LossScaleOptimizer")
        self._loss_scale_manager = loss_scale_manager

    def compute_gradients(self, loss: Any, var_list: Any = None, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
                          colocate_gradients_with_ops: bool = False, grad_loss: Any = None) -> list[tuple[Any, Any]]:
        """Gradients of the loss itself, computed by way of the scaled one."""
        scale = self._loss_scale_manager.get_loss_scale()
        value = loss() if callable(loss) else loss
        pairs = self._opt.compute_gradients(value * tf.cast(scale, value.dtype.base_dtype), var_list=var_list, gate_gradients=gate_gradients,
                                            aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops,
                                            grad_loss=grad_loss)
        inverse = tf.reciprocal(scale)
        return [(None if gradient is None else gradient * tf.cast(inverse, gradient.dtype.base_dtype), variable) for gradient, variable in pairs]

    def get_slot(self, var: Any, name: str) -> Any:
        """A slot of the wrapped optimizer."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of the wrapped optimizer's slots."""
        return self._opt.get_slot_names()

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The wrapped optimizer's step if all gradients are finite; and the update of the scale."""
        grads_and_vars = list(grads_and_vars)
        are_finite = tf.reduce_all([tf.reduce_all(tf.is_finite(gradient)) for gradient, _ in grads_and_vars])
        update = tf.cond(are_finite, lambda: self._opt.apply_gradients(grads_and_vars, global_step, name), tf.no_op)
        return tf.group(update, self._loss_scale_manager.update_loss_scale(are_finite))
