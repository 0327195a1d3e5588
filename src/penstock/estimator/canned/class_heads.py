"""Heads that classify: two classes with one logit, or more with a logit each."""
from __future__ import annotations

from typing import Any

from penstock.estimator.canned.head import CannedHead, Losses
from penstock.estimator.canned.labels import checked_labels, in_range
from penstock.estimator.export_outputs import ClassificationOutput, ExportOutput, PredictOutput, RegressionOutput
from penstock.graph import dtypes
from penstock.graph.scopes import name_scope
from penstock.layers.losses import Reduction
from penstock.layers.metrics.counts import precision, recall
from penstock.layers.metrics.means import accuracy
from penstock.layers.metrics.streaming import mean
from penstock.layers.metrics.thresholds import auc
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import tile
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, shape, squeeze
from penstock.ops.constant import constant
from penstock.ops.math.argmax import argmax
from penstock.ops.math.elementwise import maximum
from penstock.ops.math.trigonometry import sigmoid
from penstock.ops.nn.cross_entropy import sigmoid_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits
from penstock.ops.nn.softmax import softmax
from penstock.ops.text.strings import as_string
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.train.index_tables import index_table_from_tensor, index_to_string_table_from_tensor


class _ClassHead(CannedHead):
    """What both kinds share: classes by number, and by name if there is a vocabulary."""

    def __init__(self, n_classes: int, weight_column: Any = None, label_vocabulary: Any = None, loss_reduction: str = Reduction.SUM) -> None:
        super().__init__(weight_column, loss_reduction)
        if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
            raise ValueError(f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)}")
        if label_vocabulary and len(label_vocabulary) != n_classes:
            raise ValueError(f"Length of label_vocabulary must be n_classes ({n_classes}). Given: {len(label_vocabulary)}")
        self._n_classes, self._vocabulary = n_classes, list(label_vocabulary) if label_vocabulary else None

    def class_predictions(self, logits: Any, class_logits: Any) -> dict[str, Any]:
        """Probabilities and classes."""
        probabilities = softmax(class_logits, name="probabilities")
        ids = expand_dims(argmax(class_logits, axis=-1, name="class_ids"), axis=-1)
        if self._vocabulary:
            classes = index_to_string_table_from_tensor(self._vocabulary, name="class_string_lookup").lookup(ids)
        else:
            classes = as_string(ids, name="str_classes")
        numbers = range_op(self._n_classes)
        return {"probabilities": probabilities, "class_ids": ids, "classes": classes, "all_class_ids": _per_example(numbers, logits),
                "all_classes": _per_example(constant(self._vocabulary) if self._vocabulary else as_string(numbers), logits)}

    def class_numbers(self, labels: Any, logits: Any) -> Any:
        """Labels as numbers of classes."""
        labels = checked_labels(labels, logits, 1)
        if self._vocabulary is None:
            if not (labels.dtype.is_integer or labels.dtype.is_floating) or (self._n_classes > 2 and not labels.dtype.is_integer):
                raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}. With a label_vocabulary, labels are strings.")
            return labels
        if labels.dtype != dtypes.string:
            raise ValueError(f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}")
        return index_table_from_tensor(self._vocabulary, name="class_id_lookup").lookup(labels)

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        """Scores of classes by default."""
        classes = ClassificationOutput(scores=predictions["probabilities"], classes=predictions["all_classes"])
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: classes, "classification": classes, "predict": PredictOutput(predictions)}


def _per_example(classes: Any, logits: Any) -> Any:
    """The same row for each example."""
    return tile(expand_dims(classes, axis=0), [shape(logits)[0], 1])


class BinaryHead(_ClassHead):
    """Two classes, one logit, and cross entropy."""

    logits_dimension = 1

    def __init__(self, weight_column: Any = None, label_vocabulary: Any = None, loss_reduction: str = Reduction.SUM) -> None:
        super().__init__(2, weight_column, label_vocabulary, loss_reduction)

    def predictions(self, logits: Any) -> dict[str, Any]:
        """Logits, the probability of class 1, and the classes."""
        logistic = sigmoid(logits, name="logistic")
        both = concat((zeros_like(logits), logits), axis=-1, name="two_class_logits")
        return {"logits": logits, "logistic": logistic, **self.class_predictions(logits, both)}

    def unreduced_loss(self, logits: Any, labels: Any) -> tuple[Any, Any]:
        """Sigmoid cross entropy."""
        labels = in_range(cast(self.class_numbers(labels, logits), dtypes.float32), 2)
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits), labels

    def metrics(self, losses: Losses, predictions: dict[str, Any]) -> dict[str, Any]:
        """Accuracy, its baseline, precision, recall, areas under curves, means."""
        labels, weights, logistic, ids = losses.labels, losses.weights, predictions["logistic"], predictions["class_ids"]
        label_mean = mean(labels, weights, name="label/mean")
        return {
            "accuracy": accuracy(labels, ids, weights, name="accuracy"),
            "precision": precision(labels, ids, weights, name="precision"),
            "recall": recall(labels, ids, weights, name="recall"),
            "prediction/mean": mean(logistic, weights, name="prediction/mean"),
            "label/mean": label_mean,
            "accuracy_baseline": _baseline(label_mean),
            "auc": auc(labels, logistic, weights, name="auc"),
            "auc_precision_recall": auc(labels, logistic, weights, curve="PR", name="auc_precision_recall"),
        }

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        """Also the probability of class 1, as a regression."""
        return {**super().export_outputs(predictions), "regression": RegressionOutput(predictions["logistic"])}


def _baseline(label_mean: Any) -> Any:
    """The accuracy of always choosing the more frequent class."""
    with name_scope(None, "accuracy_baseline", list(label_mean)):
        value, update = label_mean
        return maximum(value, 1.0 - value, name="value"), maximum(update, 1.0 - update, name="update_op")


class MultiClassHead(_ClassHead):
    """More than two classes, a logit each, and cross entropy."""

    def __init__(self, n_classes: int, weight_column: Any = None, label_vocabulary: Any = None, loss_reduction: str = Reduction.SUM) -> None:
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction)
        self.logits_dimension = n_classes

    def predictions(self, logits: Any) -> dict[str, Any]:
        """Logits and classes."""
        return {"logits": logits, **self.class_predictions(logits, logits)}

    def unreduced_loss(self, logits: Any, labels: Any) -> tuple[Any, Any]:
        """Softmax cross entropy, [batch, 1]."""
        labels = in_range(self.class_numbers(labels, logits), self._n_classes)
        loss = sparse_softmax_cross_entropy_with_logits(labels=squeeze(labels, axis=[-1]), logits=logits)
        return expand_dims(loss, axis=-1), labels

    def metrics(self, losses: Losses, predictions: dict[str, Any]) -> dict[str, Any]:
        """Accuracy."""
        return {"accuracy": accuracy(losses.labels, predictions["class_ids"], losses.weights, name="accuracy")}


def class_head(n_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str) -> _ClassHead:
    """The head for a number of classes."""
    if n_classes == 2:
        return BinaryHead(weight_column, label_vocabulary, loss_reduction)
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)
