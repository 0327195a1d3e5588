"""Optimizers around others: averages of weights, clipped weights, gradients that come too late, several tasks."""
from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.platform import logging
from penstock.summary import summary
from penstock.train.global_step import get_global_step
from penstock.train.moving_averages import ExponentialMovingAverage
from penstock.train.optimizer import Optimizer
from penstock.train.optimizer_wrapper import OptimizerWrapper
from penstock.train.saveable import op_list_to_dict
from penstock.train.saver import Saver
from penstock.variables.partitioned import PartitionedVariable


class MovingAverageOptimizer(OptimizerWrapper):
    """``tf.contrib.opt.MovingAverageOptimizer``: keeps moving averages of the weights; ``swapping_saver`` saves them as the weights."""

    def __init__(self, opt: Optimizer, average_decay: Any = 0.9999, num_updates: Any = None, sequential_update: bool = True) -> None:
        super().__init__(opt, False, "MovingAverage")
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped: dict[str, str] | None = None  # {name of a variable: that of its average}, and back
        self._sequential_update = sequential_update

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The wrapped optimizer's step, then (or, without ``sequential_update``, meanwhile) that of the averages."""
        grads_and_vars = list(grads_and_vars)
        train_op = self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        variables = [variable for gradient, variable in grads_and_vars if gradient is not None]
        with tf.control_dependencies([train_op] if self._sequential_update else []):
            averaged = self._ema.apply(variables)
        self._swapped = {}
        for variable in variables:
            own, average = variable.op.name, self._ema.average(variable).op.name
            self._swapped[own], self._swapped[average] = average, own
        return tf.group(train_op, averaged, name="train_with_avg")

    def get_slot(self, var: Any, name: str) -> Any:
        """A slot of the wrapped optimizer."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of the wrapped optimizer's slots."""
        return self._opt.get_slot_names()

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Saver:
        """A Saver that writes each average under the name of its variable, and the other way round."""
        if self._swapped is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        saved = tf.global_variables() if var_list is None else var_list
        saved = saved if isinstance(saved, dict) else op_list_to_dict(saved)
        by_name: dict[str, Any] = {}
        for key, entry in saved.items():
            by_name.update({part.op.name: part for part in entry} if isinstance(entry, (list, PartitionedVariable)) else {key: entry})
        swapped = {key: [self._other(by_name, part.op.name, part) for part in entry] if isinstance(entry, list)
                   else self._other(by_name, key, entry) for key, entry in saved.items()}
        return Saver(swapped, name=name, **kwargs)

    def _other(self, by_name: dict[str, Any], name: str, variable: Any) -> Any:
        other = (self._swapped or {}).get(name)
        if other is None:
            return variable
        if other not in by_name:
            raise ValueError(f"Variable to swap {other} is not part of variables to save. This breaks MovingAverageOptimizer.")
        return by_name[other]


class VariableClippingOptimizer(OptimizerWrapper):
    """``tf.contrib.opt.VariableClippingOptimizer``: after each step, weights are scaled down to a norm of at most ``max_norm``."""

    def __init__(self, opt: Optimizer, vars_to_clip_dims: dict[Any, list[int]], max_norm: Any, use_locking: bool = False,
                 colocate_clip_ops_with_vars: bool = False, name: str = "VariableClipping") -> None:
        super().__init__(opt, use_locking, name)
        self._clip_dims = {var: list(dims) for var, dims in vars_to_clip_dims.items()}
        self._max_norm, self._colocate = max_norm, colocate_clip_ops_with_vars

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The wrapped optimizer's step, then the clipping of the variables that have moved."""
        grads_and_vars = list(grads_and_vars)
        with tf.name_scope(name, self._name) as scope:
            update = self._opt.apply_gradients(grads_and_vars, global_step=global_step)
            clips = []
            with tf.control_dependencies([update]):
                for grad, var in grads_and_vars:
                    if grad is not None and var in self._clip_dims:
                        with tf.name_scope("clip_" + var.op.name):
                            clips.append(self._clip_dense(var) if isinstance(grad, tf.Tensor) else self._clip_sparse(grad, var))
            return tf.group(update, *clips, name=scope)

    def _place(self, var: Any) -> Any:
        return tf.colocate_with(var.op) if self._colocate else contextlib.nullcontext()

    def _clip_dense(self, var: Any) -> Any:
        with tf.colocate_with(var.op):  # so that it is read after the step, wherever the rest is computed
            value = var.read_value()
        with self._place(var):
            delta = value - tf.clip_by_norm(value, self._max_norm, self._clip_dims[var])
        with tf.colocate_with(var.op):
            return var.assign_sub(delta, use_locking=self._use_locking)

    def _clip_sparse(self, grad: tf.IndexedSlices, var: Any) -> Any:
        dims = self._clip_dims[var]
        if 0 in dims:
            logging.warning("Clipping norm across dims %s for %s is inefficient when including sparse dimension 0.", dims, var.op.name)
            return self._clip_dense(var)
        with tf.colocate_with(var.op):
            rows = tf.gather(var, grad.indices)
        with self._place(var):
            delta = rows - tf.clip_by_norm(rows, self._max_norm, dims)
        with tf.colocate_with(var.op):
            return tf.scatter_sub(var, grad.indices, delta, use_locking=self._use_locking)


