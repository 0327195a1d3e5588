"""What SDCA needs of a batch: the ids and numbers of columns, each with the weights that belong to it."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.estimator.columns.base import CategoricalColumn, FeatureCache, IdsAndWeights
from penstock.ops.math.segment import unsorted_segment_min, unsorted_segment_sum


class SparseFeatureColumn:
    """``tf.contrib.linear_optimizer.SparseFeatureColumn``: which examples have which features, and with which values (1 if there are none)."""

    def __init__(self, example_indices: Any, feature_indices: Any, feature_values: Any) -> None:
        with tf.name_scope(None, "SparseFeatureColumn", [example_indices, feature_indices]):
            self.example_indices = tf.convert_to_tensor(example_indices, name="example_indices", dtype=tf.int64)
            self.feature_indices = tf.convert_to_tensor(feature_indices, name="feature_indices", dtype=tf.int64)
        self.feature_values = None
        if feature_values is not None:
            with tf.name_scope(None, "SparseFeatureColumn", [feature_values]):
                self.feature_values = tf.convert_to_tensor(feature_values, name="feature_values", dtype=tf.float32)


def sparse_feature(pair: IdsAndWeights) -> SparseFeatureColumn:
    """The ids of examples, each once: the weights of equal ones are added up. Negative ids are none."""
    ids = pair.id_tensor
    weights = tf.ones([tf.shape(ids.indices)[0]]) if pair.weight_tensor is None else tf.reshape(pair.weight_tensor.values, [-1])
    flat = tf.cast(tf.reshape(ids.values, [-1]), tf.int64)
    is_id = tf.greater_equal(flat, 0)
    rows, flat, weights = (tf.boolean_mask(each, is_id) for each in (ids.indices[:, 0], flat, weights))
    length = tf.reduce_max(flat) + 1
    distinct, group = tf.unique(length * rows + flat)
    number = tf.shape(distinct)[0]
    row = unsorted_segment_min(rows, group, number)
    return SparseFeatureColumn(row, distinct - length * row, unsorted_segment_sum(weights, group, number))


def training_data(columns: list[Any], variables: dict[Any, Any], cache: FeatureCache, numbers: Callable[[Any], Any], labels: Any, weights: Any,
                  example_ids: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(examples, variables) for ``SdcaModel``. ``numbers(column)`` gives those of a column without ids."""
    sparse = [column for column in columns if isinstance(column, CategoricalColumn)]
    dense = [column for column in columns if not isinstance(column, CategoricalColumn)]
    examples = {
        "sparse_features": [sparse_feature(column.get_sparse_tensors(cache)) for column in sparse],
        "dense_features": [numbers(column) for column in dense],
        "example_labels": tf.cast(tf.reshape(labels, [-1]), tf.float32),
        "example_weights": tf.ones([tf.shape(labels)[0]]) if weights is None else tf.reshape(weights, [-1]),
        "example_ids": example_ids,
    }
    return examples, {"sparse_features_weights": [variables[column] for column in sparse],
                      "dense_features_weights": [variables[column] for column in dense]}
