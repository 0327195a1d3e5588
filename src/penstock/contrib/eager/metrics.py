"""``tfe.metrics``: metrics that are objects; calling one adds values, ``result`` gives what they come to. They work in graphs, too."""
from __future__ import annotations

import functools
import re
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.effects import after_effects
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import size
from penstock.ops.flow.misc import group
from penstock.ops.math.argmax import argmax
from penstock.ops.math.compare import equal, greater
from penstock.ops.math.reduce import reduce_sum
from penstock.summary.summary import scalar
from penstock.variables.initializers import Zeros
from penstock.variables.resource_variable import ResourceVariable
from penstock.variables.scope import variable_scope


class Metric:
    """The base of metrics. A subclass makes its variables in ``build`` (``self.x = self.add_variable(...)``), and has ``call`` and ``result``."""

    def __init__(self, name: str | None = None, use_global_variables: bool = False) -> None:
        self._name = name or type(self).__name__
        self._built, self._global = False, use_global_variables
        self._vars: list[Any] = []
        self._first: list[Any] = []  # what gives each variable its first value
        self._scope = self._name.replace(" ", "_")
        if not re.match(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$", self._scope):
            raise ValueError(f"Metric name '{self._name}' is not a valid name.")

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self._name

    @property
    def variables(self) -> list[Any]:
        """Its variables."""
        return self._vars

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Takes values into account; returns them. In a graph they are taken into account when what it returns is run."""
        if not self._built:
            with variable_scope(self._scope, use_resource=True, reuse=False):
                self.build(*args, **kwargs)
                self._built = True
        graph = default_graph()
        with name_scope(self._scope):
            if graph.imperative:
                return self.call(*args, **kwargs)
            first = len(graph._ops)
            return after_effects(graph, first, self.call(*args, **kwargs))

    def value(self) -> Any:
        """The result, in a graph; in imperative style the function that gives it."""
        return self.result if default_graph().imperative else self.result()

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Makes the variables, at the first call."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Takes values into account."""
        raise NotImplementedError("Metrics must define a call() member function")

    def result(self) -> Any:
        """What the values come to."""
        raise NotImplementedError("Metrics must define a result() member function")

    def init_variables(self) -> Any:
        """Starts over: sets all variables to their first values."""
        if default_graph().imperative:
            for variable, first in zip(self._vars, self._first):
                variable.assign(first())
            return None
        return group(*[variable.initializer for variable in self._vars])

    def aggregate(self, metrics: Any) -> None:
        """Adds up the variables of several metrics of this class."""
        for metric in metrics:
            if type(metric) is not type(self):
                raise TypeError("All metrics must be the same type to aggregate.")
        for own, others in zip(self._vars, zip(*[metric._vars for metric in metrics])):
            own.assign_add(sum(others[1:], others[0].read_value()) if len(others) > 1 else others[0])

    def add_variable(self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None) -> Any:
        """A variable of the metric; for ``build`` only."""
        if self._built:
            raise RuntimeError("Can't call add_variable() except in build().")
        collections = [GraphKeys.GLOBAL_VARIABLES if self._global else GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
        initial = initializer() if isinstance(initializer, type) else initializer or Zeros()
        make = functools.partial(initial, [] if shape is None else shape, dtypes.as_dtype(dtype))
        variable = ResourceVariable(make, trainable=False, collections=collections, name=name, dtype=dtype, validate_shape=True)
        self._vars.append(variable)
        self._first.append(make)
        return variable


class Mean(Metric):
    """The mean of all values, with weights."""

    def __init__(self, name: str | None = None, dtype: Any = dtypes.float64, use_global_variables: bool = False) -> None:
        super().__init__(name, use_global_variables)
        self.dtype = dtypes.as_dtype(dtype)

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Makes the sum and the count."""
        self.numer = self.add_variable("numer", [], self.dtype)
        self.denom = self.add_variable("denom", [], self.dtype)

    def call(self, values: Any, weights: Any = None) -> Any:
        """Adds values."""
        values = to_tensor(values)
        if weights is None:
            self.denom.assign_add(cast(size(values), self.dtype))
            self.numer.assign_add(cast(reduce_sum(cast(values, self.dtype)), self.dtype))
            return values
        weights = cast(to_tensor(weights), self.dtype)
        self.denom.assign_add(reduce_sum(weights + 0 * cast(values, self.dtype) if weights.shape.ndims else weights * cast(size(values), self.dtype)))
        self.numer.assign_add(reduce_sum(cast(values, self.dtype) * weights))
        return values, weights

    def result(self, write_summary: bool = True) -> Any:
        """The mean so far."""
        mean = self.numer / self.denom
        if write_summary and not default_graph().imperative:
            scalar(self.name, mean)
        return mean


class Accuracy(Mean):
    """How often predictions equal labels."""

    def __init__(self, name: str | None = None, dtype: Any = dtypes.float64) -> None:
        super().__init__(name, dtype)

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> Any:  # type: ignore[override]
        """Adds labels and predictions of the same shape and type."""
        labels, predictions = to_tensor(labels), to_tensor(predictions)
        _check_shapes(labels, predictions)
        matches = cast(equal(labels, predictions), self.dtype)
        super().call(matches, weights=weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)


class CategoricalAccuracy(Mean):
    """How often the largest prediction is where the label, one-hot, has its 1."""

    def __init__(self, name: str | None = None, dtype: Any = dtypes.float64) -> None:
        super().__init__(name, dtype)

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> Any:  # type: ignore[override]
        """Adds labels and predictions, [batch, classes]."""
        labels, predictions = to_tensor(labels), to_tensor(predictions)
        _check_shapes(labels, predictions)
        super().call(cast(equal(argmax(labels, axis=-1), argmax(predictions, axis=-1)), self.dtype), weights=weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)


class BinaryAccuracy(Mean):
    """How often a prediction above the threshold has the label 1."""

    def __init__(self, threshold: float, name: str | None = None, dtype: Any = dtypes.float64) -> None:
        super().__init__(name, dtype)
        self.threshold = threshold

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> Any:  # type: ignore[override]
        """Adds labels, 0 or 1, and predictions between 0 and 1."""
        labels, predictions = to_tensor(labels), to_tensor(predictions)
        _check_shapes(labels, predictions)
        above = greater(predictions, to_tensor(self.threshold, predictions.dtype))
        super().call(cast(equal(cast(labels, dtypes.bool_), above), self.dtype), weights=weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)


class SparseAccuracy(Mean):
    """How often the largest prediction is at the place that the label names."""

    def __init__(self, name: str | None = None, dtype: Any = dtypes.float64) -> None:
        super().__init__(name, dtype)

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> Any:  # type: ignore[override]
        """Adds labels, [batch], and predictions, [batch, classes]."""
        labels, predictions = to_tensor(labels), to_tensor(predictions)
        _check_shapes(labels, argmax(predictions, axis=-1))
        classes = cast(argmax(predictions, axis=-1), labels.dtype.base_dtype)
        super().call(cast(equal(labels, classes), self.dtype), weights=weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)


def _check_shapes(labels: Any, predictions: Any) -> None:
    if not labels.shape.is_compatible_with(predictions.shape):
        raise InvalidArgumentError(None, None, f"Shapes of labels and predictions are unequal: {labels.shape} and {predictions.shape}")