class DropStaleGradientOptimizer(OptimizerWrapper):
    """``tf.contrib.opt.DropStaleGradientOptimizer``: drops gradients if others have made more than ``staleness`` steps meanwhile."""

    def __init__(self, opt: Optimizer, staleness: int, use_locking: bool = False, name: str = "DropStaleGradient") -> None:
        super().__init__(opt, use_locking, name)
        self._staleness = staleness

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Gradients; the number of the step at which they were begun is kept."""
        with tf.colocate_with(loss.op):
            self._local_step = get_global_step() + 0
        with tf.control_dependencies([self._local_step]):
            return self._opt.compute_gradients(tf.identity(loss), *args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Applies gradients that are fresh enough, counts the others."""
        grads_and_vars = list(grads_and_vars)
        with tf.colocate_with(global_step.op):
            counter = tf.get_variable("stale_counter", [], initializer=tf.zeros_initializer(), trainable=False)

        def accept() -> tf.Tensor:
            with tf.control_dependencies([self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)]):
                return tf.identity(0.0)

        computed = [grad if isinstance(grad, tf.Tensor) else grad.op for grad, _ in grads_and_vars if grad is not None]
        with tf.control_dependencies(computed), tf.colocate_with(global_step.op):
            staleness = tf.reshape(global_step - self._local_step, shape=())
        dropped = tf.cond(tf.less_equal(staleness, self._staleness), accept, lambda: tf.identity(1.0))
        update = counter.assign_add(dropped)
        summary.scalar("Gradient staleness percentage", counter / tf.cast(global_step + 1, tf.float32))
        return update


# --- several tasks ---------------------------------------------------------------------------------------------------


def _is_zero(grad: Any) -> tf.Tensor:
    return tf.equal(tf.count_nonzero(grad.values if isinstance(grad, tf.IndexedSlices) else grad), 0)


def _unless_zero(apply: Callable[..., Any]) -> Callable[..., Any]:
    """``apply``, which does nothing if all of a gradient is 0."""
    def wrapper(self: Any, grad: Any, *args: Any, **kwargs: Any) -> Any:
        def update() -> Any:
            with tf.control_dependencies([apply(grad, *args, **kwargs)]):
                return tf.no_op()

        return tf.cond(_is_zero(grad), tf.no_op, update)

    return wrapper


class MultitaskOptimizerWrapper:
    """``tf.contrib.opt.MultitaskOptimizerWrapper``: variables whose gradient is all 0, being of another task, keep their slots as they are."""

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError("Supplied optimizer must be an instance of tf.train.Optimizer")
        self._opt = opt
        for name in ("_apply_dense", "_resource_apply_dense", "_apply_sparse", "_resource_apply_sparse"):
            setattr(opt, name, types.MethodType(_unless_zero(getattr(opt, name)), opt))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)


def clip_gradients_by_global_norm(gradients_variables: Any, clip_norm: Any = 20.0) -> tuple[list[tuple[Any, Any]], tf.Tensor]:
    """``tf.contrib.opt.clip_gradients_by_global_norm``: clipped by the norm of those gradients that are not all 0; and this norm."""
    gradients, variables = zip(*gradients_variables)

    def present(grad: Any) -> Any:
        if grad is None:
            return None
        return tf.cond(_is_zero(grad), lambda: tf.zeros([], dtype=grad.dtype), lambda: grad)

    norm = tf.global_norm([present(grad) for grad in gradients])
    clipped, _ = tf.clip_by_global_norm(list(gradients), clip_norm, use_norm=norm)
    return list(zip(clipped, variables)), norm
