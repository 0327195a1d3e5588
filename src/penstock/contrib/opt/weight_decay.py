"""Weight decay outside of the loss: weights shrink by a share of themselves before each update (Loshchilov and Hutter 2017)."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.train.optimizer import Optimizer
from penstock.train.rules import AdamOptimizer, MomentumOptimizer


class DecoupledWeightDecayExtension:
    """``tf.contrib.opt.DecoupledWeightDecayExtension``: a base class before that of an optimizer, whose variables then decay."""

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._decay_var_list: Any = None
        self._weight_decay = weight_decay
        super().__init__(**kwargs)

    def minimize(self, loss: Any, global_step: Any = None, var_list: Any = None, gate_gradients: int = Optimizer.GATE_OP,
                 aggregation_method: Any = None, colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss: Any = None,
                 decay_var_list: Any = None) -> Any:
        """One step against the gradient; only the variables of ``decay_var_list`` decay, all without it."""
        self._decay_var_list = set(decay_var_list) if decay_var_list else False
        return super().minimize(loss, global_step=global_step, var_list=var_list, gate_gradients=gate_gradients,  # type: ignore[misc]
                                aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops, name=name,
                                grad_loss=grad_loss)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None, decay_var_list: Any = None) -> Any:
        """Applies gradients; only the variables of ``decay_var_list`` decay, all without it."""
        self._decay_var_list = set(decay_var_list) if decay_var_list else False
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)  # type: ignore[misc]

    def _prepare(self) -> None:
        decay = self._weight_decay
        self._weight_decay_tensor = tf.convert_to_tensor(decay() if callable(decay) else decay, name="weight_decay")
        super()._prepare()  # type: ignore[misc]

    def _decays(self, var: Any) -> bool:
        return not self._decay_var_list or var in self._decay_var_list

    def _decay_weights_op(self, var: Any) -> Any:
        return tf.assign_sub(var, self._weight_decay * var, self._use_locking) if self._decays(var) else tf.no_op()  # type: ignore[attr-defined]

    def _decay_weights_sparse_op(self, var: Any, indices: Any) -> Any:
        if not self._decays(var):
            return tf.no_op()
        return tf.scatter_add(var, indices, -self._weight_decay * tf.gather(var, indices), self._use_locking)  # type: ignore[attr-defined]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        with tf.control_dependencies([self._decay_weights_op(var)]):
            return super()._apply_dense(grad, var)  # type: ignore[misc]

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        with tf.control_dependencies([self._decay_weights_op(handle)]):
            return super()._resource_apply_dense(grad, handle)  # type: ignore[misc]

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        with tf.control_dependencies([self._decay_weights_sparse_op(var, grad.indices)]):
            return super()._apply_sparse(grad, var)  # type: ignore[misc]

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        with tf.control_dependencies([self._decay_weights_sparse_op(handle, indices)]):
            return super()._resource_apply_sparse(grad, handle, indices)  # type: ignore[misc]


def extend_with_decoupled_weight_decay(base_optimizer: type) -> type:
    """``tf.contrib.opt.extend_with_decoupled_weight_decay``: a class like ``base_optimizer`` whose first argument is the weight decay."""
    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[valid-type, misc]
        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            super().__init__(weight_decay, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """``tf.contrib.opt.MomentumWOptimizer``: momentum with decoupled weight decay."""

    def __init__(self, weight_decay: Any, learning_rate: Any, momentum: Any, use_locking: bool = False, name: str = "MomentumW",
                 use_nesterov: bool = False) -> None:
        super().__init__(weight_decay, learning_rate=learning_rate, momentum=momentum, use_locking=use_locking, name=name,
                         use_nesterov=use_nesterov)


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """``tf.contrib.opt.AdamWOptimizer``: Adam with decoupled weight decay."""

    def __init__(self, weight_decay: Any, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8,
                 use_locking: bool = False, name: str = "AdamW") -> None:
        super().__init__(weight_decay, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon, use_locking=use_locking, name=name)
