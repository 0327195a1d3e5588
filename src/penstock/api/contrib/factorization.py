"""``tf.contrib.factorization``: clusters of points, factors of sparse matrices."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.factorization.clustering": "COSINE_DISTANCE KMEANS_PLUS_PLUS_INIT KMeans RANDOM_INIT SQUARED_EUCLIDEAN_DISTANCE",
    "penstock.contrib.factorization.wals": "WALSModel",
    "penstock.contrib.factorization.mixtures": "GmmAlgorithm gmm",
    "penstock.contrib.learn.gmm": "GMM",
    "penstock.contrib.learn.wals": "WALSMatrixFactorization",
    "penstock.estimator.kmeans": "KMeansClustering",
    "penstock.ops.nn.clustering": "nearest_neighbors=NearestNeighbors",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.factorization:": "python ops clustering_ops kmeans",
}
publish(__name__, TABLE)
