"""``tf.keras.optimizers.schedules``: learning rates as functions of the step. The formulas are those of ``train/decay.py``."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.graph.convert import to_tensor
from penstock.layers.objects import deserialize_object, serialize_object
from penstock.ops.array.cast import cast
from penstock.train import decay


class LearningRateSchedule:
    """``tf.keras.optimizers.schedules.LearningRateSchedule``: define ``__call__(step)`` and ``get_config``."""

    def __call__(self, step: Any) -> Any:
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        raise NotImplementedError("Learning rate schedule must override get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """The schedule that ``get_config`` describes."""
        return cls(**config)


class _Formula(LearningRateSchedule):
    """A schedule by a formula of ``train/decay.py``. Its attributes have the names of the constructor's arguments."""

    formula: Callable[..., Any]

    def _keep(self, **arguments: Any) -> None:
        self.__dict__.update(arguments)

    def __call__(self, step: Any) -> Any:
        rate, *rest = self.get_config().values()
        name = rest.pop()
        return inspect.unwrap(type(self).formula)(rate, step, *rest, name=name)  # a tensor, in imperative style, too

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {name: self.__dict__[name] for name in list(inspect.signature(type(self)).parameters)}


class ExponentialDecay(_Formula):
    """``tf.keras.optimizers.schedules.ExponentialDecay``."""

    formula = staticmethod(decay.exponential_decay)

    def __init__(self, initial_learning_rate: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None) -> None:
        self._keep(initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, decay_rate=decay_rate, staircase=staircase, name=name)


class InverseTimeDecay(_Formula):
    """``tf.keras.optimizers.schedules.InverseTimeDecay``."""

    formula = staticmethod(decay.inverse_time_decay)

    def __init__(self, initial_learning_rate: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False, name: str | None = None) -> None:
        self._keep(initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, decay_rate=decay_rate, staircase=staircase, name=name)


class PolynomialDecay(_Formula):
    """``tf.keras.optimizers.schedules.PolynomialDecay``."""

    formula = staticmethod(decay.polynomial_decay)

    def __init__(self, initial_learning_rate: Any, decay_steps: Any, end_learning_rate: Any = 0.0001, power: Any = 1.0, cycle: bool = False,
                 name: str | None = None) -> None:
        self._keep(initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, end_learning_rate=end_learning_rate, power=power,
                   cycle=cycle, name=name)


class PiecewiseConstantDecay(LearningRateSchedule):
    """``tf.keras.optimizers.schedules.PiecewiseConstantDecay``."""

    def __init__(self, boundaries: Any, values: Any, name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: Any) -> Any:
        step = to_tensor(step)
        boundaries = [cast(limit, step.dtype.base_dtype) for limit in self.boundaries]
        return inspect.unwrap(decay.piecewise_constant)(step, boundaries, self.values, name=self.name)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


class CosineDecay(_Formula):
    """``tf.keras.experimental.CosineDecay``."""

    formula = staticmethod(decay.cosine_decay)

    def __init__(self, initial_learning_rate: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None) -> None:
        self._keep(initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, alpha=alpha, name=name)


class CosineDecayRestarts(_Formula):
    """``tf.keras.experimental.CosineDecayRestarts``."""

    formula = staticmethod(decay.cosine_decay_restarts)

    def __init__(self, initial_learning_rate: Any, first_decay_steps: Any, t_mul: Any = 2.0, m_mul: Any = 1.0, alpha: Any = 0.0,
                 name: str | None = None) -> None:
        self._keep(initial_learning_rate=initial_learning_rate, first_decay_steps=first_decay_steps, t_mul=t_mul, m_mul=m_mul, alpha=alpha,
                   name=name)


class LinearCosineDecay(_Formula):
    """``tf.keras.experimental.LinearCosineDecay``."""

    formula = staticmethod(decay.linear_cosine_decay)

    def __init__(self, initial_learning_rate: Any, decay_steps: Any, num_periods: float = 0.5, alpha: float = 0.0, beta: float = 0.001,
                 name: str | None = None) -> None:
        self._keep(initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, num_periods=num_periods, alpha=alpha, beta=beta, name=name)


class NoisyLinearCosineDecay(_Formula):
    """``tf.keras.experimental.NoisyLinearCosineDecay``."""

    formula = staticmethod(decay.noisy_linear_cosine_decay)

    def __init__(self, initial_learning_rate: Any, decay_steps: Any, initial_variance: float = 1.0, variance_decay: float = 0.55,
                 num_periods: float = 0.5, alpha: float = 0.0, beta: float = 0.001, name: str | None = None) -> None:
        self._keep(initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, initial_variance=initial_variance,
                   variance_decay=variance_decay, num_periods=num_periods, alpha=alpha, beta=beta, name=name)


_OBJECTS = {cls.__name__: cls for cls in (ExponentialDecay, InverseTimeDecay, PolynomialDecay, PiecewiseConstantDecay, CosineDecay,
                                          CosineDecayRestarts, LinearCosineDecay, NoisyLinearCosineDecay)}


def serialize(learning_rate_schedule: Any) -> Any:
    """``tf.keras.optimizers.schedules.serialize``."""
    return serialize_object(learning_rate_schedule)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """``tf.keras.optimizers.schedules.deserialize``."""
    return deserialize_object(config, _OBJECTS, custom_objects, "decay")
