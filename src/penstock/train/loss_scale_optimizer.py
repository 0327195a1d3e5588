"""Optimizers of ``tf.train`` whose loss is scaled up and whose gradients are scaled down again."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.graph.composite import IndexedSlices
from penstock.ops.array.cast import cast
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.misc import group, no_op
from penstock.ops.math.powers import reciprocal
from penstock.train import loss_scale as loss_scales
from penstock.train.optimizer import Optimizer
from penstock.train.optimizer_wrapper import OptimizerWrapper


class MixedPrecisionLossScaleOptimizer(OptimizerWrapper):
    """``tf.train.experimental.MixedPrecisionLossScaleOptimizer``: steps whose gradients overflowed are left out, if the scale is dynamic."""

    def __init__(self, opt: Optimizer, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        scale = loss_scales.get(loss_scale)
        if scale is None:
            raise ValueError("loss_scale cannot be None")
        super().__init__(opt, opt._use_locking, opt.get_name())
        self._optimizer, self._loss_scale = opt, scale

    def compute_gradients(self, loss: Any, var_list: Any = None, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
                          colocate_gradients_with_ops: bool = False, grad_loss: Any = None) -> list[tuple[Any, Any]]:
        """The gradients of the loss itself, computed by way of the scaled one."""
        pairs = self._opt.compute_gradients(self._scale_loss(loss), var_list=var_list, gate_gradients=gate_gradients,
                                            aggregation_method=aggregation_method, colocate_gradients_with_ops=colocate_gradients_with_ops,
                                            grad_loss=grad_loss)
        inverse = reciprocal(self._loss_scale())
        return [(_times(grad, inverse), variable) for grad, variable in pairs]

    def _scale_loss(self, loss: Any) -> Any:
        if callable(loss):
            return lambda: self._scale_loss(loss())
        return loss * cast(self._loss_scale(), loss.dtype.base_dtype)

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None) -> Any:
        """Applies gradients, unless they overflowed, and changes the scale."""
        pairs = list(grads_and_vars)
        update, applies = self._loss_scale.update([grad.values if isinstance(grad, IndexedSlices) else grad for grad, _ in pairs])
        if applies is True:
            return group(self._opt.apply_gradients(pairs, global_step, name), update)
        return group(cond(applies, lambda: self._opt.apply_gradients(pairs, global_step, name), no_op), update)


def _times(grad: Any, factor: Any) -> Any:
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(_times(grad.values, factor), grad.indices, grad.dense_shape)
    return None if grad is None else grad * cast(factor, grad.dtype.base_dtype)
