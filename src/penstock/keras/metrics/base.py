"""Metric: a value that adds up over batches. Its state lives in variables, so that a training step updates it by itself.

A subclass makes its variables in the constructor (``add_weight``), changes them in ``update_state``, and computes its value in ``result``. Calling
a metric builds both: the result is computed behind the update.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.graph import default_graph
from penstock.graph.scopes import control_dependencies
from penstock.layers import settings
from penstock.layers.base import Layer
from penstock.layers.sessions import assign_values
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import squeeze
from penstock.ops.constant import identity
from penstock.ops.flow.misc import group
from penstock.variables.modes import VariableAggregation, VariableSynchronization


class Metric(Layer):
    """``tf.keras.metrics.Metric``."""

    _autocast = False
    _call_result: Any = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """The instance's ``update_state`` and ``result`` are wrapped: the one is noted as an update, the other as the value of the metric."""
        metric = super().__new__(cls)
        object.__setattr__(metric, "update_state", _noting_update(metric, metric.update_state))
        object.__setattr__(metric, "result", _noting_result(metric, metric.result))
        return metric

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=settings.floatx() if dtype is None else dtype, **kwargs)
        self.stateful = self.built = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value behind an update by these arguments."""
        with control_dependencies([self.update_state(*args, **kwargs)]):
            return self.result()

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """An operation that adds a batch."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def result(self) -> Any:
        """The value."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def reset_states(self) -> None:
        """Sets all variables to 0."""
        assign_values([(variable, np.zeros(variable.shape.as_list(), variable.dtype.as_numpy_dtype)) for variable in self.variables])

    def add_weight(self, name: str, shape: Any = (), aggregation: Any = VariableAggregation.SUM,  # type: ignore[override]
                   synchronization: Any = VariableSynchronization.ON_READ, initializer: Any = None, dtype: Any = None) -> Any:
        """A variable of this metric; it is in no collection of the graph."""
        return super().add_weight(name, shape, dtype=dtypes.as_dtype(self._dtype if dtype is None else dtype), trainable=False,
                                  initializer=initializer, collections=[], synchronization=synchronization, aggregation=aggregation)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the metric again."""
        return {"name": self.name, "dtype": self.dtype}


def _noting_update(metric: Metric, update_state: Any) -> Any:
    def update(*args: Any, **kwargs: Any) -> Any:
        graph = default_graph()
        before = len(graph.get_operations())
        made = update_state(*args, **kwargs)
        if graph.imperative:  # it has run
            return made
        if made is None:  # a subclass need not return its updates: all that the call added is run
            made = group(*(op for op in graph.get_operations()[before:] if op.type.startswith("Assign")))
        metric.add_update(made)
        return made

    update.__doc__ = update_state.__doc__
    return update


def _noting_result(metric: Metric, result: Any) -> Any:
    def value() -> Any:
        computed = identity(result())
        object.__setattr__(metric, "_call_result", computed)
        return computed

    value.__doc__ = result.__doc__
    return value


def matched(metric: Metric, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Targets and predictions in the metric's type; a last axis of extent 1 that only one of them has is taken away."""
    y_true, y_pred = cast(y_true, metric._dtype), cast(y_pred, metric._dtype)
    return same_rank(y_true, y_pred)


def same_rank(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Both without a last axis of extent 1 that only one of them has. Numbers of classes beside probabilities are left as they are."""
    true_rank, pred_rank = y_true.shape.ndims, y_pred.shape.ndims
    if true_rank is None or pred_rank is None:
        return y_true, y_pred
    if pred_rank - true_rank == 1 and y_pred.shape.as_list()[-1] == 1:
        return y_true, squeeze(y_pred, [-1])
    if true_rank - pred_rank == 1 and y_true.shape.as_list()[-1] in (1, None):
        return squeeze(y_true, [-1]), y_pred
    return y_true, y_pred
