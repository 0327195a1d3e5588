"""Heads that classify: two classes with one logit, more with a logit each, or any number of classes at once."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import UnimplementedError
from penstock.estimator.export_outputs import ClassificationOutput, ExportOutput, PredictOutput, RegressionOutput
from penstock.estimator.heads.base import OVER_BATCH, Head, LossSpec
from penstock.estimator.heads.labels import checked_labels, given_labels, in_range
from penstock.estimator.heads.threshold_metrics import at_thresholds, checked_thresholds
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.scopes import name_scope
from penstock.layers.metrics.counts import precision, recall
from penstock.layers.metrics.means import accuracy
from penstock.layers.metrics.streaming import mean
from penstock.layers.metrics.thresholds import auc
from penstock.layers.weighting import broadcast_weights
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import tile
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, shape, squeeze
from penstock.ops.constant import constant
from penstock.ops.math.argmax import argmax
from penstock.ops.math.elementwise import maximum
from penstock.ops.math.reduce import reduce_mean
from penstock.ops.math.trigonometry import sigmoid
from penstock.ops.nn.cross_entropy import sigmoid_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits
from penstock.ops.nn.softmax import softmax
from penstock.ops.sparse.sparse_functions import sparse_to_indicator
from penstock.ops.text.strings import as_string
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.train.index_tables import index_table_from_tensor, index_to_string_table_from_tensor


class ClassHead(Head):
    """What all kinds share: classes by number, and by name if there is a vocabulary."""

    lists_classes_first = False  # in the graph; the names of tensors in exported signatures follow from it

    def __init__(self, n_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str, loss_fn: Any, name: str | None) -> None:
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
            raise ValueError(f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)}")
        if label_vocabulary and len(label_vocabulary) != n_classes:
            raise ValueError(f"Length of label_vocabulary must be n_classes ({n_classes}). Given: {len(label_vocabulary)}")
        self._n_classes, self._vocabulary = n_classes, list(label_vocabulary) if label_vocabulary else None

    def class_predictions(self, class_logits: Any) -> dict[str, Any]:
        """Probabilities and classes."""
        every = self._every_class(class_logits) if self.lists_classes_first else None
        probabilities = softmax(class_logits, name="probabilities")
        ids = expand_dims(argmax(class_logits, axis=-1, name="class_ids"), axis=-1)
        if self._vocabulary:
            classes = index_to_string_table_from_tensor(self._vocabulary, name="class_string_lookup").lookup(ids)
        else:
            classes = as_string(ids, name="str_classes")
        return {"probabilities": probabilities, "class_ids": ids, "classes": classes, **(every or self._every_class(class_logits))}

    def _every_class(self, class_logits: Any) -> dict[str, Any]:
        """The numbers and the names of all classes, for each example."""
        return {"all_class_ids": _per_example(range_op(self._n_classes), class_logits), "all_classes": self._all_classes(class_logits)}

    def _all_classes(self, scores: Any) -> Any:
        """The names of all classes, for each example."""
        return _per_example(constant(self._vocabulary) if self._vocabulary else as_string(range_op(self._n_classes)), scores)

    def numbers_of(self, labels: Any) -> Any:
        """The numbers of classes that labels name."""
        if labels.dtype != dtypes.string:
            raise ValueError(f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}")
        return index_table_from_tensor(self._vocabulary, name="class_id_lookup").lookup(labels)

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        """Scores of classes by default."""
        scores = predictions["probabilities"]
        classes = ClassificationOutput(scores=scores, classes=self._all_classes(scores))
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: classes, "classification": classes, "predict": PredictOutput(predictions)}


def _per_example(classes: Any, logits: Any) -> Any:
    """The same row for each example."""
    return tile(expand_dims(classes, axis=0), [shape(logits)[0], 1])


class BinaryClassHead(ClassHead):
    """``tf.estimator.BinaryClassHead``: two classes, one logit, and cross entropy."""

    logits_dimension = 1

    def __init__(self, weight_column: Any = None, thresholds: Any = None, label_vocabulary: Any = None, loss_reduction: str = OVER_BATCH,
                 loss_fn: Callable[..., Any] | None = None, name: str | None = None) -> None:
        super().__init__(2, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self._thresholds = checked_thresholds(thresholds)

    def named_predictions(self, logits: Any) -> dict[str, Any]:
        """Logits, the probability of class 1, and the classes."""
        logistic = sigmoid(logits, name="logistic")
        both = concat((zeros_like(logits), logits), axis=-1, name="two_class_logits")
        return {"logits": logits, "logistic": logistic, **self.class_predictions(both)}

    def processed_labels(self, labels: Any, logits: Any) -> Any:
        """0.0 or 1.0, or between them."""
        labels = checked_labels(labels, logits, 1)
        if self._vocabulary is None and labels.dtype == dtypes.string:
            raise UnimplementedError(None, None, "Cast string to float is not supported: labels are numbers of classes. With a label_vocabulary they "
                                                 "are strings.")
        return in_range(cast(labels if self._vocabulary is None else self.numbers_of(labels), dtypes.float32), 2)

    def example_losses(self, labels: Any, logits: Any) -> Any:
        """Sigmoid cross entropy."""
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def eval_metric_ops(self, losses: LossSpec, predictions: dict[str, Any]) -> dict[str, Any]:
        """Accuracy, its baseline, precision, recall, areas under curves, means."""
        labels, weights, logistic, ids = losses.processed_labels, losses.weights, predictions["logistic"], predictions["class_ids"]
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
            **at_thresholds(labels, logistic, weights, self._thresholds),
        }

    def export_outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        """Also the probability of class 1, as a regression."""
        return {**super().export_outputs(predictions), "regression": RegressionOutput(predictions["logistic"])}


def _baseline(label_mean: Any) -> Any:
    """The accuracy of always choosing the more frequent class."""
    with name_scope(None, "accuracy_baseline", list(label_mean)):
        value, update = label_mean
        return maximum(value, 1.0 - value, name="value"), maximum(update, 1.0 - update, name="update_op")


class MultiClassHead(ClassHead):
    """``tf.estimator.MultiClassHead``: more than two classes, a logit each, and cross entropy."""

    def __init__(self, n_classes: int, weight_column: Any = None, label_vocabulary: Any = None, loss_reduction: str = OVER_BATCH,
                 loss_fn: Callable[..., Any] | None = None, name: str | None = None) -> None:
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self.logits_dimension = n_classes

    def named_predictions(self, logits: Any) -> dict[str, Any]:
        """Logits and classes."""
        return {"logits": logits, **self.class_predictions(logits)}

    def processed_labels(self, labels: Any, logits: Any) -> Any:
        """The numbers of classes."""
        labels = checked_labels(labels, logits, 1)
        if self._vocabulary is None and not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}. With a label_vocabulary, labels are strings.")
        return in_range(labels if self._vocabulary is None else self.numbers_of(labels), self._n_classes)

    def example_losses(self, labels: Any, logits: Any) -> Any:
        """Softmax cross entropy, [batch, 1]."""
        loss = sparse_softmax_cross_entropy_with_logits(labels=squeeze(labels, axis=[-1]), logits=logits)
        return expand_dims(loss, axis=-1)

    def eval_metric_ops(self, losses: LossSpec, predictions: dict[str, Any]) -> dict[str, Any]:
        """Accuracy."""
        return {"accuracy": accuracy(losses.processed_labels, predictions["class_ids"], losses.weights, name="accuracy")}


class CannedMultiClassHead(MultiClassHead):
    """The head of canned models and of ``tf.contrib.estimator``, whose operations TensorFlow makes in another order."""

    lists_classes_first = True


class MultiLabelHead(ClassHead):
    """``tf.estimator.MultiLabelHead``: each example may belong to any number of classes; a logit and cross entropy for each.

    Labels are ones and zeros, [batch, n_classes], or a sparse tensor of numbers or names of classes.
    """

    def __init__(self, n_classes: int, weight_column: Any = None, thresholds: Any = None, label_vocabulary: Any = None,
                 loss_reduction: str = OVER_BATCH, loss_fn: Callable[..., Any] | None = None, classes_for_class_based_metrics: Any = None,
                 name: str | None = None) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-label classification. Given: {n_classes}")
        if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
            raise ValueError(f"label_vocabulary must be a list or tuple. Given type: {type(label_vocabulary)}")
        for threshold in thresholds or ():
            if not 0.0 < threshold < 1.0:
                raise ValueError(f"thresholds must be in (0, 1) range. Given: {threshold}")
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self.logits_dimension, self._thresholds = n_classes, tuple(thresholds or ())
        self._watched = [self._number(each) for each in classes_for_class_based_metrics or ()]

    def _number(self, watched: Any) -> int:
        """The number of a class that has metrics of its own."""
        if isinstance(watched, str):
            if self._vocabulary is None:
                raise ValueError("label_vocabulary must be provided when classes_for_class_based_metrics are string.")
            return self._vocabulary.index(watched)
        if not 0 <= watched < self._n_classes:
            raise ValueError(f"All classes_for_class_based_metrics must be in range [0, {self._n_classes - 1}]. Given: {watched}")
        return int(watched)

    def named_predictions(self, logits: Any) -> dict[str, Any]:
        """Logits and the probability of each class."""
        return {"logits": logits, "probabilities": sigmoid(logits, name="probabilities")}

    def processed_labels(self, labels: Any, logits: Any) -> Any:
        """Ones and zeros."""
        labels = given_labels(labels)
        if isinstance(labels, SparseTensor):
            ids = self.numbers_of(labels.values) if labels.dtype == dtypes.string else in_range(
                labels.values, self._n_classes, f"labels must be an integer SparseTensor with values in [0, {self._n_classes})")
            indicators = sparse_to_indicator(SparseTensor(labels.indices, ids, labels.dense_shape), self._n_classes)
            labels = cast(indicators, dtypes.int64)
        else:
            labels = in_range(labels, 2, "labels must be an integer indicator Tensor with values in [0, 1]")
        return checked_labels(labels, logits, self.logits_dimension)

    def example_losses(self, labels: Any, logits: Any) -> Any:
        """The mean of sigmoid cross entropy over the classes."""
        losses = sigmoid_cross_entropy_with_logits(labels=cast(labels, dtypes.float32), logits=logits)
        return reduce_mean(losses, axis=-1, keepdims=True)

    def eval_metric_ops(self, losses: LossSpec, predictions: dict[str, Any]) -> dict[str, Any]:
        """Areas under curves, metrics at thresholds, and of the watched classes."""
        labels, weights, probabilities = losses.processed_labels, losses.weights, predictions["probabilities"]
        metrics = {"auc": auc(labels, probabilities, weights, name="auc"),
                   "auc_precision_recall": auc(labels, probabilities, weights, curve="PR", name="auc_precision_recall"),
                   **at_thresholds(labels, probabilities, weights, self._thresholds)}
        for number in self._watched:
            suffix = f"class{number}" if self._vocabulary is None else self._vocabulary[number]
            each, label = probabilities[..., number:number + 1], labels[..., number:number + 1]
            weight = broadcast_weights(weights, each)
            metrics[f"probability_mean/{suffix}"] = mean(each, weight, name=f"probability_mean/{suffix}")
            metrics[f"auc/{suffix}"] = auc(label, each, weight, name=f"auc/{suffix}")
            key = f"auc_precision_recall/{suffix}"
            metrics[key] = auc(label, each, weight, curve="PR", name=key)
        return metrics


def class_head(n_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str) -> ClassHead:
    """The head for a number of classes."""
    if n_classes == 2:
        return BinaryClassHead(weight_column, None, label_vocabulary, loss_reduction)
    return CannedMultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)
