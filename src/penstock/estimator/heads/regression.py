"""Heads that predict numbers: with the squared error, or another loss, behind a link function."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.estimator.export_outputs import ExportOutput, PredictOutput, RegressionOutput
from penstock.estimator.heads.base import OVER_BATCH, Head, LossSpec
from penstock.estimator.heads.labels import checked_labels, in_range
from penstock.graph import dtypes
from penstock.layers.metrics.streaming import mean
from penstock.ops.array.cast import cast
from penstock.ops.math.elementwise import squared_difference
from penstock.ops.math.powers import exp
from penstock.ops.math.trigonometry import sigmoid
from penstock.ops.nn.cross_entropy import sigmoid_cross_entropy_with_logits
from penstock.ops.nn.nn_ops import log_poisson_loss
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY


class RegressionHead(Head):
    """``tf.estimator.RegressionHead``: predicts its logits, or what ``inverse_link_fn`` makes of them."""

    allows_weights_per_logit = True

    def __init__(self, label_dimension: int = 1, weight_column: Any = None, loss_reduction: str = OVER_BATCH,
                 loss_fn: Callable[..., Any] | None = None, inverse_link_fn: Callable[[Any], Any] | None = None, name: str | None = None) -> None:
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        self.logits_dimension, self._inverse_link_fn = label_dimension, inverse_link_fn

    @property
    def loss_dimension(self) -> int:
        """A loss for each number."""
        return self.logits_dimension

    def named_predictions(self, logits: Any) -> dict[str, Any]:
        """The numbers; also the logits, if they differ."""
        if self._inverse_link_fn is None:
            return {"predictions": logits}
        return {"predictions": self._inverse_link_fn(logits), "logits": logits}

    def processed_labels(self, labels: Any, logits: Any) -> Any:
        """Labels as float32."""
        return cast(checked_labels(labels, logits, self.logits_dimension), dtypes.float32)

    def example_losses(self, labels: Any, logits: Any) -> Any:
        """The squared error."""
        return squared_difference(labels, logits)

    def eval_metric_ops(self, losses: LossSpec, predictions: dict[str, Any]) -> dict[str, Any]:
        """The means of predictions and labels."""
        return {"prediction/mean": mean(predictions["predictions"], losses.weights, name="prediction/mean"),
                "label/mean": mean(losses.processed_labels, losses.weights, name="label/mean")}

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        """The numbers."""
        value = RegressionOutput(predictions["predictions"])
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: value, "regression": value, "predict": PredictOutput(predictions)}


class PoissonRegressionHead(RegressionHead):
    """``tf.estimator.PoissonRegressionHead``: predicts counts; logits are their logarithms."""

    def __init__(self, label_dimension: int = 1, weight_column: Any = None, loss_reduction: str = OVER_BATCH, compute_full_loss: bool = True,
                 name: str | None = None) -> None:
        super().__init__(label_dimension, weight_column, loss_reduction, inverse_link_fn=exp, name=name)
        self._compute_full_loss = compute_full_loss

    def example_losses(self, labels: Any, logits: Any) -> Any:
        """The negative log likelihood."""
        return log_poisson_loss(labels, logits, compute_full_loss=self._compute_full_loss)


class LogisticRegressionHead(RegressionHead):
    """``tf.estimator.LogisticRegressionHead``: predicts probabilities."""

    def __init__(self, weight_column: Any = None, loss_reduction: str = OVER_BATCH, name: str | None = None) -> None:
        super().__init__(1, weight_column, loss_reduction, inverse_link_fn=sigmoid, name=name)

    def example_losses(self, labels: Any, logits: Any) -> Any:
        """Cross entropy; labels are probabilities, too."""
        return sigmoid_cross_entropy_with_logits(labels=in_range(labels, 2, "Labels must be in range [0, 1]"), logits=logits)
