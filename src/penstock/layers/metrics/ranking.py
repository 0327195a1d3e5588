"""Metrics of the k classes with the highest scores: precision, recall and average precision."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor, SparseTensorValue, convert_to_tensor_or_sparse_tensor
from penstock.graph.graph import default_graph
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.layers.metrics.streaming import Metric, collected, metric_variable
from penstock.layers.weighting import assert_broadcastable, broadcast_weights
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import fill, ones_like, zeros_like
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import tile
from penstock.ops.array.select import where_v2
from penstock.ops.array.shape_ops import expand_dims, rank, reshape, shape, size
from penstock.ops.array.slicing import slice_
from penstock.ops.array.sorting import top_k
from penstock.ops.flow.control_flow import cond
from penstock.ops.math.compare import equal, greater_equal
from penstock.ops.math.cumulative import cumsum
from penstock.ops.math.division import div
from penstock.ops.math.elementwise import add, div_no_nan, minimum, multiply
from penstock.ops.math.reduce import reduce_max, reduce_sum
from penstock.ops.sparse.sets import set_difference, set_intersection, set_size
from penstock.ops.sparse.sparse_functions import sparse_concat, sparse_reshape, sparse_retain
from penstock.variables.assign import assign_add

_NODES_OF_CLASS = 9  # that TensorFlow has beside ours, on whose number seeds that are not given depend


def precision_at_k(labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None, metrics_collections: Any = None,
                   updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.precision_at_k``: the share of right classes among the k with the highest scores."""
    with name_scope(name, _at_k("precision", k, class_id), [predictions, labels, weights]) as scope:
        _, classes = top_k(predictions, k)
        return precision_at_top_k(labels, classes, k, class_id, weights, metrics_collections, updates_collections, scope)


