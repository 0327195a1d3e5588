"""``tf.contrib.factorization.GMM``: a mixture of Gaussians as an estimator of ``tf.contrib.learn``."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.factorization.mixtures import GmmAlgorithm, gmm
from penstock.contrib.framework.variables import local_variable
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.estimator.kmeans import InitializeClustersHook
from penstock.train.global_step import get_global_step


class GMM(Estimator):
    """``tf.contrib.factorization.GMM``: clusters points, given as a matrix or as columns by name."""

    SCORES, LOG_LIKELIHOOD, ASSIGNMENTS = "scores", "loss", "assignments"

    def __init__(self, num_clusters: int, model_dir: str | None = None, random_seed: int = 0, params: str = "wmc", initial_clusters: Any = "random",
                 covariance_type: str = "full", config: Any = None) -> None:
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> ModelFnOps:
            assert labels is None, labels
            points = tf.concat([features[key] for key in sorted(features)], 1) if isinstance(features, dict) else features
            loss, scores, assignments, step, init_op, is_initialized = gmm(
                points, initial_clusters, num_clusters, random_seed, covariance_type, params)
            train_op = tf.with_dependencies([step, get_global_step().assign_add(1)], loss)
            total = local_variable(tf.constant(0.0))
            return ModelFnOps(mode, {self.ASSIGNMENTS: assignments[0][0]}, loss, train_op,
                              {self.SCORES: scores, self.LOG_LIKELIHOOD: (total, total.assign_add(loss))},
                              training_hooks=[InitializeClustersHook(init_op, is_initialized, config.is_chief)])
        super().__init__(model_fn, model_dir, config)

    def predict_assignments(self, input_fn: Any = None, batch_size: int | None = None, outputs: Any = None) -> Iterator[Any]:
        """The cluster of each point."""
        for result in self.predict(input_fn=input_fn, batch_size=batch_size, outputs=outputs):
            yield result[self.ASSIGNMENTS]

    def score(self, input_fn: Any = None, batch_size: int | None = None, steps: int | None = None) -> Any:
        """The total log likelihood of points."""
        return np.log(np.sum(np.exp(self.evaluate(input_fn=input_fn, batch_size=batch_size, steps=steps)[self.SCORES])))

    def weights(self) -> Any:
        """The weights of clusters."""
        return self.get_variable_value(GmmAlgorithm.CLUSTERS_WEIGHT)

    def clusters(self) -> Any:
        """The means of clusters."""
        return np.squeeze(self.get_variable_value(GmmAlgorithm.CLUSTERS_VARIABLE), 1)

    def covariances(self) -> Any:
        """The covariances of clusters."""
        return self.get_variable_value(GmmAlgorithm.CLUSTERS_COVS_VARIABLE)
