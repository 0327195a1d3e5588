"""LARS, whose rate fits each layer, and an Adagrad that can leave its slots alone."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from penstock.contrib import prelude as tf
from penstock.train.rules import AdagradOptimizer, RuleOptimizer


class LARSOptimizer(RuleOptimizer):
    """``tf.contrib.opt.LARSOptimizer``: momentum with a rate per layer, by the norms of its weights and gradients (You et al. 2017)."""

    rule = "Momentum"
    slots = {"accum": ("momentum", None, "")}

    def __init__(self, learning_rate: Any, momentum: Any = 0.9, weight_decay: float = 0.0001, eeta: float = 0.001, epsilon: float = 0.0,
                 name: str = "LARSOptimizer", skip_list: Any = None, use_nesterov: bool = False) -> None:
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(False, name, {"lr": (learning_rate, "learning_rate"), "momentum": (momentum, "momentum")}, use_nesterov=use_nesterov)
        self._learning_rate, self._weight_decay, self._eeta, self._epsilon = learning_rate, weight_decay, eeta, epsilon
        self._skip_list = skip_list

    def compute_lr(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """(the rate of this layer, its gradient with weight decay); variables of the skip list have neither."""
        if self._skip_list is not None and any(each in var.name for each in self._skip_list):
            return self._learning_rate, grad
        weights, gradients = tf.norm(var, ord=2), tf.norm(grad, ord=2)
        ratio = self._eeta * weights / (gradients + self._weight_decay * weights + self._epsilon)
        trust = tf.where(tf.greater(weights, 0), tf.where(tf.greater(gradients, 0), ratio, 1.0), 1.0)
        return self._learning_rate * trust, grad + self._weight_decay * var

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> Any:
        rate, grad = self.compute_lr(grad, var)
        return self._rule(var, {"grad": grad * rate, "lr": tf.cast(1.0, var.dtype.base_dtype)}, sparse=False)

    _resource_apply_dense = _apply_dense


class RegAdagradOptimizer(AdagradOptimizer):
    """``tf.contrib.opt.RegAdagradOptimizer``: Adagrad; updates made inside ``avoid_updating_slots()`` do not count for its rates."""

    def __init__(self, learning_rate: Any, initial_accumulator_value: float = 0.1, use_locking: bool = False, name: str = "RegAdagrad") -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)

    @contextlib.contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """Gradients that are applied inside it leave the accumulators as they are."""
        before = self._options.get("update_slots", True)
        self._options["update_slots"] = False
        try:
            yield
        finally:
            self._options["update_slots"] = before
