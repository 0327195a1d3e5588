"""``tf.contrib.metrics``: values over all batches so far, under the names from before ``tf.metrics``, and more of them."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.metrics.streaming":
        "aggregate_metric_map aggregate_metrics sparse_recall_at_top_k streaming_accuracy streaming_auc streaming_false_negative_rate "
        "streaming_false_negatives streaming_false_positive_rate streaming_false_positives streaming_mean_absolute_error "
        "streaming_mean_cosine_distance streaming_mean_iou streaming_mean_relative_error streaming_mean_squared_error streaming_precision "
        "streaming_precision_at_thresholds streaming_recall streaming_recall_at_k streaming_recall_at_thresholds "
        "streaming_root_mean_squared_error streaming_sensitivity_at_specificity streaming_sparse_average_precision_at_k "
        "streaming_sparse_average_precision_at_top_k streaming_sparse_precision_at_k streaming_sparse_precision_at_top_k "
        "streaming_sparse_recall_at_k streaming_specificity_at_sensitivity streaming_true_negatives streaming_true_positives",
    "penstock.contrib.metrics.thresholds":
        "f1_score precision_at_recall precision_recall_at_equal_thresholds recall_at_precision streaming_curve_points "
        "streaming_false_negative_rate_at_thresholds streaming_false_negatives_at_thresholds streaming_false_positive_rate_at_thresholds "
        "streaming_false_positives_at_thresholds streaming_true_negatives_at_thresholds streaming_true_positives_at_thresholds",
    "penstock.contrib.metrics.accumulated": "auc_with_confidence_intervals streaming_concat streaming_dynamic_auc",
    "penstock.contrib.metrics.statistics": "accuracy auc_using_histogram cohen_kappa count streaming_covariance streaming_pearson_correlation",
    "penstock.layers.metrics.streaming": "streaming_mean=mean",
    "penstock.layers.metrics.means": "streaming_mean_tensor=mean_tensor streaming_percentage_less=percentage_below",
    "penstock.ops.nn.confusion_matrix": "confusion_matrix",
    "penstock.ops.sparse.sets": "set_difference set_intersection set_size set_union",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.metrics:": "python ops metric_ops",
}
publish(__name__, TABLE)
