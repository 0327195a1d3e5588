"""Target columns of ``tf.contrib.layers``: what the logits of a model mean, its loss and its metrics. The heads of ``tf.contrib.learn`` followed."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.learn.heads import metrics as head_metrics
from penstock.contrib.losses.losses import hinge_loss
from penstock.layers.metrics.means import accuracy
from penstock.layers.metrics.streaming import mean

Metric = Callable[..., Any]  # of predictions and labels


class ProblemType:
    """What a target column is for."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3


def _as_column(target: Any) -> Any:
    return tf.expand_dims(target, axis=1) if len(target.shape) == 1 else target


def _squared_difference(logits: Any, target: Any) -> Any:
    target = _as_column(target)
    logits.shape.assert_is_compatible_with(target.shape)
    return tf.squared_difference(logits, tf.cast(target, tf.float32))


def _log_loss(logits: Any, target: Any) -> Any:
    return tf.sigmoid_cross_entropy_with_logits(labels=tf.cast(_as_column(target), tf.float32), logits=logits)


def _softmax_loss(logits: Any, target: Any) -> Any:
    if not target.dtype.is_integer:
        raise ValueError(f"Target's dtype should be integer Instead got {target.dtype}.")
    return tf.sparse_softmax_cross_entropy_with_logits(labels=tf.squeeze(target, axis=[1]) if len(target.shape) == 2 else target, logits=logits)


def _hinge(logits: Any, target: Any) -> Any:
    with tf.control_dependencies([tf.Assert(tf.less_equal(tf.rank(target), 2), ["target's shape should be either [batch_size, 1] or [batch_size]"])]):
        return hinge_loss(logits, tf.reshape(target, [tf.shape(target)[0], 1]))


class TargetColumn:
    """A target: ``loss_fn(logits, target)`` is the loss of each example."""

    def __init__(self, loss_fn: Callable[[Any, Any], Any], num_label_columns: int, label_name: str | None, weight_column_name: str | None,
                 problem_type: int) -> None:
        self._loss_fn, self.num_label_columns, self.problem_type = loss_fn, num_label_columns, problem_type
        self.label_name, self.weight_column_name = label_name, weight_column_name

    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Any:
        """What the logits say."""
        raise NotImplementedError(f"{type(self).__name__}.logits_to_predictions")

    def get_weight_tensor(self, features: dict[str, Any]) -> Any:
        """The weights of the examples; None if they have none."""
        return tf.reshape(tf.cast(features[self.weight_column_name], tf.float32), [-1]) if self.weight_column_name else None

    def _weighted_losses(self, logits: Any, target: Any, features: dict[str, Any]) -> tuple[Any, Any]:
        losses, weights = self._loss_fn(logits, target), self.get_weight_tensor(features)
        return (losses if weights is None else tf.reshape(losses, [-1]) * weights), weights

    def training_loss(self, logits: Any, target: Any, features: dict[str, Any], name: str = "training_loss") -> Any:
        """The mean of the weighted losses."""
        return tf.reduce_mean(self._weighted_losses(logits, target, features)[0], name=name)

    def loss(self, logits: Any, target: Any, features: dict[str, Any]) -> Any:
        """The weighted mean of the losses."""
        losses, weights = self._weighted_losses(logits, target, features)
        return tf.reduce_mean(losses, name="loss") if weights is None else tf.div(tf.reduce_sum(losses), tf.reduce_sum(weights), name="loss")

    def get_eval_ops(self, features: dict[str, Any], logits: Any, labels: Any, metrics: dict[Any, Metric] | None = None) -> dict[str, Any]:
        """{name: (value, update)} of the loss and the metrics."""
        return {"loss": mean(self.loss(logits, labels, features)), **self._metrics(features, logits, labels, metrics or {})}

    def _metrics(self, features: dict[str, Any], logits: Any, labels: Any, metrics: dict[Any, Metric], proba: bool = False) -> dict[str, Any]:
        if not metrics:
            return {}
        predictions, weights = self.logits_to_predictions(logits, proba=proba), self.get_weight_tensor(features)
        labels = tf.cast(labels, predictions.dtype)
        return {name: metric(predictions, labels, **({} if weights is None else {"weights": weights})) for name, metric in metrics.items()}


class RegressionTarget(TargetColumn):
    """Numbers."""

    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Any:
        """The logits."""
        return tf.squeeze(logits, axis=[1]) if self.num_label_columns == 1 else logits


