"""``tf.keras.losses``: functions of (y_true, y_pred) that return a loss per sample, and classes that also weigh and reduce them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.keras.backend import crossentropy
from penstock.keras.reduction import Reduction, compute_weighted_loss
from penstock.layers import settings
from penstock.layers.branching import smart_cond
from penstock.layers.objects import deserialize_object, serialize_object
from penstock.layers.sessions import initialized_session
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import shape
from penstock.ops.math.clip import clip_by_value
from penstock.ops.math.compare import equal, logical_or
from penstock.ops.math.elementwise import abs as absolute
from penstock.ops.math.elementwise import maximum, minimum, square, squared_difference
from penstock.ops.math.powers import log
from penstock.ops.math.reduce import reduce_all, reduce_max, reduce_mean, reduce_sum
from penstock.ops.nn.activations import softplus
from penstock.ops.nn.nn_ops import l2_normalize

# --- functions -------------------------------------------------------------------------------------------------------


def _pair(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Targets and predictions as tensors of one type."""
    y_pred = to_tensor(y_pred)
    return cast(y_true, y_pred.dtype), y_pred


def _at_least_epsilon(x: Any) -> Any:
    return clip_by_value(x, settings.epsilon(), float("inf"))


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.losses.mean_squared_error``."""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(squared_difference(y_pred, y_true), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.losses.mean_absolute_error``."""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(absolute(y_pred - y_true), axis=-1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.losses.mean_absolute_percentage_error``."""
    y_true, y_pred = _pair(y_true, y_pred)
    return 100.0 * reduce_mean(absolute((y_true - y_pred) / _at_least_epsilon(absolute(y_true))), axis=-1)


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.losses.mean_squared_logarithmic_error``."""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(squared_difference(log(_at_least_epsilon(y_pred) + 1.0), log(_at_least_epsilon(y_true) + 1.0)), axis=-1)


def _signs(y_true: Any) -> Any:
    """Labels -1 and 1: labels that are all 0 or 1 are converted."""
    binary = reduce_all(logical_or(equal(y_true, 0.0), equal(y_true, 1.0)))
    return smart_cond(binary, lambda: 2.0 * y_true - 1.0, lambda: y_true)


def hinge(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.losses.hinge``."""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(maximum(1.0 - _signs(y_true) * y_pred, 0.0), axis=-1)


def squared_hinge(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.losses.squared_hinge``."""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(square(maximum(1.0 - _signs(y_true) * y_pred, 0.0)), axis=-1)


def categorical_hinge(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.losses.categorical_hinge``."""
    y_true, y_pred = _pair(y_true, y_pred)
    right, wrong = reduce_sum(y_true * y_pred, axis=-1), reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return maximum(0.0, wrong - right + 1.0)


def huber_loss(y_true: Any, y_pred: Any, delta: float = 1.0) -> Any:
    """Half the square of errors up to ``delta``, and linear beyond; elementwise."""
    error = absolute(cast(y_pred, settings.floatx()) - cast(y_true, settings.floatx()))
    quadratic = minimum(error, delta)
    return 0.5 * (quadratic * quadratic) + delta * (error - quadratic)


def logcosh(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.losses.logcosh``: the logarithm of the hyperbolic cosine of the error."""
    y_true, y_pred = _pair(y_true, y_pred)
    error = y_pred - y_true
    return reduce_mean(error + softplus(-2.0 * error) - log(to_tensor(2.0, dtype=error.dtype)), axis=-1)


def categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0) -> Any:
    """``tf.keras.losses.categorical_crossentropy``."""
    y_true, y_pred = _pair(y_true, y_pred)
    smoothed = _smooth(y_true, label_smoothing, lambda: cast(shape(y_true)[1], y_pred.dtype))
    return crossentropy.categorical_crossentropy(smoothed, y_pred, from_logits=from_logits)


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """``tf.keras.losses.sparse_categorical_crossentropy``."""
    return crossentropy.sparse_categorical_crossentropy(y_true, y_pred, from_logits=from_logits, axis=axis)


def binary_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: Any = 0) -> Any:
    """``tf.keras.losses.binary_crossentropy``."""
    y_true, y_pred = _pair(y_true, y_pred)
    smoothed = _smooth(y_true, label_smoothing, lambda: 2.0)
    return reduce_mean(crossentropy.binary_crossentropy(smoothed, y_pred, from_logits=from_logits), axis=-1)


def _smooth(y_true: Any, label_smoothing: Any, classes: Callable[[], Any]) -> Any:
    """Targets that move towards equal probabilities."""
    if not isinstance(label_smoothing, Tensor):
        default_graph().imply(1)  # TensorFlow makes a constant of it
        return y_true * (1.0 - label_smoothing) + label_smoothing / classes() if label_smoothing else y_true
    return smart_cond(label_smoothing, lambda: y_true * (1.0 - label_smoothing) + label_smoothing / classes(), lambda: y_true)


def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.losses.kullback_leibler_divergence``."""
    y_true, y_pred = _pair(y_true, y_pred)
    y_true, y_pred = (clip_by_value(x, settings.epsilon(), 1.0) for x in (y_true, y_pred))
    return reduce_sum(y_true * log(y_true / y_pred), axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Any:
    """``tf.keras.losses.poisson``."""
    y_true, y_pred = _pair(y_true, y_pred)
    return reduce_mean(y_pred - y_true * log(y_pred + settings.epsilon()), axis=-1)


def cosine_proximity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    """``tf.keras.losses.cosine_similarity``: the cosine of the angle between the vectors along ``axis``."""
    return reduce_sum(l2_normalize(y_true, axis=axis) * l2_normalize(y_pred, axis=axis), axis=axis)


# --- classes ---------------------------------------------------------------------------------------------------------


class Loss:
    """``tf.keras.losses.Loss``: define ``call(y_true, y_pred)``, a loss per sample."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        Reduction.validate(reduction)
        self.reduction, self.name = reduction, name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """The weighted and reduced loss."""
        with name_scope("lambda" if self.name == "<lambda>" else self.name or type(self).__name__):
            return compute_weighted_loss(self.call(y_true, y_pred), sample_weight, self.reduction)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """A loss per sample."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        """The loss that ``get_config`` describes."""
        return cls(**config)


class LossFunctionWrapper(Loss):
    """A loss made of a function of (y_true, y_pred) and further arguments."""

    def __init__(self, fn: Callable[..., Any], reduction: str = Reduction.AUTO, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(reduction=reduction, name=name)
        self.fn, self._fn_kwargs = fn, kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The value of the function."""
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        given = {key: initialized_session().run(value) if hasattr(value, "op") else value for key, value in self._fn_kwargs.items()}
        return {**super().get_config(), **given}


class MeanSquaredError(LossFunctionWrapper):
    """``tf.keras.losses.MeanSquaredError``."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "mean_squared_error") -> None:
        super().__init__(mean_squared_error, reduction=reduction, name=name)


class MeanAbsoluteError(LossFunctionWrapper):
    """``tf.keras.losses.MeanAbsoluteError``."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "mean_absolute_error") -> None:
        super().__init__(mean_absolute_error, reduction=reduction, name=name)


class MeanAbsolutePercentageError(LossFunctionWrapper):
    """``tf.keras.losses.MeanAbsolutePercentageError``."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "mean_absolute_percentage_error") -> None:
        super().__init__(mean_absolute_percentage_error, reduction=reduction, name=name)


class MeanSquaredLogarithmicError(LossFunctionWrapper):
    """``tf.keras.losses.MeanSquaredLogarithmicError``."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "mean_squared_logarithmic_error") -> None:
        super().__init__(mean_squared_logarithmic_error, reduction=reduction, name=name)


class Hinge(LossFunctionWrapper):
    """``tf.keras.losses.Hinge``."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "hinge") -> None:
        super().__init__(hinge, reduction=reduction, name=name)


class SquaredHinge(LossFunctionWrapper):
    """``tf.keras.losses.SquaredHinge``."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "squared_hinge") -> None:
        super().__init__(squared_hinge, reduction=reduction, name=name)


class CategoricalHinge(LossFunctionWrapper):
    """``tf.keras.losses.CategoricalHinge``."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "categorical_hinge") -> None:
        super().__init__(categorical_hinge, reduction=reduction, name=name)


class Poisson(LossFunctionWrapper):
    """``tf.keras.losses.Poisson``."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "poisson") -> None:
        super().__init__(poisson, reduction=reduction, name=name)


class LogCosh(LossFunctionWrapper):
    """``tf.keras.losses.LogCosh``."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "logcosh") -> None:
        super().__init__(logcosh, reduction=reduction, name=name)


class KLDivergence(LossFunctionWrapper):
    """``tf.keras.losses.KLDivergence``."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "kullback_leibler_divergence") -> None:
        super().__init__(kullback_leibler_divergence, reduction=reduction, name=name)


class BinaryCrossentropy(LossFunctionWrapper):
    """``tf.keras.losses.BinaryCrossentropy``."""

    def __init__(self, from_logits: bool = False, label_smoothing: Any = 0, reduction: str = Reduction.AUTO,
                 name: str | None = "binary_crossentropy") -> None:
        super().__init__(binary_crossentropy, reduction, name, from_logits=from_logits, label_smoothing=label_smoothing)
        self.from_logits = from_logits


class CategoricalCrossentropy(LossFunctionWrapper):
    """``tf.keras.losses.CategoricalCrossentropy``."""

    def __init__(self, from_logits: bool = False, label_smoothing: Any = 0, reduction: str = Reduction.AUTO,
                 name: str | None = "categorical_crossentropy") -> None:
        super().__init__(categorical_crossentropy, reduction, name, from_logits=from_logits, label_smoothing=label_smoothing)


class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """``tf.keras.losses.SparseCategoricalCrossentropy``."""

    def __init__(self, from_logits: bool = False, reduction: str = Reduction.AUTO, name: str | None = "sparse_categorical_crossentropy") -> None:
        super().__init__(sparse_categorical_crossentropy, reduction, name, from_logits=from_logits)


class Huber(LossFunctionWrapper):
    """``tf.keras.losses.Huber``."""

    def __init__(self, delta: float = 1.0, reduction: str = Reduction.AUTO, name: str | None = "huber_loss") -> None:
        super().__init__(huber_loss, reduction, name, delta=delta)


class CosineSimilarity(LossFunctionWrapper):
    """``tf.keras.losses.CosineSimilarity``."""

    def __init__(self, axis: int = -1, reduction: str = Reduction.AUTO, name: str | None = "cosine_similarity") -> None:
        super().__init__(cosine_proximity, reduction, name, axis=axis)


# --- by name ---------------------------------------------------------------------------------------------------------

_FUNCTIONS = (mean_squared_error, mean_absolute_error, mean_absolute_percentage_error, mean_squared_logarithmic_error, hinge, squared_hinge,
              categorical_hinge, logcosh, categorical_crossentropy, sparse_categorical_crossentropy, binary_crossentropy,
              kullback_leibler_divergence, poisson, cosine_proximity, huber_loss)
_CLASSES = (MeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError, MeanSquaredLogarithmicError, Hinge, SquaredHinge, CategoricalHinge,
            Poisson, LogCosh, KLDivergence, BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy, Huber, CosineSimilarity)
_SHORT = {"mse": mean_squared_error, "mae": mean_absolute_error, "mape": mean_absolute_percentage_error, "msle": mean_squared_logarithmic_error,
          "kld": kullback_leibler_divergence}
OBJECTS: dict[str, Any] = {**{each.__name__: each for each in (*_FUNCTIONS, *_CLASSES)}, **_SHORT,
                           **{name.upper(): function for name, function in _SHORT.items()},
                           "cosine_similarity": cosine_proximity}


def serialize(loss: Any) -> Any:
    """``tf.keras.losses.serialize``."""
    return serialize_object(loss)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """``tf.keras.losses.deserialize``."""
    return deserialize_object(name, OBJECTS, custom_objects, "loss function")


def get(identifier: Any) -> Any:
    """``tf.keras.losses.get``: the loss that a name or a config means, or that was given."""
    if identifier is None or isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError("Could not interpret loss function identifier:", identifier)
