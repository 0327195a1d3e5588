"""``tf.contrib.losses``: the losses from before ``tf.losses``, and those of metric learning."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.losses.losses": "absolute_difference compute_weighted_loss cosine_distance get_total_loss hinge_loss log_loss "
                                      "mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy softmax_cross_entropy "
                                      "sparse_softmax_cross_entropy sum_of_squares=mean_squared_error log=log_loss "
                                      "sum_of_pairwise_squares=mean_pairwise_squared_error",
    "penstock.layers.losses": "add_loss get_losses get_regularization_losses",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.losses:": "python losses loss_ops",
}
OLDER = {"sum_of_squares": "losses.mean_squared_error", "sum_of_pairwise_squares": "losses.mean_pairwise_squared_error", "log": "losses.log_loss"}
publish(__name__, TABLE, "metric_learning", older=OLDER)