class ClassTarget(TargetColumn):
    """Classes."""

    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Any:
        """The most likely class, or the probability of each."""
        if self.num_label_columns == 1:
            logits = tf.concat([tf.zeros_like(logits), logits], 1)
        return tf.softmax(logits) if proba else tf.argmax(logits, 1)

    def get_eval_ops(self, features: dict[str, Any], logits: Any, labels: Any, metrics: dict[Any, Metric] | None = None) -> dict[str, Any]:
        """The loss, the usual metrics of two classes, and ``metrics``: of the classes, or, for a name (name, "probabilities"), of those."""
        chosen: dict[str, dict[str, Metric]] = {"classes": {}, "probabilities": {}}
        for name, metric in ({("accuracy", "classes"): _accuracy} if metrics is None else metrics).items():
            metric_name, kind = name if isinstance(name, tuple) and len(name) == 2 else (name, "classes")
            if not isinstance(metric_name, str) or kind not in chosen:
                raise ValueError(f"Ignoring metric {name}. Its name is not in the correct form: a string, or a pair of one and either 'classes' or "
                                 "'probabilities'.")
            chosen[kind][metric_name] = metric
        result = {"loss": mean(self.loss(logits, labels, features))}
        if self.num_label_columns == 1:
            result.update({name: metric(tf.sigmoid(logits), tf.cast(labels, tf.float32))
                           for name, metric in get_default_binary_metrics_for_eval([0.5]).items()})
        for kind, of_kind in chosen.items():
            result.update(self._metrics(features, logits, labels, of_kind, proba=kind == "probabilities"))
        return result


class SvmTarget(ClassTarget):
    """Two classes on two sides of a plane."""

    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Any:
        """The class."""
        if proba:
            raise ValueError("logits to probabilities is not supported for _BinarySvmTargetColumn")
        return super().logits_to_predictions(logits)


def regression_target(label_name: str | None = None, weight_column_name: str | None = None, label_dimension: int = 1) -> RegressionTarget:
    """``tf.contrib.layers.regression_target``: numbers, and squared differences as their loss."""
    return RegressionTarget(_squared_difference, label_dimension, label_name, weight_column_name, ProblemType.LINEAR_REGRESSION)


def multi_class_target(n_classes: int, label_name: str | None = None, weight_column_name: str | None = None) -> ClassTarget:
    """``tf.contrib.layers.multi_class_target``: classes, and cross entropy as their loss."""
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    loss, columns = (_log_loss, 1) if n_classes == 2 else (_softmax_loss, n_classes)
    return ClassTarget(loss, columns, label_name, weight_column_name, ProblemType.CLASSIFICATION)


def binary_svm_target(label_name: str | None = None, weight_column_name: str | None = None) -> SvmTarget:
    """Two classes, and the hinge loss."""
    return SvmTarget(_hinge, 1, label_name, weight_column_name, ProblemType.CLASSIFICATION)


def get_default_binary_metrics_for_eval(thresholds: list[float]) -> dict[str, Metric]:
    """Means of predictions and labels, the area under the ROC curve; accuracy, precision and recall at each threshold."""
    metrics: dict[str, Metric] = {
        "labels/prediction_mean": lambda predictions, labels, weights=None: mean(predictions, weights),
        "labels/actual_target_mean": _label_mean, "accuracy/baseline_target_mean": _label_mean,
        "auc": lambda predictions, labels, weights=None: head_metrics.auc(predictions, labels, weights),
    }
    for threshold in thresholds:
        metrics[f"accuracy/threshold_{threshold:f}_mean"] = _at(threshold, head_metrics.accuracy_at)
        metrics[f"precision/positive_threshold_{threshold:f}_mean"] = _at(threshold, head_metrics.precision_at)
        metrics[f"recall/positive_threshold_{threshold:f}_mean"] = _at(threshold, head_metrics.recall_at)
    return metrics


def _label_mean(predictions: Any, labels: Any, weights: Any = None) -> Any:
    return mean(labels, weights)


def _accuracy(predictions: Any, labels: Any, weights: Any = None) -> Any:
    return accuracy(labels, predictions, weights)


def _at(threshold: float, metric: Callable[..., Any]) -> Metric:
    return lambda predictions, labels, weights=None: metric(predictions, labels, weights, threshold)
