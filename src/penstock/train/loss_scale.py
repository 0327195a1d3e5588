"""Loss scales, ``tf.train.experimental``: what a loss is multiplied by, so that the gradients of narrow floats do not vanish."""
from __future__ import annotations

import abc
from typing import Any

from penstock.graph import dtypes, nest
from penstock.graph.convert import to_tensor
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.misc import group, no_op
from penstock.ops.math.compare import is_finite
from penstock.ops.math.elementwise import maximum
from penstock.ops.math.reduce import reduce_all
from penstock.variables.variable import Variable


class LossScale(abc.ABC):
    """``tf.train.experimental.LossScale``: calling it gives the scale, a float32 tensor."""

    weights: tuple[Variable, ...] = ()

    @abc.abstractmethod
    def __call__(self) -> Any:
        """The scale of this step."""

    @abc.abstractmethod
    def update(self, grads: Any) -> tuple[Any, Any]:
        """(an operation that changes the scale, whether the gradients are to be applied)."""

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """What it takes to make the scale again."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The scale that ``get_config`` describes."""
        return cls(**config)

    def __repr__(self) -> str:
        arguments = list(self.get_config().items())
        return f"{type(self).__name__}({arguments[0][1] if len(arguments) == 1 else ', '.join(f'{name}={value}' for name, value in arguments)})"


class FixedLossScale(LossScale):
    """``tf.train.experimental.FixedLossScale``: always the same."""

    def __init__(self, loss_scale_value: float) -> None:
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Any:
        """The scale."""
        return to_tensor(self._loss_scale_value, dtypes.float32)

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Nothing changes, and gradients are always applied."""
        return no_op(), True

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the scale again."""
        return {"loss_scale_value": self._loss_scale_value}


class DynamicLossScale(LossScale):
    """``tf.train.experimental.DynamicLossScale``: grows after many steps that went well, and shrinks after one whose gradients overflowed."""

    def __init__(self, initial_loss_scale: float = 2 ** 15, increment_period: int = 2000, multiplier: float = 2.0) -> None:
        self.initial_loss_scale, self.increment_period, self.multiplier = float(initial_loss_scale), int(increment_period), float(multiplier)
        self._scale = Variable(self.initial_loss_scale, name="current_loss_scale", dtype=dtypes.float32, trainable=False, use_resource=True)
        self._good_steps = Variable(0, name="good_steps", dtype=dtypes.int64, trainable=False, use_resource=True)
        self.weights = (self._scale, self._good_steps)

    def __call__(self) -> Any:
        """The scale of this step."""
        return to_tensor(self._scale)

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Gradients that are not finite are not applied."""
        finite = reduce_all([reduce_all(is_finite(grad)) for grad in nest.flatten(grads) if grad is not None])

        def grow() -> Any:
            larger = self() * self.multiplier
            return group(cond(is_finite(larger), lambda: self._scale.assign(larger).op, no_op), self._good_steps.assign(0))

        def after_good_step() -> Any:
            return cond(to_tensor(self._good_steps) + 1 >= self.increment_period, grow, lambda: self._good_steps.assign_add(1).op)

        def after_bad_step() -> Any:
            return group(self._good_steps.assign(0), self._scale.assign(maximum(self() / self.multiplier, 1.0)))

        return cond(finite, after_good_step, after_bad_step), finite

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the scale again."""
        return {"initial_loss_scale": self.initial_loss_scale, "increment_period": self.increment_period, "multiplier": self.multiplier}


def get(identifier: Any) -> LossScale | None:
    """The scale that a number or "dynamic" means, or that was given."""
    if isinstance(identifier, (int, float)):
        return FixedLossScale(identifier)
    if identifier == "dynamic":
        return DynamicLossScale()
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    raise ValueError(f"Could not interpret loss scale identifier: {identifier}")
