"""Optimizers by name; optimizers of ``tf.train`` in the dress of Keras."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.graph import dtypes
from penstock.graph.scopes import name_scope
from penstock.keras.optimizers import rules
from penstock.keras.optimizers.optimizer import OptimizerV2
from penstock.layers.objects import deserialize_object, serialize_object
from penstock.layers.sessions import track_variable
from penstock.train.optimizer import Optimizer
from penstock.variables.variable import Variable

_CLASSES = {cls.__name__.lower(): cls for cls in (rules.SGD, rules.Adam, rules.RMSprop, rules.Adagrad, rules.Adadelta, rules.Adamax, rules.Nadam,
                                                  rules.Ftrl)}


class TFOptimizer:
    """An optimizer of ``tf.train``. Its hyperparameters are its own, and it has no configuration, so it cannot be saved."""

    def __init__(self, optimizer: Optimizer, iterations: Any = None) -> None:
        self.optimizer, self.iterations = optimizer, iterations
        if iterations is None:
            with name_scope("TFOptimizer"):
                self.iterations = Variable(0, dtype=dtypes.int64, name="iterations", trainable=False, use_resource=True)
            track_variable(self.iterations)

    def _checkpoint_children(self) -> Iterator[tuple[str, Any]]:
        yield "optimizer", self.optimizer

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """The operations of one step."""
        if not params:
            return [self.iterations.assign_add(1)]
        return [self.apply_gradients(self.optimizer.compute_gradients(loss, params))]

    def apply_gradients(self, grads_and_vars: Any) -> Any:
        """An operation that applies gradients to variables and counts the step."""
        update = self.optimizer.apply_gradients(grads_and_vars, global_step=self.iterations)
        for variable in self.optimizer.variables():
            track_variable(variable)
        return update

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """The gradients of ``loss``; None where there is none."""
        return [grad for grad, _ in self.optimizer.compute_gradients(loss, params)]

    def get_grads(self, loss: Any, params: Any) -> list[tuple[Any, Any]]:
        """(gradient, variable) pairs."""
        return self.optimizer.compute_gradients(loss, params)

    @property
    def weights(self) -> Any:
        """Not known: NotImplementedError."""
        raise NotImplementedError("An optimizer of tf.train does not list its state for Keras. Use one of tf.keras.optimizers.")

    def get_config(self) -> Any:
        """Not known: NotImplementedError."""
        raise NotImplementedError("An optimizer of tf.train has no configuration. Use one of tf.keras.optimizers to save the model with it.")

    @classmethod
    def from_config(cls, config: Any) -> Any:
        """Not known: NotImplementedError."""
        raise NotImplementedError("An optimizer of tf.train has no configuration. Use one of tf.keras.optimizers to save the model with it.")


def serialize(optimizer: Any) -> Any:
    """``tf.keras.optimizers.serialize``."""
    return serialize_object(optimizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """``tf.keras.optimizers.deserialize``; upper and lower case are the same for those of Keras."""
    name = config["class_name"]
    known = name.lower() if name.lower() in _CLASSES else name
    return deserialize_object({**config, "class_name": known}, _CLASSES, custom_objects, "optimizer")


def get(identifier: Any) -> Any:
    """``tf.keras.optimizers.get``: the optimizer that a name or a config means, or that was given."""
    if isinstance(identifier, (OptimizerV2, TFOptimizer)):
        return identifier
    if isinstance(identifier, Optimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    raise ValueError("Could not interpret optimizer identifier:", identifier)
