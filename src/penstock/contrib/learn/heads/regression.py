"""Heads that predict numbers: by squared errors, or as the logarithms of Poisson rates."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.learn.heads.base import LossAndAverage, SingleHead, as_column, mean_and_average
from penstock.contrib.learn.keys import PredictionKey, ProblemType
from penstock.ops.nn.nn_ops import log_poisson_loss


class RegressionHead(SingleHead):
    """Predicts what ``link_fn`` makes of the logits."""

    default_scope, problem_type = "regression_head", ProblemType.LINEAR_REGRESSION

    def __init__(self, label_dimension: int, loss_fn: Callable[[Any, Any], Any], link_fn: Callable[[Any], Any], label_name: str | None = None,
                 weight_column_name: str | None = None, enable_centered_bias: bool = False, head_name: str | None = None) -> None:
        super().__init__(label_dimension, label_name, weight_column_name, enable_centered_bias, head_name)
        self._loss_fn, self._link_fn = loss_fn, link_fn

    def predictions(self, logits: Any) -> dict[str, Any]:
        """Scores; a number per example, if there is one logit."""
        if self.logits_dimension == 1:
            logits = tf.squeeze(logits, axis=(1,), name=PredictionKey.SCORES)
        return {PredictionKey.SCORES: self._link_fn(logits)}

    def loss(self, labels: Any, logits: Any, weights: Any) -> LossAndAverage:
        """The mean of what ``loss_fn`` says of each number."""
        labels, logits = as_column(labels), as_column(logits)
        if not logits.shape.is_compatible_with(labels.shape):
            raise ValueError(f"Shapes {logits.shape} and {labels.shape} are incompatible: those of the logits and the labels of a regression head. "
                             "label_dimension says how many numbers an example has.")
        return mean_and_average(self._loss_fn(labels, logits), weights)

    def metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        """None but the loss."""
        return {}


def regression_head(label_name: str | None = None, weight_column_name: str | None = None, label_dimension: int = 1,
                    enable_centered_bias: bool = False, head_name: str | None = None, link_fn: Any = None) -> RegressionHead:
    """``tf.contrib.learn.regression_head``: numbers, by their squared errors."""
    def squared_error(labels: Any, logits: Any) -> Any:
        return tf.squared_difference(logits, tf.cast(labels, tf.float32), name="mean_squared_loss")
    return RegressionHead(label_dimension, squared_error, link_fn or tf.identity, label_name, weight_column_name, enable_centered_bias, head_name)


def poisson_regression_head(label_name: str | None = None, weight_column_name: str | None = None, label_dimension: int = 1,
                            enable_centered_bias: bool = False, head_name: str | None = None) -> RegressionHead:
    """``tf.contrib.learn.poisson_regression_head``: rates of counts; logits are their logarithms."""
    def log_likelihood(labels: Any, logits: Any) -> Any:
        return log_poisson_loss(labels, logits, compute_full_loss=True, name="_poisson_loss")
    return RegressionHead(label_dimension, log_likelihood, tf.exp, label_name, weight_column_name, enable_centered_bias, head_name)


class DistributionRegressionHead(RegressionHead):
    """Predicts the mean of a distribution that is made of the logits; the loss is minus the logarithm of the density of labels."""

    def __init__(self, make_distribution_fn: Callable[[Any], Any], label_dimension: int, logits_dimension: int | None, label_name: str | None,
                 weight_column_name: str | None, enable_centered_bias: bool, head_name: str | None) -> None:
        if not callable(make_distribution_fn):
            raise TypeError("`make_distribution_fn` must be a callable function.")
        super().__init__(logits_dimension or label_dimension, self._minus_log_prob, lambda logits: self.distribution(logits).mean(), label_name,
                         weight_column_name, enable_centered_bias, head_name)
        self._make = make_distribution_fn
        self.distributions: dict[Any, Any] = {}  # by the logits that they are made of

    def distribution(self, logits: Any, name: str | None = None) -> Any:
        """The distribution that is made of logits."""
        with tf.name_scope(name, "distribution", [logits]):
            if logits not in self.distributions:
                self.distributions[logits] = self._make(logits)
            return self.distributions[logits]

    def _minus_log_prob(self, labels: Any, logits: Any) -> Any:
        made = self.distribution(logits)
        return -made.log_prob(tf.reshape(labels, tf.concat([tf.shape(labels)[:-1], made.event_shape_tensor()], axis=0)))

    def loss(self, labels: Any, logits: Any, weights: Any) -> LossAndAverage:
        """The mean over all examples."""
        return mean_and_average(self._loss_fn(as_column(labels), as_column(logits)), weights)


def estimator_head_distribution_regression(make_distribution_fn: Callable[[Any], Any], label_dimension: int = 1, logits_dimension: int | None = None,
                                           label_name: str | None = None, weight_column_name: str | None = None,
                                           enable_centered_bias: bool = False, head_name: str | None = None) -> DistributionRegressionHead:
    """``tf.contrib.distributions.estimator_head_distribution_regression``: numbers, by a distribution that a function makes of the logits."""
    return DistributionRegressionHead(make_distribution_fn, label_dimension, logits_dimension, label_name, weight_column_name, enable_centered_bias,
                                      head_name)
