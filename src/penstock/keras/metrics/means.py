"""Sums and means over batches, and metrics that are the mean of a function of targets and predictions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.scopes import control_dependencies
from penstock.graph.shape import TensorShape
from penstock.keras.metrics.base import Metric, matched
from penstock.keras.reduction import with_rank_of
from penstock.layers.sessions import initialized_session
from penstock.layers.weighting import broadcast_weights
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.array.shape_ops import size
from penstock.ops.constant import identity
from penstock.ops.math.elementwise import abs as absolute
from penstock.ops.math.elementwise import div_no_nan, multiply, squared_difference
from penstock.ops.math.powers import sqrt
from penstock.ops.math.reduce import reduce_mean, reduce_sum
from penstock.variables.initializers import Zeros

_SUM, _MEAN, _BATCH_MEAN = "sum", "weighted_mean", "sum_over_batch_size"


def _weight(values: Any, sample_weight: Any, dtype: Any, reduce: Callable[..., Any]) -> tuple[Any, Any]:
    """(values times weights, the weights in the shape of the values). Weights of a lower rank weigh what ``reduce`` makes of the inner axes."""
    sample_weight = with_rank_of(cast(sample_weight, dtype), values)
    try:
        sample_weight = broadcast_weights(sample_weight, values)
    except ValueError:
        values = reduce(values, axis=list(range(sample_weight.shape.ndims, values.shape.ndims)))
    return multiply(values, sample_weight), sample_weight


class Reduce(Metric):
    """A sum, or a sum and a count."""

    def __init__(self, reduction: str, name: str | None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.reduction = reduction
        self.total = self.add_weight("total", initializer=Zeros)
        if reduction != _SUM:
            self.count = self.add_weight("count", initializer=Zeros)

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Adds values."""
        values = cast(values, self._dtype)
        if sample_weight is not None:
            values, sample_weight = _weight(values, sample_weight, self._dtype, reduce_sum if self.reduction == _SUM else reduce_mean)
        total = reduce_sum(values)
        with control_dependencies([total]):
            update = self.total.assign_add(total)
        if self.reduction == _SUM:
            return update
        unweighted = sample_weight is None or self.reduction == _BATCH_MEAN
        number = cast(size(values), self._dtype) if unweighted else reduce_sum(sample_weight)
        with control_dependencies([update]):
            return self.count.assign_add(number)

    def result(self) -> Any:
        """The sum or the mean."""
        return identity(self.total) if self.reduction == _SUM else div_no_nan(self.total, self.count)


class Sum(Reduce):
    """``tf.keras.metrics.Sum``."""

    def __init__(self, name: str | None = "sum", dtype: Any = None) -> None:
        super().__init__(_SUM, name, dtype)


class Mean(Reduce):
    """``tf.keras.metrics.Mean``."""

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(_MEAN, name, dtype)


class MeanRelativeError(Mean):
    """``tf.keras.metrics.MeanRelativeError``: the mean of errors, each divided by a number of ``normalizer``."""

    def __init__(self, normalizer: Any, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.normalizer = cast(normalizer, self._dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Adds a batch."""
        y_true, y_pred = matched(self, y_true, y_pred)
        return super().update_state(div_no_nan(absolute(y_true - y_pred), self.normalizer), sample_weight=sample_weight)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the metric again."""
        return {**super().get_config(), "normalizer": initialized_session().run(self.normalizer)}


class MeanMetricWrapper(Mean):
    """The mean of ``fn(y_true, y_pred, ...)``."""

    def __init__(self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Adds a batch."""
        y_true, y_pred = matched(self, y_true, y_pred)
        return super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight=sample_weight)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the metric again."""
        return {**super().get_config(), **self._fn_kwargs}


class RootMeanSquaredError(Mean):
    """``tf.keras.metrics.RootMeanSquaredError``."""

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        """Adds a batch."""
        y_true, y_pred = matched(self, y_true, y_pred)
        return super().update_state(squared_difference(y_pred, y_true), sample_weight=sample_weight)

    def result(self) -> Any:
        """The square root of the mean."""
        return sqrt(div_no_nan(self.total, self.count))


class MeanTensor(Metric):
    """``tf.keras.metrics.MeanTensor``: the mean of tensors, element by element."""

    def __init__(self, name: str | None = "mean_tensor", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._total: Any = None
        self._count: Any = None

    total = property(lambda self: self._total, doc="The sum; None before the first update.")
    count = property(lambda self: self._count, doc="The sum of the weights; None before the first update.")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Adds a tensor, of the same shape every time."""
        values = cast(values, self._dtype)
        if self._total is None:
            self._total, self._count = (self.add_weight(name, values.shape, initializer=Zeros) for name in ("total", "count"))
            initialized_session()
        elif TensorShape(values.shape) != self._total.shape:
            raise ValueError(f"MeanTensor input values must always have the same shape. Expected shape (set during the first call): "
                             f"{self._total.shape}. Got: {values.shape}")
        number = ones_like(values)
        if sample_weight is not None:
            values, sample_weight = _weight(values, sample_weight, self._dtype, reduce_mean)
            number = multiply(number, sample_weight)
        with control_dependencies([self._total.assign_add(values)]):
            return self._count.assign_add(number)

    def result(self) -> Any:
        """The mean."""
        if self._total is None:
            raise ValueError("MeanTensor does not have any result yet. Please call the MeanTensor instance or use `.update_state(value)` before "
                             "retrieving the result.")
        return div_no_nan(self._total, self._count)
