"""``tf.estimator.BoostedTreesClassifier``, ``BoostedTreesRegressor`` and ``BoostedTreesEstimator``, and what they say of features."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock.checkpoint.contents import load_checkpoint
from penstock.data.dataset import Dataset
from penstock.estimator.estimator import Estimator
from penstock.estimator.heads.base import Head
from penstock.estimator.heads.classes import BinaryClassHead, MultiClassHead, class_head
from penstock.estimator.heads.labels import checked_labels
from penstock.estimator.heads.regression import RegressionHead
from penstock.estimator.trees.buckets import feature_names
from penstock.estimator.trees.growing import TreeParams
from penstock.estimator.trees.model import DEBUG_KEY, ClosedForm, explaining_model_fn, tree_model_fn
from penstock.graph import dtypes
from penstock.layers.losses import Reduction
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import size
from penstock.ops.constant import identity
from penstock.ops.math.powers import exp
from penstock.state.tree_protos import DebugOutput, TreeEnsembleProto

_ONE = object()  # the number of classes or labels that TensorFlow's signatures leave open: 2 or 1


class BoostedTrees(Estimator):
    """What all of them share: a model function of trees, and what the trees tell of features."""

    def __init__(self, head: Head, feature_columns: Any, model_dir: Any, config: Any, params: TreeParams, n_batches_per_layer: Any = 1,
                 weight_column: Any = None, closed_form: ClosedForm | None = None, in_memory: bool = False) -> None:
        columns = sorted(feature_columns, key=lambda column: column.name)
        super().__init__(tree_model_fn(head, columns, params, n_batches_per_layer, closed_form, weight_column, in_memory), model_dir, config)
        self._columns, self._head, self._tree_params = columns, head, params
        self._feature_names = feature_names(columns)

    def experimental_feature_importances(self, normalize: bool = False) -> OrderedDict[str, Any]:
        """How much the splits of each column gain in all trees, the most important one first; as shares of 1 if ``normalize``."""
        serialized = load_checkpoint(self.model_dir).get_tensor("boosted_trees:0_serialized")
        ensemble = TreeEnsembleProto.FromString(serialized.item() if isinstance(serialized, np.ndarray) else serialized)
        if not serialized:
            raise ValueError("Found empty serialized string for TreeEnsemble. You should only call this method after training.")
        gains = np.zeros(len(self._feature_names))
        for tree, weight in zip(ensemble.trees, ensemble.tree_weights, strict=True):
            for node in tree.nodes:
                if node.HasField("bucketized_split"):
                    gains[node.bucketized_split.feature_id] += weight * node.metadata.gain
        if normalize:
            if not np.all(gains >= 0):
                raise AssertionError("feature_importances must be non-negative.")
            if not gains.sum() > 0:
                raise AssertionError("Trees are all empty or contain only a root node.")
            gains /= gains.sum()
        return _by_column(self._feature_names, gains)

    def experimental_predict_with_explanations(self, input_fn: Any, predict_keys: Any = None, hooks: Any = None,
                                               checkpoint_path: Any = None) -> Iterator[dict[str, Any]]:
        """Predictions with ``bias``, what would be predicted without features, and ``dfc``, what each column adds to that."""
        if not self._tree_params.center_bias:
            raise ValueError("center_bias must be enabled during estimator instantiation when using experimental_predict_with_explanations.")
        is_classifier = isinstance(self._head, (BinaryClassHead, MultiClassHead))
        if not is_classifier and getattr(self._head, "_inverse_link_fn", None) not in (None, identity):
            raise ValueError("For now only identity inverse_link_fn in regression_head is supported for experimental_predict_with_explanations.")
        model = Estimator(explaining_model_fn(self._head, self._columns, self._tree_params.quantile_sketch_epsilon), self.model_dir, self.config)
        keys = None if predict_keys is None else [*dict.fromkeys([*predict_keys, DEBUG_KEY])]
        for prediction in model.predict(input_fn, predict_keys=keys, hooks=hooks, checkpoint_path=checkpoint_path):
            way = DebugOutput.FromString(prediction.pop(DEBUG_KEY))
            values = np.array(way.logits_path)
            values = 1 / (1 + np.exp(-values)) if is_classifier else values
            changes = np.bincount(np.array(way.feature_ids, np.int64), weights=np.diff(values), minlength=len(self._feature_names))
            yield {**prediction, "bias": values[0], "dfc": _by_column(self._feature_names, changes)}


def _by_column(names: Sequence[str], values: np.ndarray) -> OrderedDict[str, Any]:
    """The sums of the values of each column's features, the largest first."""
    sums: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        sums[name] = sums.get(name, 0) + value
    return OrderedDict(sorted(sums.items(), key=lambda item: abs(item[1]), reverse=True))


class BoostedTreesEstimator(BoostedTrees):
    """``tf.estimator.BoostedTreesEstimator``: trees under a head of one's choice."""

    def __init__(self, feature_columns: Any, n_batches_per_layer: Any, head: Head, model_dir: Any = None, weight_column: Any = None,
                 n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1, l1_regularization: float = 0.0, l2_regularization: float = 0.0,
                 tree_complexity: float = 0.0, min_node_weight: float = 0.0, config: Any = None, center_bias: bool = False,
                 pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01) -> None:
        params = TreeParams(n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight, center_bias,
                            pruning_mode, quantile_sketch_epsilon)
        super().__init__(head, feature_columns, model_dir, config, params, n_batches_per_layer)


