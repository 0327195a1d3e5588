"""An optimizer of Keras whose loss is scaled up and whose gradients are scaled down again."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.keras.optimizers.optimizer import OptimizerV2
from penstock.layers.sessions import track_variable
from penstock.ops.array.cast import cast
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.misc import group, no_op
from penstock.train import loss_scale as loss_scales


class LossScaleOptimizer(OptimizerV2):
    """``tf.keras.mixed_precision.experimental.LossScaleOptimizer``: steps whose gradients overflowed are left out, if the scale is dynamic."""

    def __init__(self, opt: Any, loss_scale: Any) -> None:
        if not isinstance(opt, OptimizerV2):
            raise ValueError(f'"opt" must be an instance of OptimizerV2, but got: {opt}')
        for option in ("clipnorm", "clipvalue"):
            if hasattr(opt, option):
                raise ValueError(f"LossScaleOptimizer does not support wrapping optimizers with a {option}. Optimizer {opt} has {option} "
                                 f"{getattr(opt, option)}")
        super().__init__("LossScaleOptimizer")
        scale = loss_scales.get(loss_scale)
        if scale is None:
            raise ValueError("LossScaleOptimizer needs a loss scale, not None.")
        self._optimizer, self._loss_scale = opt, scale
        for weight in scale.weights:
            track_variable(weight)

    loss_scale = property(lambda self: self._loss_scale, doc="The LossScale.")

    def get_scaled_loss(self, loss: Any) -> Any:
        """The loss, or a function that makes it, times the scale."""
        if callable(loss):
            return lambda: self.get_scaled_loss(loss())
        return loss * cast(self._loss_scale(), loss.dtype)

    def get_unscaled_gradients(self, grads: Iterable[Any]) -> list[Any]:
        """Gradients divided by the scale."""
        inverse = 1.0 / self._loss_scale()
        return [None if grad is None else grad * cast(inverse, grad.dtype) for grad in grads]

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> list[tuple[Any, Any]]:
        pairs = self._optimizer._compute_gradients(self.get_scaled_loss(loss), var_list, grad_loss)
        return list(zip(self.get_unscaled_gradients(grad for grad, _ in pairs), [variable for _, variable in pairs]))

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """The gradients of the loss, as if there was no scale."""
        return self.get_unscaled_gradients(self._optimizer.get_gradients(self.get_scaled_loss(loss), params))

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None) -> Any:
        """Applies gradients, unless they overflowed, and changes the scale."""
        pairs = list(grads_and_vars)
        update, applies = self._loss_scale.update([grad for grad, _ in pairs])
        if applies is True:
            return group(self._optimizer.apply_gradients(pairs, name), update)
        self._optimizer._create_variables([variable for _, variable in pairs])  # not inside of the branch
        return group(cond(applies, lambda: self._optimizer.apply_gradients(pairs, name), no_op), update)

    iterations = property(lambda self: self._optimizer.iterations, doc="The number of steps taken.")
    weights = property(lambda self: self._optimizer.weights, doc="The counter of steps and the slots.")
    learning_rate = lr = property(lambda self: self._optimizer.learning_rate,
                                  lambda self, value: setattr(self._optimizer, "learning_rate", value), doc="The learning rate.")

    def __setattr__(self, name: str, value: Any) -> None:
        """The learning rate is the wrapped optimizer's."""
        if name in ("lr", "learning_rate"):
            self._optimizer.learning_rate = value
        else:
            object.__setattr__(self, name, value)

    def variables(self) -> list[Any]:
        """The counter of steps and the slots."""
        return self._optimizer.variables()

    def get_slot_names(self) -> list[str]:
        """The names of all slots."""
        return self._optimizer.get_slot_names()

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """The slot of a variable."""
        return self._optimizer.get_slot(var, slot_name)

    def get_weights(self) -> list[Any]:
        """The values of ``weights``."""
        return self._optimizer.get_weights()

    def set_weights(self, weights: Any) -> None:
        """Replaces the values of ``weights``."""
        self._optimizer.set_weights(weights)

    def get_config(self) -> dict[str, Any]:
        """NotImplementedError, as in TensorFlow 1.15."""
        raise NotImplementedError("get_config() is not yet implemented for LossScaleOptimizers")

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """NotImplementedError, as in TensorFlow 1.15."""
        raise NotImplementedError("from_config() is not yet implemented for LossScaleOptimizers")
