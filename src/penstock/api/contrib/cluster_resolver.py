"""``tf.contrib.cluster_resolver``: objects that know the tasks of a cluster."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.estimator.cluster_resolver": "ClusterResolver SimpleClusterResolver TFConfigClusterResolver TPUClusterResolver UnionClusterResolver",
    "penstock.estimator.managed_clusters": "GCEClusterResolver KubernetesClusterResolver SlurmClusterResolver",
}
publish(__name__, TABLE)