class BoostedTreesClassifier(BoostedTrees):
    """``tf.estimator.BoostedTreesClassifier``: two classes by trees."""

    def __init__(self, feature_columns: Any, n_batches_per_layer: Any, model_dir: Any = None, n_classes: Any = _ONE, weight_column: Any = None,
                 label_vocabulary: Any = None, n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1, l1_regularization: float = 0.0,
                 l2_regularization: float = 0.0, tree_complexity: float = 0.0, min_node_weight: float = 0.0, config: Any = None,
                 center_bias: bool = False, pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01, train_in_memory: bool = False) -> None:
        if n_classes is not _ONE and n_classes > 2 and pruning_mode is not None:
            raise ValueError("For now pruning is not supported with multi class.")
        head, closed_form = _classifier_head(n_classes, weight_column, label_vocabulary)
        params = TreeParams(n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight, center_bias,
                            pruning_mode, quantile_sketch_epsilon)
        super().__init__(head, feature_columns, model_dir, config, params, n_batches_per_layer, weight_column, closed_form, train_in_memory)


class BoostedTreesRegressor(BoostedTrees):
    """``tf.estimator.BoostedTreesRegressor``: numbers by trees."""

    def __init__(self, feature_columns: Any, n_batches_per_layer: Any, model_dir: Any = None, label_dimension: Any = _ONE, weight_column: Any = None,
                 n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1, l1_regularization: float = 0.0, l2_regularization: float = 0.0,
                 tree_complexity: float = 0.0, min_node_weight: float = 0.0, config: Any = None, center_bias: bool = False,
                 pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01, train_in_memory: bool = False) -> None:
        if label_dimension is not _ONE and label_dimension > 1 and pruning_mode is not None:
            raise ValueError("For now pruning is not supported with multi-dimensionregression.")
        params = TreeParams(n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight, center_bias,
                            pruning_mode, quantile_sketch_epsilon)
        super().__init__(_regressor_head(label_dimension, weight_column), feature_columns, model_dir, config, params, n_batches_per_layer,
                         weight_column, in_memory=train_in_memory)


def boosted_trees_classifier_train_in_memory(
        train_input_fn: Any, feature_columns: Any, model_dir: Any = None, n_classes: Any = _ONE, weight_column: Any = None,
        label_vocabulary: Any = None, n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1, l1_regularization: float = 0.0,
        l2_regularization: float = 0.0, tree_complexity: float = 0.0, min_node_weight: float = 0.0, config: Any = None, train_hooks: Any = None,
        center_bias: bool = False, pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01) -> BoostedTrees:
    """``tf.contrib.estimator.boosted_trees_classifier_train_in_memory``: a trained classifier; the input function gives all data as one batch."""
    head, closed_form = _classifier_head(n_classes, weight_column, label_vocabulary)
    params = TreeParams(n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight, center_bias,
                        pruning_mode, quantile_sketch_epsilon)
    model = BoostedTrees(head, feature_columns, model_dir, config, params, closed_form=closed_form, in_memory=True)
    return model.train(_repeat(train_input_fn), hooks=train_hooks)  # type: ignore[return-value]


def boosted_trees_regressor_train_in_memory(
        train_input_fn: Any, feature_columns: Any, model_dir: Any = None, label_dimension: Any = _ONE, weight_column: Any = None, n_trees: int = 100,
        max_depth: int = 6, learning_rate: float = 0.1, l1_regularization: float = 0.0, l2_regularization: float = 0.0, tree_complexity: float = 0.0,
        min_node_weight: float = 0.0, config: Any = None, train_hooks: Any = None, center_bias: bool = False, pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01) -> BoostedTrees:
    """``tf.contrib.estimator.boosted_trees_regressor_train_in_memory``: a trained regressor; the input function gives all data as one batch."""
    params = TreeParams(n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight, center_bias,
                        pruning_mode, quantile_sketch_epsilon)
    model = BoostedTrees(_regressor_head(label_dimension, weight_column), feature_columns, model_dir, config, params, in_memory=True)
    return model.train(_repeat(train_input_fn), hooks=train_hooks)  # type: ignore[return-value]


def _repeat(input_fn: Any) -> Any:
    def repeated() -> Any:
        result = input_fn()
        return result.repeat() if isinstance(result, Dataset) else result
    return repeated


def _regressor_head(label_dimension: Any, weight_column: Any) -> Head:
    dimension = 1 if label_dimension is _ONE else label_dimension
    if dimension != 1:
        raise ValueError(f"For now only 1 dimension regression is supported.label_dimension given as {dimension}")
    return RegressionHead(1, weight_column, Reduction.SUM_OVER_BATCH_SIZE)


def _classifier_head(n_classes: Any, weight_column: Any, label_vocabulary: Any) -> tuple[Head, ClosedForm | None]:
    """The head, and its gradients and hessians, if labels and weights are plain."""
    number = 2 if n_classes is _ONE else n_classes
    if number != 2:
        raise ValueError(f"For now only binary classification is supported.n_classes given as {number}")
    head = class_head(2, weight_column, label_vocabulary, Reduction.SUM_OVER_BATCH_SIZE)
    return head, _of_log_loss if weight_column is None and label_vocabulary is None else None


def _of_log_loss(logits: Any, labels: Any) -> tuple[Any, Any]:
    probabilities = 1.0 / (exp(-logits) + 1.0)
    share = 1.0 / cast(size(probabilities), dtypes.float32)
    labels = checked_labels(cast(labels, dtypes.float32), logits, 1)
    return (probabilities - labels) * share, probabilities * (1.0 - probabilities) * share
