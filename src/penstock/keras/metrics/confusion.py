"""Metrics of binary decisions: counts of true and false positives and negatives, at one threshold or at many."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.graph import dtypes
from penstock.graph.graph import default_graph
from penstock.graph.scopes import control_dependencies
from penstock.keras.metrics.base import Metric, same_rank
from penstock.keras.reduction import with_rank_of
from penstock.layers import settings
from penstock.layers.weighting import broadcast_weights
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import one_hot
from penstock.ops.array.shape_ops import reshape
from penstock.ops.array.sorting import top_k as best
from penstock.ops.constant import constant, identity
from penstock.ops.flow.checks import assert_greater_equal, assert_less_equal
from penstock.ops.flow.misc import group
from penstock.ops.math.argmax import argmin
from penstock.ops.math.compare import greater, logical_and, logical_not
from penstock.ops.math.elementwise import abs as absolute
from penstock.ops.math.elementwise import div_no_nan, maximum, minimum, multiply
from penstock.ops.math.powers import log
from penstock.ops.math.reduce import reduce_sum
from penstock.variables.initializers import Zeros

NEG_INF = -1e10
_CONDITIONS = {"true_positives": (True, True), "false_positives": (False, True), "true_negatives": (False, False), "false_negatives": (True, False)}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _thresholds(thresholds: Any, default: float = 0.5) -> list[Any]:
    if thresholds is None:
        return [default]
    invalid = [each for each in _list(thresholds) if each is None or each < 0 or each > 1]
    if invalid:
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {invalid}")
    return _list(thresholds)


def _inner_thresholds(count: int) -> list[float]:
    """Inner points of a division of [0, 1] into equal parts."""
    return [(i + 1) * 1.0 / (count - 1) for i in range(count - 2)]


class Confusion(Metric):
    """A metric whose variables count decisions: one number per threshold. Each has those of these that it needs."""

    true_positives: Any
    true_negatives: Any
    false_positives: Any
    false_negatives: Any

    def _add_counts(self, thresholds: Sequence[float], *conditions: str) -> None:
        self.thresholds, self._conditions = list(thresholds), conditions
        for condition in conditions:
            setattr(self, condition, self.add_weight(condition, shape=(len(self.thresholds),), initializer=Zeros))

    def _counts(self) -> dict[str, Any]:
        """{condition: the variable that counts it}."""
        return {condition: getattr(self, condition) for condition in self._conditions}

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Counts the decisions of a batch."""
        return update_counts(self._counts(), y_true, y_pred, self.thresholds, getattr(self, "top_k", None), getattr(self, "class_id", None),
                             sample_weight)

    def _single(self, value: Any) -> Any:
        return value[0] if len(self.thresholds) == 1 else value


def update_counts(counts: dict[str, Any], y_true: Any, y_pred: Any, thresholds: Sequence[float], top_k: int | None = None,
                  class_id: int | None = None, sample_weight: Any = None) -> Any:
    """An operation that adds, for each threshold, how many samples meet each condition."""
    y_true, y_pred = cast(y_true, dtypes.float32), cast(y_pred, dtypes.float32)
    with control_dependencies([assert_greater_equal(y_pred, 0.0, message="predictions must be >= 0"),
                               assert_less_equal(y_pred, 1.0, message="predictions must be <= 1")]):
        y_pred = identity(y_pred)
    y_true, y_pred = same_rank(y_true, y_pred)
    if top_k is not None:
        y_pred = _only_best(y_pred, top_k)
    if class_id is not None:
        y_true, y_pred = y_true[..., class_id], y_pred[..., class_id]
    positive = greater(reshape(y_pred, [1, -1]), constant(list(thresholds), dtypes.float32, shape=[len(thresholds), 1]))
    label = reshape(cast(y_true, dtypes.bool_), [1, -1])
    wanted = [_CONDITIONS[condition] for condition in counts]
    labels, positives = ({each: value if each else logical_not(value) for each in set(needed)}
                         for value, needed in ((label, [pair[0] for pair in wanted]), (positive, [pair[1] for pair in wanted])))
    weights = None
    default_graph().imply(9)  # TensorFlow tiles labels and predictions
    if sample_weight is not None:
        default_graph().imply(2)
        weights = reshape(broadcast_weights(with_rank_of(cast(sample_weight, dtypes.float32), y_pred), y_pred), [1, -1])

    def number(condition: str) -> Any:
        is_label, is_positive = _CONDITIONS[condition]
        met = cast(logical_and(labels[is_label], positives[is_positive]), dtypes.float32)
        return reduce_sum(met if weights is None else met * weights, 1)

    return group(*(variable.assign_add(number(condition)) for condition, variable in counts.items()))


