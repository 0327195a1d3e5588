"""``tf.contrib.factorization.KMeansClustering``: k-means as an estimator."""
from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from penstock.contrib.factorization import clustering
from penstock.estimator.columns.building import input_layer
from penstock.estimator.estimator import Estimator
from penstock.estimator.export_outputs import PredictOutput
from penstock.estimator.spec import EstimatorSpec
from penstock.layers.metrics.streaming import mean
from penstock.ops.array.pack import concat
from penstock.ops.flow.misc import with_dependencies
from penstock.ops.math.reduce import reduce_sum
from penstock.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from penstock.summary import summary
from penstock.train.global_step import get_global_step
from penstock.train.session_run_hook import SessionRunArgs, SessionRunHook
from penstock.variables.assign import assign_add


class InitializeClustersHook(SessionRunHook):
    """Lets the chief choose the clusters; the others wait for that."""

    def __init__(self, init_op: Any, initialized: Any, is_chief: bool) -> None:
        self._init_op, self._initialized, self._is_chief = init_op, initialized, is_chief

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Returns when all clusters are chosen."""
        while not session.run(self._initialized):
            if self._is_chief:
                session.run(self._init_op)
            else:
                time.sleep(1)


class _ToleranceHook(SessionRunHook):
    """Stops when the loss hardly changes any more."""

    def __init__(self, loss: Any, tolerance: float) -> None:
        self._loss, self._tolerance, self._before = loss, tolerance, 0.0

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Compares it with the last one."""
        loss = run_values.results
        if self._before and abs(loss - self._before) / (1 + abs(self._before)) < self._tolerance:
            run_context.request_stop()
        self._before = loss


class KMeansModel(NamedTuple):
    """What an estimator needs of k-means."""

    distances: Any
    indices: Any
    loss: Any
    train_op: Any
    hooks: list[SessionRunHook]


def kmeans_model(points: Any, is_chief: bool, relative_tolerance: float | None, *arguments: Any, loss_name: str | None = None) -> KMeansModel:
    """The graph of k-means with these ``arguments`` of `clustering.KMeans`, and the hooks that it is trained with."""
    distances, indices, losses, initialized, init_op, train = clustering.KMeans(points, *arguments).training_graph()
    loss = reduce_sum(losses, name=loss_name)
    summary.scalar("loss/raw", loss)
    hooks: list[SessionRunHook] = [InitializeClustersHook(init_op, initialized, is_chief)]
    if relative_tolerance is not None:
        hooks.append(_ToleranceHook(loss, relative_tolerance))
    return KMeansModel(distances[0], indices[0], loss, with_dependencies([train, assign_add(get_global_step(), 1)], loss), hooks)


class KMeansClustering(Estimator):
    """``tf.contrib.factorization.KMeansClustering``: features are points, or columns of them."""

    SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE, clustering.COSINE_DISTANCE
    RANDOM_INIT, KMEANS_PLUS_PLUS_INIT = clustering.RANDOM_INIT, clustering.KMEANS_PLUS_PLUS_INIT
    SCORE, CLUSTER_INDEX, ALL_DISTANCES = "score", "cluster_index", "all_distances"
    CLUSTER_CENTERS_VAR_NAME = clustering.CLUSTERS_VAR_NAME

    def __init__(self, num_clusters: int, model_dir: Any = None, initial_clusters: Any = RANDOM_INIT,
                 distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE, random_seed: int = 0, use_mini_batch: bool = True,
                 mini_batch_steps_per_iteration: int = 1, kmeans_plus_plus_num_retries: int = 2, relative_tolerance: float | None = None,
                 config: Any = None, feature_columns: Any = None) -> None:
        if isinstance(initial_clusters, str) and initial_clusters not in (self.RANDOM_INIT, self.KMEANS_PLUS_PLUS_INIT):
            raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
        if distance_metric not in (self.SQUARED_EUCLIDEAN_DISTANCE, self.COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric '{distance_metric}'")

        def model_fn(features: Any, mode: str, config: Any) -> EstimatorSpec:
            model = kmeans_model(points_of(features, feature_columns), config.is_chief, relative_tolerance, num_clusters, initial_clusters,
                                 distance_metric, use_mini_batch, mini_batch_steps_per_iteration, random_seed, kmeans_plus_plus_num_retries)
            predictions = {self.ALL_DISTANCES: model.distances, self.CLUSTER_INDEX: model.indices}
            outputs = {key: PredictOutput(value) for key, value in predictions.items()}
            outputs[DEFAULT_SERVING_SIGNATURE_DEF_KEY] = PredictOutput(model.indices)
            return EstimatorSpec(mode=mode, predictions=predictions, loss=model.loss, train_op=model.train_op, training_hooks=model.hooks,
                                 eval_metric_ops={self.SCORE: mean(model.loss)}, export_outputs=outputs)

        super().__init__(model_fn, model_dir, config)

    def _predict(self, input_fn: Any, key: str) -> Iterator[Any]:
        for result in self.predict(input_fn, predict_keys=[key]):
            yield result[key]

    def predict_cluster_index(self, input_fn: Any) -> Iterator[Any]:
        """The index of each point's cluster."""
        return self._predict(input_fn, self.CLUSTER_INDEX)

    def transform(self, input_fn: Any) -> Iterator[Any]:
        """The distances of each point from all clusters."""
        return self._predict(input_fn, self.ALL_DISTANCES)

    def score(self, input_fn: Any) -> Any:
        """The sum of the distances of one batch."""
        return self.evaluate(input_fn, steps=1)[self.SCORE]

    def cluster_centers(self) -> Any:
        """The clusters."""
        return self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)


class KMeans(KMeansClustering):
    """``tf.estimator.experimental.KMeans``: the same, with a seed of another name, and with distances that are not squared in ``transform``."""

    def __init__(self, num_clusters: int, model_dir: Any = None, initial_clusters: Any = KMeansClustering.RANDOM_INIT,
                 distance_metric: str = KMeansClustering.SQUARED_EUCLIDEAN_DISTANCE, seed: int | None = None, use_mini_batch: bool = True,
                 mini_batch_steps_per_iteration: int = 1, kmeans_plus_plus_num_retries: int = 2, relative_tolerance: float | None = None,
                 config: Any = None, feature_columns: Any = None) -> None:
        super().__init__(num_clusters, model_dir, initial_clusters, distance_metric, 0 if seed is None else seed, use_mini_batch,
                         mini_batch_steps_per_iteration, kmeans_plus_plus_num_retries, relative_tolerance, config, feature_columns)
        self._is_squared = distance_metric == self.SQUARED_EUCLIDEAN_DISTANCE

    def transform(self, input_fn: Any) -> Iterator[Any]:
        """The distances of each point from all clusters."""
        for distances in super().transform(input_fn):
            yield np.sqrt(distances) if self._is_squared else distances


def points_of(features: Any, feature_columns: Any = None) -> Any:
    """Points: features themselves, or side by side, or what columns make of them."""
    if not isinstance(features, dict):
        return features
    if feature_columns:
        return input_layer(features, feature_columns)
    return concat([features[key] for key in sorted(features)], axis=1)
