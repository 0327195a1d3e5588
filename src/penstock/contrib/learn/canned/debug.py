"""``DebugClassifier`` and ``DebugRegressor``: they learn from labels alone, as a baseline, and to try the parts around a model."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.layers.optimizers import optimize_loss
from penstock.contrib.learn.canned.kinds import CannedEstimator
from penstock.contrib.learn.heads.classes import multi_class_head
from penstock.contrib.learn.heads.regression import regression_head
from penstock.contrib.learn.keys import PredictionKey
from penstock.contrib.learn.model_fn import ModelFnOps


def debug_model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any], config: Any = None) -> ModelFnOps:
    """Logits of zero for each example: what is learned is the centered bias of the head."""
    features = features if isinstance(features, dict) else {"": features}
    if not features:
        raise ValueError("Features cannot be empty.")
    head = params["head"]
    first, *others = (tf.shape(feature)[0] for feature in features.values())
    with tf.control_dependencies([tf.assert_equal(first, other) for other in others]):
        logits = tf.zeros([first, head.logits_dimension])

    def train_op_fn(loss: Any) -> Any:
        return optimize_loss(loss, global_step=None, learning_rate=0.3, optimizer="Adagrad")
    return head.create_model_fn_ops(features=features, labels=labels, mode=mode, train_op_fn=train_op_fn, logits=logits)


class DebugClassifier(CannedEstimator):
    """Predicts how often each class was seen in training, whatever the features are."""

    def __init__(self, model_dir: str | None = None, n_classes: int = 2, weight_column_name: str | None = None, config: Any = None,
                 feature_engineering_fn: Any = None, label_keys: Any = None) -> None:
        head = multi_class_head(n_classes, weight_column_name=weight_column_name, enable_centered_bias=True, label_keys=label_keys)
        super().__init__(debug_model_fn, model_dir, config, {"head": head}, feature_engineering_fn)

    def predict_classes(self, input_fn: Any = None, batch_size: int | None = None) -> Any:
        """The class that was seen most often, for each example."""
        return self._output(PredictionKey.CLASSES, None, input_fn, batch_size, as_iterable=True)

    def predict_proba(self, input_fn: Any = None, batch_size: int | None = None) -> Any:
        """The share of each class, for each example."""
        return self._output(PredictionKey.PROBABILITIES, None, input_fn, batch_size, as_iterable=True)


class DebugRegressor(CannedEstimator):
    """Predicts the mean of the labels that were seen in training, whatever the features are."""

    def __init__(self, model_dir: str | None = None, label_dimension: int = 1, weight_column_name: str | None = None, config: Any = None,
                 feature_engineering_fn: Any = None) -> None:
        head = regression_head(weight_column_name=weight_column_name, label_dimension=label_dimension, enable_centered_bias=True)
        super().__init__(debug_model_fn, model_dir, config, {"head": head}, feature_engineering_fn)

    def predict_scores(self, input_fn: Any = None, batch_size: int | None = None) -> Any:
        """The mean, for each example."""
        return self._output(PredictionKey.SCORES, None, input_fn, batch_size, as_iterable=True)
