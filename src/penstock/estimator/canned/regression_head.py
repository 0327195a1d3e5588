"""The head that predicts numbers, with the squared error as its loss."""
from __future__ import annotations

from typing import Any

from penstock.estimator.canned.head import CannedHead, Losses
from penstock.estimator.canned.labels import checked_labels
from penstock.estimator.export_outputs import ExportOutput, PredictOutput, RegressionOutput
from penstock.graph import dtypes
from penstock.layers.losses import Reduction
from penstock.layers.metrics.streaming import mean
from penstock.ops.array.cast import cast
from penstock.ops.math.elementwise import squared_difference
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY


class RegressionHead(CannedHead):
    """Predicts its logits."""

    def __init__(self, weight_column: Any = None, label_dimension: int = 1, loss_reduction: str = Reduction.SUM) -> None:
        super().__init__(weight_column, loss_reduction)
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        self.logits_dimension = label_dimension

    def predictions(self, logits: Any) -> dict[str, Any]:
        """The logits."""
        return {"predictions": logits}

    def unreduced_loss(self, logits: Any, labels: Any) -> tuple[Any, Any]:
        """The squared error."""
        labels = cast(checked_labels(labels, logits, self.logits_dimension), dtypes.float32)
        return squared_difference(labels, logits), labels

    def metrics(self, losses: Losses, predictions: dict[str, Any]) -> dict[str, Any]:
        """The means of predictions and labels."""
        return {"prediction/mean": mean(predictions["predictions"], losses.weights, name="prediction/mean"),
                "label/mean": mean(losses.labels, losses.weights, name="label/mean")}

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        """The numbers."""
        value = RegressionOutput(predictions["predictions"])
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: value, "regression": value, "predict": PredictOutput(predictions)}
