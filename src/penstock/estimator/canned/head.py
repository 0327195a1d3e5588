"""Heads: what stands on the logits of a model. Predictions, loss, metrics and exports, together as an EstimatorSpec.

A head has no variables. ``spec`` is the same for all; each kind of head says what it predicts, what its loss is, and which metrics it has.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.estimator.canned.labels import checked_logits, example_weights
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import get_collection, name_scope
from penstock.layers.losses import Reduction, compute_weighted_loss
from penstock.layers.metrics.streaming import mean
from penstock.ops.array.fill import ones_like
from penstock.ops.flow.misc import group
from penstock.ops.math.reduce import reduce_sum
from penstock.summary import summary


class Losses(NamedTuple):
    """What a head computes of labels: the loss to train, that of each example, their weights, the labels as it uses them."""

    training_loss: Any
    unreduced_loss: Any
    weights: Any
    labels: Any


class CannedHead:
    """What all heads share."""

    logits_dimension: int

    def __init__(self, weight_column: Any = None, loss_reduction: str = Reduction.SUM) -> None:
        if loss_reduction not in Reduction.all() or loss_reduction == Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}. See `losses.Reduction` for valid options.")
        self._weight_column, self._loss_reduction = weight_column, loss_reduction

    def predictions(self, logits: Any) -> dict[str, Any]:
        """Predictions by name."""
        raise NotImplementedError(f"{type(self).__name__}.predictions")

    def unreduced_loss(self, logits: Any, labels: Any) -> tuple[Any, Any]:
        """(the loss of each example, the labels as the head uses them)."""
        raise NotImplementedError(f"{type(self).__name__}.unreduced_loss")

    def metrics(self, losses: Losses, predictions: dict[str, Any]) -> dict[str, Any]:
        """Its metrics, but for the average loss."""
        raise NotImplementedError(f"{type(self).__name__}.metrics")

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """The signatures of an exported model."""
        raise NotImplementedError(f"{type(self).__name__}.export_outputs")

    def spec(self, features: Any, mode: str, logits: Any, labels: Any, train_op_fn: Callable[[Any], Any]) -> EstimatorSpec:
        """The spec of a model with these logits; ``train_op_fn(loss)`` makes the operation that trains."""
        with name_scope(None, "head"):
            with name_scope(None, "predictions", [logits]):
                logits = checked_logits(logits, self.logits_dimension)
                predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions=predictions, export_outputs=self.export_outputs(predictions))
            losses = self._losses(features, logits, labels)
            if mode == ModeKeys.EVAL:
                with name_scope(None, "metrics"):
                    metrics = {"average_loss": mean(losses.unreduced_loss, losses.weights, name="average_loss"),
                               **self.metrics(losses, predictions)}
                return EstimatorSpec(mode, predictions=predictions, loss=losses.training_loss, eval_metric_ops=metrics)
            updates = get_collection(GraphKeys.UPDATE_OPS)
            train_op = train_op_fn(losses.training_loss)
            train_op = group(train_op, *updates) if updates else train_op
            average = self._average(losses)
        with name_scope(""):
            summary.scalar("loss", losses.training_loss)
            if average is not None:
                summary.scalar("average_loss", average)
        return EstimatorSpec(mode, predictions=predictions, loss=losses.training_loss, train_op=train_op)

    def _losses(self, features: Any, logits: Any, labels: Any) -> Losses:
        unreduced, labels = self.unreduced_loss(logits, labels)
        weights = example_weights(features, self._weight_column, logits)
        return Losses(compute_weighted_loss(unreduced, weights, reduction=self._loss_reduction), unreduced, weights, labels)

    def _average(self, losses: Losses) -> Any:
        """The loss per example, if the one that trains is a sum."""
        if self._loss_reduction != Reduction.SUM:
            return None
        return losses.training_loss / reduce_sum(losses.weights * ones_like(losses.unreduced_loss))
