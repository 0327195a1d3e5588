"""Mixtures of Gaussians by expectation and maximisation: ``GmmAlgorithm`` and ``gmm``.

The data are shards, matrices with a point per row. A training step assigns points to clusters by their probabilities (expectation), and computes
weights, means and covariances of clusters anew (maximisation); ``params`` says which of them.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.ops.sparse.embedding import embedding_lookup
from penstock.variables.variable import Variable

FULL_COVARIANCE, DIAG_COVARIANCE = "full", "diag"
_EPSILON = np.finfo(float).eps
_LEAST_VARIANCE = 1e-3


def _covariance(x: Any, diagonal: bool) -> Any:
    count = tf.cast(tf.shape(x)[0], tf.float32)
    x -= tf.reduce_mean(x, 0, keepdims=True)
    return (tf.reduce_sum(tf.square(x), 0, keepdims=True) if diagonal else tf.matmul(x, x, transpose_a=True)) / (count - 1)


def _random_points(data: list[Any], count: int, seed: int) -> Any:
    total = tf.add_n([tf.shape(shard)[0] for shard in data])
    with tf.control_dependencies([tf.assert_less_equal(count, total)]):
        indices = tf.random_uniform([count], minval=0, maxval=tf.cast(total, tf.int64), seed=seed, dtype=tf.int64)
    return embedding_lookup(data, indices % tf.cast(total, tf.int64), partition_strategy="div")


class GmmAlgorithm:
    """``tf.contrib.factorization.GmmAlgorithm``: the graph of a mixture of ``num_classes`` Gaussians."""

    CLUSTERS_WEIGHT, CLUSTERS_VARIABLE, CLUSTERS_COVS_VARIABLE = "alphas", "clusters", "clusters_covs"

    def __init__(self, data: list[Any], num_classes: int, initial_means: Any = None, params: str = "wmc", covariance_type: str = FULL_COVARIANCE,
                 random_seed: int = 0) -> None:
        if covariance_type not in (DIAG_COVARIANCE, FULL_COVARIANCE):
            raise ValueError(f"Invalid covariance type: {covariance_type}; it is 'full' or 'diag'.")
        self._params, self._num_classes, self._is_diagonal = params, num_classes, covariance_type == DIAG_COVARIANCE
        self._dimensions = tf.shape(data[0])[1]
        self._min_var = tf.diag(tf.ones(tf.stack([self._dimensions]))) * _LEAST_VARIANCE
        nothing = tf.constant([], dtype=tf.float32)
        self._means = Variable(nothing, name=self.CLUSTERS_VARIABLE, validate_shape=False)
        self._covs = Variable(nothing, name=self.CLUSTERS_COVS_VARIABLE, validate_shape=False)
        self._alpha = Variable(tf.tile([1.0 / num_classes], [num_classes]), name=self.CLUSTERS_WEIGHT, validate_shape=False)
        self._initialized = Variable(False, dtype=tf.bool_, name="initialized")
        self._init_ops = self._initialization(data, initial_means, random_seed)
        self._log_probs = [self._log_probabilities(tf.expand_dims(shard, 0)) for shard in data]
        self._totals = [tf.reduce_logsumexp(log_probs, axis=1, keepdims=True) for log_probs in self._log_probs]
        self._w = [tf.exp(log_probs - total) for log_probs, total in zip(self._log_probs, self._totals, strict=True)]
        self._train_ops = self._maximization(data)

    def _initialization(self, data: list[Any], initial_means: Any, seed: int) -> list[Any]:
        """An operation that sets means and covariances, once."""
        means = tf.expand_dims(_random_points(data, self._num_classes, seed) if initial_means is None else initial_means, 1)
        covariance = _covariance(data[0], self._is_diagonal) + self._min_var
        if self._is_diagonal:
            covariances = tf.tile(tf.expand_dims(tf.diag_part(covariance), 0), [self._num_classes, 1])
        else:
            covariances = tf.tile(tf.expand_dims(covariance, 0), [self._num_classes, 1, 1])
        def begin() -> Any:
            values = (self._means, means), (self._covs, covariances)
            with tf.control_dependencies([tf.assign(kept, value, validate_shape=False) for kept, value in values]):
                return tf.identity(tf.assign(self._initialized, True))
        return [tf.cond(self._initialized.value(), lambda: tf.constant(True), begin).op]

    def init_ops(self) -> Any:
        """An operation that sets means and covariances, unless they are set."""
        return tf.group(*self._init_ops)

    def training_ops(self) -> Any:
        """A training step."""
        return tf.group(*self._train_ops)

    def is_initialized(self) -> Any:
        """True once means and covariances are set."""
        return self._initialized

    def alphas(self) -> Any:
        """The weights of clusters."""
        return self._alpha

    def clusters(self) -> Any:
        """The means [clusters, 1, dimensions]."""
        return self._means

    def covariances(self) -> Any:
        """The covariances of clusters, or their diagonals."""
        return self._covs

    def assignments(self) -> list[Any]:
        """The cluster of each point, per shard."""
        return [tf.argmax(weights, 1) for weights in self._w]

    def scores(self) -> Any:
        """The log probability of each point."""
        parts = [total + tf.log(weights) for total, weights in zip(self._totals, self._w, strict=True)]
        return tf.squeeze(tf.reduce_logsumexp(parts, axis=2, keepdims=True), axis=0)

    def log_likelihood_op(self) -> Any:
        """The log of the sum of the probabilities of all points."""
        return tf.reduce_logsumexp([tf.reduce_logsumexp(total) for total in self._totals])

    def _log_probabilities(self, shard: Any) -> Any:
        """[points, clusters]: the logs of the weight of a cluster times the density of a point in it. ``shard`` is [1, points, dimensions]."""
        if self._is_diagonal:
            log_det = tf.transpose(tf.reduce_sum(tf.log(self._covs + _LEAST_VARIANCE), 1, keepdims=True))
            precisions = tf.expand_dims(1.0 / (self._covs + _LEAST_VARIANCE), 2)
            distances = tf.transpose(tf.squeeze(tf.matmul(tf.squared_difference(shard, self._means), precisions), [2]))
        else:
            cholesky = tf.cholesky(self._covs + self._min_var)
            log_det = 2.0 * tf.reduce_sum(tf.log(tf.matrix_diag_part(cholesky)), 1)
            solved = tf.matrix_triangular_solve(cholesky, tf.transpose(shard - self._means, perm=[0, 2, 1]), lower=True)
            distances = tf.transpose(tf.reduce_sum(tf.square(solved), 1))
        return -0.5 * (distances + tf.cast(self._dimensions, tf.float32) * math.log(2 * math.pi) + log_det) + tf.log(self._alpha)

    def _maximization(self, data: list[Any]) -> list[Any]:
        """Operations that set the parameters by the points, weighted by their clusters' probabilities."""
        with tf.control_dependencies(self._w):
            points = tf.add_n([tf.reduce_sum(weights, 0) for weights in self._w])
            sums = tf.add_n([tf.expand_dims(tf.matmul(weights, shard, transpose_a=True), 1) for weights, shard in zip(self._w, data, strict=True)])
            squares = tf.add_n([tf.matmul(tf.transpose(shard) * tf.expand_dims(tf.transpose(weights), 1), tf.tile(
                tf.expand_dims(shard, 0), [self._num_classes, 1, 1])) for weights, shard in zip(self._w, data, strict=True)])
            steps = []
            if "w" in self._params:
                mean_points = points / len(data)
                steps.append(self._alpha.assign(mean_points / (tf.reduce_sum(mean_points) + _EPSILON)).op)
            counts = tf.reshape(points, [self._num_classes, 1, 1]) + _EPSILON
            moved = [tf.assign(self._means, tf.div(sums, counts)).op] if "m" in self._params else []
            with tf.control_dependencies(moved):
                means = self._means.value()
                covariances = squares / counts - tf.matmul(means, means, transpose_a=True) + self._min_var
                if self._is_diagonal:
                    covariances = tf.matrix_diag_part(covariances)
                if "c" in self._params:
                    moved = [tf.assign(self._covs, covariances, validate_shape=False).op]
        return steps + moved


def gmm(inp: Any, initial_clusters: Any, num_clusters: int, random_seed: int, covariance_type: str = FULL_COVARIANCE,
        params: str = "wmc") -> tuple[Any, ...]:
    """``tf.contrib.factorization.gmm``: (log likelihood, scores, [assignments], training step, initialisation, whether that is done)."""
    means = None
    if not isinstance(initial_clusters, tf.Tensor) and not (isinstance(initial_clusters, str) and initial_clusters == "random"):
        means = tf.constant(initial_clusters, dtype=tf.float32)
    model = GmmAlgorithm(inp if isinstance(inp, list) else [inp], num_clusters, means, params, covariance_type, random_seed)
    return (model.log_likelihood_op(), model.scores(), [model.assignments()], model.training_ops(), model.init_ops(), model.is_initialized())
