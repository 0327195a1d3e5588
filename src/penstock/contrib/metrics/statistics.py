"""Metrics of agreement: covariance, correlation, Cohen's kappa, counts, accuracy of one batch, and areas by histograms."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.layers.metrics.streaming import Metric, aligned, collected, metric_variable
from penstock.layers.weighting import broadcast_weights


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.metrics.accuracy``: how often predictions equal labels in this batch; nothing is kept."""
    if not (labels.dtype.is_integer or labels.dtype.name in ("bool", "string")):
        raise ValueError(f"Labels should have bool, integer, or string dtype, not {labels.dtype!r}")
    if not labels.dtype.is_compatible_with(predictions.dtype):
        raise ValueError(f"Dtypes of predictions and labels should match. Given: predictions ({predictions.dtype!r}) and labels ({labels.dtype!r})")
    with tf.name_scope(name, "accuracy", [predictions, labels]):
        correct = tf.cast(tf.equal(predictions, labels), tf.float32)
        if weights is None:
            return tf.reduce_mean(correct)
        correct = tf.multiply(correct, weights)
        number = tf.multiply(weights, tf.ones_like(correct))
        return tf.div(tf.reduce_sum(correct), tf.reduce_sum(number))


def count(values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.contrib.metrics.count``: how many values there were, or the sum of their weights."""
    with tf.variable_scope(name, "count", [values, weights]):
        total = metric_variable([], tf.float32, name="count")
        if weights is None:
            number = tf.cast(tf.size(values), tf.float32)
        else:
            values, _, weights = aligned(tf.cast(values, tf.float32), None, weights)
            number = tf.reduce_sum(broadcast_weights(tf.cast(weights, tf.float32), values))
        with tf.control_dependencies([values]):
            update = tf.assign_add(total, number)
        return collected(tf.identity(total), update, metrics_collections, updates_collections)


def streaming_covariance(predictions: Any, labels: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
                         name: str | None = None) -> Metric:
    """The unbiased sample covariance of predictions and labels (Chan's pairwise formula, batch by batch)."""
    with tf.variable_scope(name, "covariance", [predictions, labels, weights]):
        predictions, labels, weights = aligned(predictions, labels, weights)
        total, prediction, label, comoment = (metric_variable([], tf.float32, name=each)
                                              for each in ("count", "mean_prediction", "mean_label", "comoment"))
        if weights is None:
            number = tf.cast(tf.size(labels), tf.float32)
            weighted = predictions, labels
        else:
            weights = broadcast_weights(weights, labels)
            number = tf.reduce_sum(weights)
            weighted = tf.multiply(predictions, weights), tf.multiply(labels, weights)
        new_total = tf.assign_add(total, number)
        old_total = new_total - number
        batch_prediction, old_prediction = _moved_mean(prediction, weighted[0], number, new_total)
        batch_label, old_label = _moved_mean(label, weighted[1], number, new_total)
        residuals = (predictions - batch_prediction) * (labels - batch_label)
        batch_comoment = tf.reduce_sum(residuals if weights is None else residuals * weights)
        delta = batch_comoment + (old_prediction - batch_prediction) * (old_label - batch_label) * (old_total * number / new_total)
        updated = tf.assign_add(comoment, delta)

        def covariance(name: str) -> tf.Tensor:
            return tf.where(tf.less_equal(total, 1.0), float("nan"), tf.truediv(comoment, total - 1), name=name)

        value = covariance("covariance")
        with tf.control_dependencies([updated]):
            update = covariance("update_op")
    return collected(value, update, metrics_collections, updates_collections)


def _moved_mean(mean: Any, values: tf.Tensor, number: tf.Tensor, new_total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """(the mean of this batch, the mean of all batches before it)."""
    batch = tf.div_no_nan(tf.reduce_sum(values), number)
    delta = tf.div_no_nan((batch - mean) * number, new_total)
    return batch, tf.assign_add(mean, delta) - delta


def streaming_pearson_correlation(predictions: Any, labels: Any, weights: Any = None, metrics_collections: Any = None,
                                  updates_collections: Any = None, name: str | None = None) -> Metric:
    """Pearson's correlation of predictions and labels."""
    with tf.variable_scope(name, "pearson_r", [predictions, labels, weights]):
        predictions, labels, weights = aligned(predictions, labels, weights)
        if weights is not None:
            weights = broadcast_weights(weights, labels)
        cov, update_cov = streaming_covariance(predictions, labels, weights=weights, name="covariance")
        first, update_first = streaming_covariance(predictions, predictions, weights=weights, name="variance_predictions")
        second, update_second = streaming_covariance(labels, labels, weights=weights, name="variance_labels")
        value = tf.truediv(cov, tf.multiply(tf.sqrt(first), tf.sqrt(second)), name="pearson_r")
        update = tf.truediv(update_cov, tf.multiply(tf.sqrt(update_first), tf.sqrt(update_second)), name="update_op")
    return collected(value, update, metrics_collections, updates_collections)


def cohen_kappa(labels: Any, predictions_idx: Any, num_classes: int, weights: Any = None, metrics_collections: Any = None,
                updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.contrib.metrics.cohen_kappa``: agreement of two raters beyond what chance gives; 1 is perfect."""
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be >= 2.Found: {num_classes}")
    with tf.variable_scope(name, "cohen_kappa", [labels, predictions_idx, weights]):
        labels.shape.with_rank_at_most(2)
        if labels.shape.ndims == 2:
            labels = tf.squeeze(labels, axis=[-1])
        predictions_idx, labels, weights = aligned(predictions_idx, labels, weights)
        dtype = tf.int64 if weights is None or weights.dtype.is_integer else tf.float32
        names = ("po", "pe_row", "pe_col")
        variables = [metric_variable((num_classes,), dtype, name=each) for each in names]
        table = tf.confusion_matrix(labels, predictions_idx, num_classes=num_classes, weights=weights, dtype=dtype, name="counts_in_table")
        sums = tf.diag_part(table), tf.reduce_sum(table, axis=0), tf.reduce_sum(table, axis=1)
        updates = [tf.assign_add(variable, each) for variable, each in zip(variables, sums)]
        return collected(_kappa(*variables, name="value"), _kappa(*updates, name="update_op"), metrics_collections, updates_collections)


def _kappa(agreed: Any, rows: Any, columns: Any, name: str) -> tf.Tensor:
    agreed, total = tf.reduce_sum(agreed), tf.reduce_sum(rows)
    chance = tf.reduce_sum(tf.div_no_nan(tf.cast(rows * columns, tf.float64), tf.cast(total, tf.float64)))
    agreed, chance, total = (tf.cast(each, tf.float64) for each in (agreed, chance, total))
    return tf.div_no_nan(agreed - chance, tf.maximum(total - chance, 0), name=name)


# --- histograms ------------------------------------------------------------------------------------------------------


def auc_using_histogram(boolean_labels: Any, scores: Any, score_range: Any, nbins: int = 100, collections: Any = None, check_shape: bool = True,
                        name: str | None = None) -> Metric:
    """``tf.contrib.metrics.auc_using_histogram``: the area under the ROC curve, of scores counted in ``nbins`` bins."""
    collections = [tf.GraphKeys.LOCAL_VARIABLES] if collections is None else collections
    with tf.variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        scores, boolean_labels = tf.remove_squeezable_dimensions(scores, boolean_labels)
        score_range = tf.convert_to_tensor(score_range, name="score_range")
        labels, scores = _check(boolean_labels, scores, check_shape)
        with tf.variable_scope(None, "make_auc_histograms", [labels, scores, nbins]):
            seen = [tf.histogram_fixed_width(tf.boolean_mask(scores, mask), score_range, nbins=nbins, dtype=tf.int64, name=each)
                    for each, mask in (("hist_true", labels), ("hist_false", tf.logical_not(labels)))]
        with tf.variable_scope(None, "hist_accumulate", seen):
            totals = [tf.get_variable(each, shape=[nbins], dtype=tf.int64, initializer=tf.zeros_initializer(), collections=collections,
                                      trainable=False) for each in ("hist_true_acc", "hist_false_acc")]
            update = tf.group(*(total.assign_add(batch) for total, batch in zip(totals, seen)), name="update_op")
        return _area(*totals, nbins), update


def _check(labels: Any, scores: Any, check_shape: bool) -> tuple[tf.Tensor, tf.Tensor]:
    with tf.name_scope("_check_labels_and_scores", values=[labels, scores]):
        labels, scores = tf.convert_to_tensor(labels, name="boolean_labels"), tf.convert_to_tensor(scores, name="scores")
        if labels.dtype != tf.bool_:
            raise ValueError("Argument boolean_labels should have dtype bool.  Found: %s", labels.dtype)
        if check_shape:
            checks = [tf.Assert(tf.equal(1, tf.rank(each)), [f"Argument {what} should have rank 1.  Found: ", each.name, tf.shape(each)])
                      for what, each in (("boolean_labels", labels), ("scores", scores))]
            with tf.control_dependencies(checks):
                return tf.identity(labels), tf.identity(scores)
        return labels, scores


def strict_1d_cumsum(tensor: Any, len_tensor: int) -> tf.Tensor:
    """The sums of the first 1, 2, ... ``len_tensor`` elements of a vector, which has that length."""
    with tf.control_dependencies([tf.assert_rank(tensor, 1), tf.assert_equal(tf.size(tensor), len_tensor)]):
        return tf.cumsum(tensor)


def _area(true: Any, false: Any, nbins: int) -> tf.Tensor:
    """By trapezoids, from the bin of the highest scores down."""
    shares = [tf.truediv(each, tf.reduce_sum(each)) for each in (true, false)]
    dy = tf.cast(tf.reverse(shares[0], [0], name="delta_y_t"), tf.float32)
    dx = tf.cast(tf.reverse(shares[1], [0], name="delta_x_t"), tf.float32)
    y = tf.cumsum(dy)
    return tf.add(dx[0] * y[0] / 2.0, tf.reduce_sum(dx[1:] * (y[1:] + y[:nbins - 1]) / 2.0), name="auc")
