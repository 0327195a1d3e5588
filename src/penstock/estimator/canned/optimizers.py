"""Optimizers of canned models: given as objects, functions, or by name."""
from __future__ import annotations

from typing import Any

from penstock.train.optimizer import Optimizer
from penstock.train.rules import AdagradOptimizer, AdamOptimizer, FtrlOptimizer, GradientDescentOptimizer, RMSPropOptimizer

_BY_NAME = {"Adagrad": AdagradOptimizer, "Adam": AdamOptimizer, "Ftrl": FtrlOptimizer, "RMSProp": RMSPropOptimizer, "SGD": GradientDescentOptimizer}


def optimizer_instance(optimizer: Any, learning_rate: float | None = None) -> Optimizer:
    """The optimizer that is meant; one that is named gets the ``learning_rate``."""
    if isinstance(optimizer, str):
        if optimizer not in _BY_NAME:
            raise ValueError(f"Unsupported optimizer name: {optimizer}. Supported names are: {tuple(sorted(_BY_NAME))}")
        if not learning_rate:
            raise ValueError("learning_rate must be specified when opt is string.")
        return _BY_NAME[optimizer](learning_rate=learning_rate)
    made = optimizer() if callable(optimizer) else optimizer
    if not isinstance(made, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {made}")
    return made
