"""``tf.contrib.learn.KMeansClustering``: k-means as an estimator of ``tf.contrib.learn``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib.factorization import clustering
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.estimator.kmeans import kmeans_model, points_of


class KMeansClustering(Estimator):
    """``tf.contrib.learn.KMeansClustering``: features are points, or coordinates of points by name."""

    SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE, clustering.COSINE_DISTANCE
    RANDOM_INIT, KMEANS_PLUS_PLUS_INIT = clustering.RANDOM_INIT, clustering.KMEANS_PLUS_PLUS_INIT
    SCORES, CLUSTER_IDX, CLUSTERS, ALL_SCORES = "scores", "cluster_idx", clustering.CLUSTERS_VAR_NAME, "all_scores"
    LOSS_OP_NAME = "kmeans_loss"

    def __init__(self, num_clusters: int, model_dir: str | None = None, initial_clusters: Any = RANDOM_INIT,
                 distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE, random_seed: int = 0, use_mini_batch: bool = True,
                 mini_batch_steps_per_iteration: int = 1, kmeans_plus_plus_num_retries: int = 2, relative_tolerance: float | None = None,
                 config: Any = None) -> None:
        def model_fn(features: Any, labels: Any, mode: str, params: Any, config: Any) -> ModelFnOps:
            assert labels is None, labels
            model = kmeans_model(points_of(features), config.is_chief, relative_tolerance, num_clusters, initial_clusters, distance_metric,
                                 use_mini_batch, mini_batch_steps_per_iteration, random_seed, kmeans_plus_plus_num_retries,
                                 loss_name=self.LOSS_OP_NAME)
            return ModelFnOps(mode, {self.ALL_SCORES: model.distances, self.CLUSTER_IDX: model.indices}, model.loss, model.train_op,
                              {self.SCORES: model.loss}, training_hooks=model.hooks)
        super().__init__(model_fn, model_dir, config, params={})

    def predict_cluster_idx(self, input_fn: Any = None) -> Any:
        """The index of each point's cluster."""
        for result in self.predict(input_fn=input_fn, outputs=[self.CLUSTER_IDX]):
            yield result[self.CLUSTER_IDX]

    def score(self, input_fn: Any = None, steps: int | None = None) -> Any:
        """The sum of the distances of all points from their clusters."""
        return np.sum(self.evaluate(input_fn=input_fn, steps=steps)[self.SCORES])

    def transform(self, input_fn: Any = None, as_iterable: bool = False) -> Any:
        """The distances of each point from all clusters."""
        results = self.predict(input_fn=input_fn, outputs=[self.ALL_SCORES], as_iterable=as_iterable)
        return results if as_iterable else results[self.ALL_SCORES]

    def clusters(self) -> Any:
        """The clusters."""
        return self.get_variable_value(self.CLUSTERS)