def _only_best(x: Any, k: int) -> Any:
    """The ``k`` largest numbers of each row; all others are very small."""
    mask = reduce_sum(one_hot(best(x, k, sorted=False)[1], x.shape.as_list()[-1], axis=-1), axis=-2)
    return x * mask + NEG_INF * (1 - mask)


class _Count(Metric):
    """One of the four counts."""

    condition = ""

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds, self.thresholds = thresholds, _thresholds(thresholds)
        self.accumulator = self.add_weight("accumulator", shape=(len(self.thresholds),), initializer=Zeros)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Counts the decisions of a batch."""
        return update_counts({self.condition: self.accumulator}, y_true, y_pred, self.thresholds, sample_weight=sample_weight)

    def result(self) -> Any:
        """The count, or one per threshold."""
        return self.accumulator[0] if len(self.thresholds) == 1 else identity(self.accumulator)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the metric again."""
        return {**super().get_config(), "thresholds": self.init_thresholds}


class TruePositives(_Count):
    """``tf.keras.metrics.TruePositives``."""

    condition = "true_positives"


class FalsePositives(_Count):
    """``tf.keras.metrics.FalsePositives``."""

    condition = "false_positives"


class TrueNegatives(_Count):
    """``tf.keras.metrics.TrueNegatives``."""

    condition = "true_negatives"


class FalseNegatives(_Count):
    """``tf.keras.metrics.FalseNegatives``."""

    condition = "false_negatives"


