"""Heads that classify: two classes with one logit, or more with a logit each; several labels per example; support vectors."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.learn.heads import metrics
from penstock.contrib.learn.heads.base import LossAndAverage, SingleHead, as_column, mean_and_average
from penstock.contrib.learn.keys import MetricKey, PredictionKey, ProblemType
from penstock.graph.composite import SparseTensorValue
from penstock.layers.losses import Reduction, hinge_loss
from penstock.layers.metrics.means import accuracy
from penstock.ops.sparse.sparse_functions import sparse_to_indicator
from penstock.ops.text.strings import as_string
from penstock.platform.inspection import fn_args
from penstock.train.index_tables import index_table_from_tensor, index_to_string_table_from_tensor

CLASSES, LOGISTIC, LOGITS, PROBABILITIES = (
    PredictionKey.CLASSES, PredictionKey.LOGISTIC, PredictionKey.LOGITS, PredictionKey.PROBABILITIES)


class ClassHead(SingleHead):
    """What heads that classify share. ``loss_fn(labels, logits, weights)``, if it is given, is the loss."""

    def __init__(self, logits_dimension: int, label_name: str | None, weight_column_name: str | None, enable_centered_bias: bool,
                 head_name: str | None, thresholds: Sequence[float] | None, loss_fn: Callable[..., Any] | None = None,
                 metric_class_ids: Sequence[int] | None = None) -> None:
        super().__init__(logits_dimension, label_name, weight_column_name, enable_centered_bias, head_name)
        if loss_fn is not None:
            _check_arguments(loss_fn)
        self._loss_fn, self._thresholds, self._metric_class_ids = loss_fn, tuple(thresholds or (0.5,)), tuple(metric_class_ids or ())
        for class_id in self._metric_class_ids:
            if not 0 <= class_id < logits_dimension:
                raise ValueError(f"Class ID {class_id} not in [0, {logits_dimension}).")

    def losses(self, labels: Any, logits: Any) -> Any:
        """The loss of each example."""
        raise NotImplementedError(f"{type(self).__name__}.losses")

    def loss(self, labels: Any, logits: Any, weights: Any) -> LossAndAverage:
        """The mean of the losses, or what the user's function says."""
        if self._loss_fn is None:
            return mean_and_average(self.losses(labels, logits), weights)
        loss = self._loss_fn(labels, logits) if weights is None else self._loss_fn(labels, logits, weights)
        return loss, loss

    def outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """The probabilities of all classes, and the classes as text."""
        probabilities = predictions[PROBABILITIES]
        return {PROBABILITIES: probabilities, CLASSES: self._class_names(probabilities)}

    def _class_names(self, probabilities: Any) -> Any:
        numbers = tf.range(tf.shape(probabilities)[1])
        return as_string(_per_example(numbers, probabilities), name="classes_tensor")


def _check_arguments(loss_fn: Callable[..., Any]) -> None:
    for name in ("labels", "logits", "weights"):
        if name not in fn_args(loss_fn):
            raise ValueError(f"Argument {name} not found in loss_fn.")


def _per_example(row: Any, probabilities: Any) -> Any:
    """The same row for each example."""
    return tf.tile(tf.expand_dims(row, axis=0), [tf.shape(probabilities)[0], 1])


def _two_logits(logits: Any) -> Any:
    return tf.concat((tf.zeros_like(logits), logits), 1)


class BinaryHead(ClassHead):
    """Two classes, one logit, and cross entropy."""

    default_scope, problem_type = "binary_logistic_head", ProblemType.LOGISTIC_REGRESSION

    def predictions(self, logits: Any) -> dict[str, Any]:
        """Logits, the probability of class 1, and the classes."""
        both = _two_logits(logits)
        return {LOGITS: logits, LOGISTIC: tf.sigmoid(logits, name=LOGISTIC), PROBABILITIES: tf.softmax(both, name=PROBABILITIES),
                CLASSES: tf.argmax(both, 1, name=CLASSES)}

    def losses(self, labels: Any, logits: Any) -> Any:
        """Sigmoid cross entropy."""
        return tf.sigmoid_cross_entropy_with_logits(labels=as_column(tf.cast(labels, tf.float32)), logits=logits, name="log_loss_with_two_classes")

    def metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        """Accuracy, means, areas under curves; accuracy, precision and recall at each threshold."""
        logistic = predictions[LOGISTIC]
        result = {
            MetricKey.ACCURACY: accuracy(labels, predictions[CLASSES], weights),
            MetricKey.PREDICTION_MEAN: metrics.streaming_mean(logistic, weights),
            MetricKey.LABEL_MEAN: metrics.streaming_mean(labels, weights),
            MetricKey.ACCURACY_BASELINE: metrics.streaming_mean(labels, weights),  # TensorFlow's: the share of class 1
            MetricKey.AUC: metrics.auc(logistic, labels, weights),
            MetricKey.AUC_PR: metrics.auc(logistic, labels, weights, curve="PR"),
        }
        for threshold in self._thresholds:
            result[MetricKey.ACCURACY_MEAN % threshold] = metrics.accuracy_at(logistic, labels, weights, threshold)
            result[MetricKey.PRECISION_MEAN % threshold] = metrics.precision_at(logistic, labels, weights, threshold)
            result[MetricKey.RECALL_MEAN % threshold] = metrics.recall_at(logistic, labels, weights, threshold)
        return result


