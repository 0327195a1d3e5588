"""``tf.metrics``: values over all batches so far."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.layers.metrics.streaming": "mean",
    "penstock.layers.metrics.means": "accuracy mean_absolute_error mean_cosine_distance mean_relative_error mean_squared_error mean_tensor "
                                     "percentage_below root_mean_squared_error",
    "penstock.layers.metrics.counts": "false_negatives false_positives mean_iou mean_per_class_accuracy precision recall true_negatives "
                                      "true_positives",
    "penstock.layers.metrics.thresholds": "auc false_negatives_at_thresholds false_positives_at_thresholds precision_at_thresholds "
                                          "recall_at_thresholds sensitivity_at_specificity specificity_at_sensitivity "
                                          "true_negatives_at_thresholds true_positives_at_thresholds",
    "penstock.layers.metrics.ranking": "average_precision_at_k precision_at_k precision_at_top_k recall_at_k recall_at_top_k "
                                       "sparse_average_precision_at_k sparse_precision_at_k",
}
publish(__name__, TABLE)