def precision_at_top_k(labels: Any, predictions_idx: Any, k: int | None = None, class_id: int | None = None, weights: Any = None,
                       metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.precision_at_top_k``: the share of right classes among ``predictions_idx``."""
    return _share("precision", "false_positive", labels, predictions_idx, k, class_id, weights, metrics_collections, updates_collections, name)


def recall_at_k(labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None, metrics_collections: Any = None,
                updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.recall_at_k``: the share of the labels that are among the k classes with the highest scores."""
    with name_scope(name, _at_k("recall", k, class_id), [predictions, labels, weights]) as scope:
        _, classes = top_k(predictions, k)
        return recall_at_top_k(labels, classes, k, class_id, weights, metrics_collections, updates_collections, scope)


def recall_at_top_k(labels: Any, predictions_idx: Any, k: int | None = None, class_id: int | None = None, weights: Any = None,
                    metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.recall_at_top_k``: the share of the labels that are among ``predictions_idx``."""
    return _share("recall", "false_negative", labels, predictions_idx, k, class_id, weights, metrics_collections, updates_collections, name)


def sparse_precision_at_k(labels: Any, predictions: Any, k: int, class_id: int | None = None, weights: Any = None, metrics_collections: Any = None,
                          updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.sparse_precision_at_k``, the older name of ``precision_at_k``."""
    return precision_at_k(labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name)


def _at_k(name: str, k: int | None, class_id: int | None = None) -> str:
    return f"{name}_at_{'k' if k is None else k}" + ("" if class_id is None else f"_class{class_id}")


def _share(what: str, misses: str, labels: Any, classes: Any, k: int | None, class_id: int | None, weights: Any, metrics_collections: Any,
           updates_collections: Any, name: str | None) -> Metric:
    """True positives over true positives and ``misses``."""
    with name_scope(name, _at_k(what, k, class_id), [classes, labels, weights]) as scope:
        labels = _expanded_labels(labels, classes)
        classes = cast(classes, dtypes.int64)
        hit, hit_update = _streaming_count("true_positive", labels, classes, k, class_id, weights)
        missed, missed_update = _streaming_count(misses, labels, classes, k, class_id, weights)
        value = div(hit, add(hit, missed), name=scope)
        update = div(hit_update, add(hit_update, missed_update), name="update")
        return collected(value, update, metrics_collections, updates_collections)


# --- counts ----------------------------------------------------------------------------------------------------------


def _streaming_count(kind: str, labels: Any, classes: Any, k: int | None, class_id: int | None, weights: Any) -> Metric:
    with name_scope(None, _at_k(kind, k, class_id), [classes, labels, weights]) as scope:
        total = cast(reduce_sum(_count(kind, labels, classes, class_id, weights)), dtypes.float64)
        variable = metric_variable([], dtypes.float64, name=scope)
        return variable, assign_add(variable, total, name="update")


def _count(kind: str, labels: Any, classes: Any, class_id: int | None = None, weights: Any = None, name: str | None = None) -> Any:
    """Per example, how many classes are in both sets (true positives), in the prediction only, or in the labels only."""
    with name_scope(name, kind + "s", [classes, labels, weights]):
        if class_id is not None:
            labels, classes = _only_class(labels, class_id), _only_class(classes, class_id)
        members = (set_intersection(classes, labels) if kind == "true_positive" else
                   set_difference(classes, labels, aminusb=kind == "false_positive"))
        count = cast(set_size(members), dtypes.float64)
        if weights is not None:
            with control_dependencies([assert_broadcastable(weights, count)]):
                count = multiply(count, cast(weights, dtypes.float64))
        return count


def _only_class(classes: Any, class_id: int) -> SparseTensor:
    """The sets without all other classes."""
    classes = convert_to_tensor_or_sparse_tensor(classes)
    if isinstance(classes, SparseTensor):
        return sparse_retain(classes, equal(classes.values, class_id))
    default_graph().imply(_NODES_OF_CLASS)
    extents = shape(classes, out_type=dtypes.int64)
    single = concat([extents[:-1], [1]], 0)
    members = set_intersection(fill(single, cast(class_id, dtypes.int64)), classes)
    return SparseTensor(members.indices, members.values, extents)


def _expanded_labels(labels: Any, classes: Any) -> Any:
    """Labels as sets: with an axis of one label, if they have none."""
    with name_scope(None, "expand_labels", [labels, classes]) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            return cond(equal(rank(classes), size(labels.dense_shape) + 1),
                        lambda: sparse_reshape(labels, concat([labels.dense_shape, [1]], 0), name=scope), lambda: labels)
        ranks = labels.shape.ndims, classes.shape.ndims
        if None in ranks:
            return cond(equal(rank(classes), rank(labels) + 1), lambda: expand_dims(labels, -1, name=scope), lambda: labels)
        if ranks[0] == ranks[1]:
            return labels
        if ranks[1] == ranks[0] + 1:
            return expand_dims(labels, -1, name=scope)
        raise ValueError(f"Unexpected labels shape {labels.shape} for predictions shape {classes.shape}.")


# --- average precision -----------------------------------------------------------------------------------------------


def average_precision_at_k(labels: Any, predictions: Any, k: int, weights: Any = None, metrics_collections: Any = None,
                           updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.average_precision_at_k``: the mean, over the right ones among the k best classes, of the precision up to each."""
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with name_scope(name, _at_k("average_precision", k), [predictions, labels, weights]) as scope:
        _, classes = top_k(predictions, k)
        labels = _without_unknown_classes(labels, cast(shape(predictions)[-1], dtypes.int64))
        return streaming_average_precision_at_top_k(labels, classes, weights, metrics_collections, updates_collections, scope)


def sparse_average_precision_at_k(labels: Any, predictions: Any, k: int, weights: Any = None, metrics_collections: Any = None,
                                  updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.sparse_average_precision_at_k``, the older name of ``average_precision_at_k``."""
    return average_precision_at_k(labels, predictions, k, weights, metrics_collections, updates_collections, name)


def _without_unknown_classes(labels: Any, number: Any) -> Any:
    """Labels with -1 for those beyond the number of classes."""
    is_sparse = isinstance(labels, (SparseTensor, SparseTensorValue))

    def cleaned(values: Any) -> Any:
        return where_v2(greater_equal(values, number), -1 * ones_like(values), values)

    def clean() -> Any:
        return SparseTensor(labels.indices, cleaned(labels.values), labels.dense_shape) if is_sparse else cleaned(labels)

    highest = reduce_max(labels.values if is_sparse else labels)
    return cond(greater_equal(highest, number), clean, lambda: labels)


def streaming_average_precision_at_top_k(labels: Any, classes: Any, weights: Any, metrics_collections: Any, updates_collections: Any,
                                         name: str | None) -> Metric:
    """The mean average precision of the given ``classes``, best first."""
    with name_scope(name, "average_precision_at_top_k", [classes, labels, weights]) as scope:
        precision = _average_precision(labels, classes)
        if weights is not None:
            weights = broadcast_weights(cast(weights, dtypes.float64), precision)
            precision = multiply(precision, weights)
        with name_scope(None, "max", [precision]) as max_scope:
            most = metric_variable([], dtypes.float64, name=max_scope)
            batch = cast(size(precision, name="batch_max"), dtypes.float64) if weights is None else reduce_sum(weights, name="batch_max")
            most_update = assign_add(most, batch, name="update")
        with name_scope(None, "total", [precision]) as total_scope:
            total = metric_variable([], dtypes.float64, name=total_scope)
            total_update = assign_add(total, reduce_sum(precision, name="batch_total"), name="update")
        value = div_no_nan(total, most, name="mean")
        return collected(value, div_no_nan(total_update, most_update, name=scope), metrics_collections, updates_collections)


def _average_precision(labels: Any, classes: Any) -> Any:
    """Per example, the mean of the precisions up to each right class."""
    with name_scope(None, "average_precision", [classes, labels]) as scope:
        classes = cast(classes, dtypes.int64, name="predictions_idx")
        if classes.shape.ndims == 0:
            raise ValueError("The rank of predictions_idx must be at least 1.")
        k = classes.shape.as_list()[-1]
        if k is None:
            raise ValueError("The last dimension of predictions_idx must be set.")
        labels = _expanded_labels(labels, classes)
        single = expand_dims(classes, -1, name="predictions_idx_per_k")
        repeated = _repeat(labels, k, name="labels_per_k")
        relevant = _count("true_positive", repeated, single, name="relevant_per_k")
        hits = cumsum(relevant, axis=-1, name="tp_per_k")
        retrieved = cumsum(ones_like(relevant), axis=-1, name="retrieved_per_k")
        precisions = div(cast(hits, dtypes.float64), cast(retrieved, dtypes.float64), name="precision_per_k")
        counted = multiply(precisions, cast(relevant, dtypes.float64), name="relevant_precision_per_k")
        total = reduce_sum(counted, axis=(-1,), name="precision_sum")
        return div(total, cast(_relevant(labels, k), dtypes.float64), name=scope)


def _relevant(labels: Any, k: int) -> Any:
    """How many labels each example has, at most k."""
    with name_scope(None, "num_relevant", [labels]) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            return minimum(set_size(labels), k, name=scope)
        number = reduce_sum(where_v2(greater_equal(labels, 0), ones_like(labels), zeros_like(labels)), axis=-1)
        return minimum(number, k, name=scope)


def _repeat(labels: Any, count: int, name: str) -> Any:
    """The labels ``count`` times, along a new axis before the last."""
    with name_scope(name, "expand_and_tile", [labels, count]) as scope:
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            place = reshape(size(labels.dense_shape) - 1, [1])
            extents = concat([slice_(labels.dense_shape, [0], place), [1], slice_(labels.dense_shape, place, [-1])], 0, name="expanded_shape")
            expanded = sparse_reshape(labels, extents, name="expand")
            return expanded if count == 1 else sparse_concat(-2, [expanded] * count, name=scope)
        dense = expand_dims(labels, -2, name="expand")
        if count == 1:
            return dense
        once = ones_like(shape(labels))
        return tile(dense, concat([once[:-1], (count,), once[-1:]], 0, name="multiples"), name=scope)
