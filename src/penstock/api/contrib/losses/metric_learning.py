"""``tf.contrib.losses.metric_learning``: losses that shape a space of embeddings."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.losses.cluster_loss": "cluster_loss",
    "penstock.contrib.losses.metric_learning": "contrastive_loss lifted_struct_loss npairs_loss npairs_loss_multilabel triplet_semihard_loss",
}
publish(__name__, TABLE)