class BinarySvmHead(ClassHead):
    """Two classes, one logit, and the hinge loss."""

    default_scope, problem_type = "binary_svm_head", ProblemType.LOGISTIC_REGRESSION

    def predictions(self, logits: Any) -> dict[str, Any]:
        """Logits and classes."""
        return {LOGITS: logits, CLASSES: tf.argmax(_two_logits(logits), 1, name=CLASSES)}

    def losses(self, labels: Any, logits: Any) -> Any:
        """What is missing to a margin of 1."""
        return hinge_loss(labels=tf.reshape(labels, (-1, 1)), logits=logits, scope="hinge_loss", reduction=Reduction.NONE)

    def metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        """Accuracy."""
        return {MetricKey.ACCURACY: accuracy(labels, predictions[CLASSES], weights)}

    def outputs(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """The predictions: there are no probabilities."""
        return predictions


class MultiClassHead(ClassHead):
    """More than two classes, a logit each, and cross entropy. Classes may have names."""

    default_scope, problem_type = "multi_class_head", ProblemType.CLASSIFICATION

    def __init__(self, n_classes: int, *arguments: Any, label_keys: Sequence[str] | None = None, **options: Any) -> None:
        super().__init__(n_classes, *arguments, **options)
        if label_keys and len(label_keys) != n_classes:
            raise ValueError(f"Length of label_keys must equal n_classes: {len(label_keys)} and {n_classes}.")
        self._label_keys = list(label_keys) if label_keys else None

    def used_labels(self, labels: Any) -> Any:
        """{"labels": as they are given, "label_ids": as numbers}."""
        labels = super().used_labels(labels)
        ids = index_table_from_tensor(self._label_keys, name="label_id_lookup").lookup(labels) if self._label_keys else labels
        return {"labels": labels, "label_ids": ids}

    def loss(self, labels: Any, logits: Any, weights: Any) -> LossAndAverage:
        """That of the numbers of classes."""
        return super().loss(labels["label_ids"], logits, weights)

    def losses(self, labels: Any, logits: Any) -> Any:
        """Softmax cross entropy, in the shape of the labels."""
        labels = tf.convert_to_tensor(labels)
        if not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer Instead got {labels.dtype}.")
        numbers = tf.squeeze(labels, axis=(1,)) if labels.shape.ndims == 2 else labels
        losses = tf.sparse_softmax_cross_entropy_with_logits(labels=numbers, logits=logits, name="softmax_cross_entropy_loss")
        return tf.expand_dims(losses, axis=1) if labels.shape.ndims == 2 else losses

    def predictions(self, logits: Any) -> dict[str, Any]:
        """Logits, probabilities and classes."""
        classes = tf.argmax(logits, 1, name=CLASSES)
        if self._label_keys:
            classes = index_to_string_table_from_tensor(self._label_keys, name="class_string_lookup").lookup(classes)
        return {LOGITS: logits, PROBABILITIES: tf.softmax(logits, name=PROBABILITIES), CLASSES: classes}

    def metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        """Accuracy, and the means of single classes, if they have no names."""
        result = {MetricKey.ACCURACY: accuracy(labels["labels"], predictions[CLASSES], weights)}
        for number in () if self._label_keys else self._metric_class_ids:
            result[MetricKey.CLASS_PREDICTION_MEAN % number] = metrics.share_of_class(predictions[CLASSES], weights, number)
            result[MetricKey.CLASS_LABEL_MEAN % number] = metrics.share_of_class(labels["label_ids"], weights, number)
            result[MetricKey.CLASS_PROBABILITY_MEAN % number] = metrics.streaming_mean(predictions[PROBABILITIES], weights, number)
            result[MetricKey.CLASS_LOGITS_MEAN % number] = metrics.streaming_mean(predictions[LOGITS], weights, number)
        return result

    def _class_names(self, probabilities: Any) -> Any:
        return _per_example(tf.constant(self._label_keys), probabilities) if self._label_keys else super()._class_names(probabilities)


class MultiLabelHead(ClassHead):
    """Any number of classes per example, a logit each, and a cross entropy for each."""

    default_scope, problem_type = "multi_label_head", ProblemType.CLASSIFICATION

    def used_labels(self, labels: Any) -> Any:
        """Zeros and ones for all classes; of a sparse tensor with the numbers of classes, or as they are."""
        if not isinstance(labels, (tf.SparseTensor, SparseTensorValue)):
            return labels
        if self.logits_dimension < 2:
            raise ValueError("Must set num_classes >= 2 when passing labels as a SparseTensor.")
        return tf.cast(sparse_to_indicator(labels, self.logits_dimension), tf.int64)

    def predictions(self, logits: Any) -> dict[str, Any]:
        """Logits, probabilities, and zeros and ones."""
        return {LOGITS: logits, PROBABILITIES: tf.sigmoid(logits, name=PROBABILITIES),
                CLASSES: tf.cast(tf.greater(logits, 0), tf.int64, name=CLASSES)}

    def losses(self, labels: Any, logits: Any) -> Any:
        """Sigmoid cross entropy."""
        return tf.sigmoid_cross_entropy_with_logits(labels=tf.cast(labels, tf.float32), logits=logits, name="sigmoid_cross_entropy_loss")

    def metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        """Accuracy and areas under curves; of single classes their means, too."""
        classes, probabilities, logits = predictions[CLASSES], predictions[PROBABILITIES], predictions[LOGITS]
        result = {MetricKey.ACCURACY: accuracy(labels, classes, weights), MetricKey.AUC: metrics.auc(probabilities, labels, weights),
                  MetricKey.AUC_PR: metrics.auc(probabilities, labels, weights, curve="PR")}
        for number in self._metric_class_ids:
            for key, values in ((MetricKey.CLASS_PREDICTION_MEAN, classes), (MetricKey.CLASS_LABEL_MEAN, labels),
                                (MetricKey.CLASS_PROBABILITY_MEAN, probabilities), (MetricKey.CLASS_LOGITS_MEAN, logits)):
                result[key % number] = metrics.streaming_mean(values, weights, number)
            result[MetricKey.CLASS_AUC % number] = metrics.auc(probabilities, labels, weights, number)
            result[MetricKey.CLASS_AUC_PR % number] = metrics.auc(probabilities, labels, weights, number, curve="PR")
        return result


def multi_class_head(n_classes: int, label_name: str | None = None, weight_column_name: str | None = None, enable_centered_bias: bool = False,
                     head_name: str | None = None, thresholds: Any = None, metric_class_ids: Any = None, loss_fn: Any = None,
                     label_keys: Any = None) -> ClassHead:
    """``tf.contrib.learn.multi_class_head``: one class per example."""
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {n_classes}.")
    if n_classes > 2:
        return MultiClassHead(n_classes, label_name, weight_column_name, enable_centered_bias, head_name, thresholds, loss_fn, metric_class_ids,
                              label_keys=label_keys)
    if metric_class_ids:
        raise ValueError("metric_class_ids invalid for n_classes==2.")
    if label_keys:
        raise ValueError("label_keys is not supported for n_classes=2.")
    return BinaryHead(1, label_name, weight_column_name, enable_centered_bias, head_name, thresholds, loss_fn)


def binary_svm_head(label_name: str | None = None, weight_column_name: str | None = None, enable_centered_bias: bool = False,
                    head_name: str | None = None, thresholds: Any = None) -> ClassHead:
    """``tf.contrib.learn.binary_svm_head``: two classes, by the hinge loss."""
    return BinarySvmHead(1, label_name, weight_column_name, enable_centered_bias, head_name, thresholds)


def multi_label_head(n_classes: int, label_name: str | None = None, weight_column_name: str | None = None, enable_centered_bias: bool = False,
                     head_name: str | None = None, thresholds: Any = None, metric_class_ids: Any = None, loss_fn: Any = None) -> ClassHead:
    """``tf.contrib.learn.multi_label_head``: any number of classes per example."""
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    return MultiLabelHead(n_classes, label_name, weight_column_name, enable_centered_bias, head_name, thresholds, loss_fn, metric_class_ids)