class _Share(Confusion):
    """True positives as a share of them and of another count."""

    other = ""

    def __init__(self, thresholds: Any = None, top_k: int | None = None, class_id: int | None = None, name: str | None = None,
                 dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        self._add_counts(_thresholds(thresholds, 0.5 if top_k is None else NEG_INF), "true_positives", self.other)

    def result(self) -> Any:
        """The share, or one per threshold."""
        return self._single(div_no_nan(self.true_positives, self.true_positives + getattr(self, self.other)))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the metric again."""
        return {**super().get_config(), "thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}


class Precision(_Share):
    """``tf.keras.metrics.Precision``."""

    other = "false_positives"


class Recall(_Share):
    """``tf.keras.metrics.Recall``."""

    other = "false_negatives"


class _AtValue(Confusion):
    """One rate where another one has a given value."""

    def _prepare(self, value: float, what: str, num_thresholds: int) -> None:
        if not 0 <= value <= 1:
            raise ValueError(f"`{what}` must be in the range [0, 1].")
        if num_thresholds <= 0:
            raise ValueError("`num_thresholds` must be > 0.")
        self.value, self.num_thresholds = value, num_thresholds
        thresholds = [0.5] if num_thresholds == 1 else [0.0, *_inner_thresholds(num_thresholds), 1.0]
        self._add_counts(thresholds, "true_positives", "true_negatives", "false_positives", "false_negatives")

    def _rate_where(self, given: tuple[Any, Any], wanted: tuple[Any, Any]) -> Any:
        rates = div_no_nan(given[0], given[0] + given[1])
        index = cast(argmin(absolute(rates - self.value), axis=0), dtypes.int32)
        return div_no_nan(wanted[0][index], wanted[0][index] + wanted[1][index])


class SensitivityAtSpecificity(_AtValue):
    """``tf.keras.metrics.SensitivityAtSpecificity``."""

    def __init__(self, specificity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.specificity = specificity
        self._prepare(specificity, "specificity", num_thresholds)

    def result(self) -> Any:
        """The share of positives that are found."""
        return self._rate_where((self.true_negatives, self.false_positives), (self.true_positives, self.false_negatives))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the metric again."""
        return {**super().get_config(), "num_thresholds": self.num_thresholds, "specificity": self.specificity}


class SpecificityAtSensitivity(_AtValue):
    """``tf.keras.metrics.SpecificityAtSensitivity``."""

    def __init__(self, sensitivity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.sensitivity = sensitivity
        self._prepare(sensitivity, "sensitivity", num_thresholds)

    def result(self) -> Any:
        """The share of negatives that are recognised."""
        return self._rate_where((self.true_positives, self.false_negatives), (self.true_negatives, self.false_positives))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the metric again."""
        return {**super().get_config(), "num_thresholds": self.num_thresholds, "sensitivity": self.sensitivity}


class AUC(Confusion):
    """``tf.keras.metrics.AUC``: the area under the curve of rates at many thresholds."""

    def __init__(self, num_thresholds: int = 200, curve: str = "ROC", summation_method: str = "interpolation", name: str | None = None,
                 dtype: Any = None, thresholds: Any = None) -> None:
        if thresholds is None and num_thresholds <= 1:
            raise ValueError("`num_thresholds` must be > 1.")
        super().__init__(name=name, dtype=dtype)
        inner = _inner_thresholds(num_thresholds) if thresholds is None else sorted(thresholds)
        self.num_thresholds = len(inner) + 2
        self.curve = _one_of(curve.upper(), ("ROC", "PR"), "AUC curve")
        self.summation_method = _one_of(summation_method.lower(), ("interpolation", "majoring", "minoring"), "AUC summation method")
        self._add_counts([0.0 - settings.epsilon(), *inner, 1.0 + settings.epsilon()], "true_positives", "true_negatives", "false_positives",
                         "false_negatives")

    def result(self) -> Any:
        """The area."""
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self.interpolate_pr_auc()
        recall = div_no_nan(self.true_positives, self.true_positives + self.false_negatives)
        if self.curve == "ROC":
            x, y = div_no_nan(self.false_positives, self.false_positives + self.true_negatives), recall
        else:
            x, y = recall, div_no_nan(self.true_positives, self.true_positives + self.false_positives)
        last = self.num_thresholds - 1
        before, after = y[:last], y[1:]
        heights = {"interpolation": lambda: (before + after) / 2.0, "minoring": lambda: minimum(before, after),
                   "majoring": lambda: maximum(before, after)}[self.summation_method]()
        return reduce_sum(multiply(x[:last] - x[1:], heights), name=self.name)

    def interpolate_pr_auc(self) -> Any:
        """The area under precision over recall, between whose points the number of false positives is linear in that of true ones."""
        last = self.num_thresholds - 1
        positives = self.true_positives + self.false_positives
        true_steps = self.true_positives[:last] - self.true_positives[1:]
        slope = div_no_nan(true_steps, maximum(positives[:last] - positives[1:], 0))
        intercept = self.true_positives[1:] - multiply(slope, positives[1:])
        both = logical_and(positives[:last] > 0, positives[1:] > 0)
        ratio = div_no_nan(positives[:last], maximum(positives[1:], 0))
        ratio = cast(both, dtypes.float32) * ratio + cast(logical_not(both), dtypes.float32)
        return reduce_sum(div_no_nan(slope * (true_steps + intercept * log(ratio)),
                                     maximum(self.true_positives[1:] + self.false_negatives[1:], 0)), name="interpolate_pr_auc")

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the metric again."""
        return {**super().get_config(), "num_thresholds": self.num_thresholds, "curve": self.curve, "summation_method": self.summation_method,
                "thresholds": self.thresholds[1:-1]}


def _one_of(value: str, allowed: Sequence[str], what: str) -> str:
    if value not in allowed:
        raise ValueError(f'Invalid {what} value "{value}".')
    return value
