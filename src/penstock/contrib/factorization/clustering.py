"""``tf.contrib.factorization.KMeans``: the graph of k-means, by whole batches or by small ones (Sculley 2010)."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.ops.math.segment import unsorted_segment_sum
from penstock.ops.nn.clustering import KMC2ChainInitialization, KmeansPlusPlusInitialization, NearestNeighbors
from penstock.ops.nn.nn_ops import l2_normalize
from penstock.ops.sparse.embedding import embedding_lookup
from penstock.variables.variable import Variable

SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE = "squared_euclidean", "cosine"
RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT = "random", "kmeans_plus_plus", "kmc2"
CLUSTERS_VAR_NAME = "clusters"


class KMeans:
    """``tf.contrib.factorization.KMeans``: ``training_graph`` makes the ops that begin, assign and move the clusters of ``inputs``."""

    def __init__(self, inputs: Any, num_clusters: Any, initial_clusters: Any = RANDOM_INIT, distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
                 use_mini_batch: bool = False, mini_batch_steps_per_iteration: int = 1, random_seed: int = 0, kmeans_plus_plus_num_retries: int = 2,
                 kmc2_chain_length: int = 200) -> None:
        if isinstance(initial_clusters, str) and initial_clusters not in (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT):
            raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric '{distance_metric}'")
        self._inputs = inputs if isinstance(inputs, list) else [inputs]
        self._num_clusters, self._initial_clusters = num_clusters, initial_clusters
        self._is_cosine = distance_metric == COSINE_DISTANCE
        self._use_mini_batch, self._steps = use_mini_batch, int(mini_batch_steps_per_iteration)
        self._seed = random_seed
        self._retries, self._chain_length = kmeans_plus_plus_num_retries, kmc2_chain_length

    def _keeps_copy(self) -> bool:
        """Are the clusters that are moved a copy, which takes their place every few steps?"""
        return self._use_mini_batch and self._steps > 1

    def _has_unit_clusters(self) -> bool:
        return self._is_cosine and (not self._use_mini_batch or self._steps > 1)

    def training_graph(self) -> tuple[Any, ...]:
        """(all distances, indices of clusters, distances to them, whether clusters have been chosen, op that chooses them, op that trains).

        The first three are tuples with an element for each of the inputs.
        """
        given = self._initial_clusters
        if isinstance(given, str) or callable(given):
            count = tf.convert_to_tensor(self._num_clusters)
        else:
            given = tf.convert_to_tensor(given)
            count = tf.shape(given)[0]
        start = tf.constant([], dtype=tf.float32)
        clusters = Variable(start, name=CLUSTERS_VAR_NAME, validate_shape=False)
        initialized = Variable(False, dtype=tf.bool_, name="initialized")
        moved, countdown, counts = clusters, None, None
        if self._keeps_copy():
            moved = Variable(start, name="clusters_updated", validate_shape=False)
            countdown = Variable(self._steps, dtype=tf.int64, name="update_in_steps")
            counts = Variable(tf.zeros([count], dtype=tf.int64))
        elif self._use_mini_batch:
            counts = Variable(tf.ones([count], dtype=tf.int64))
        init_op = _Beginning(self, given, count, clusters, moved, initialized).op()
        inputs, centers = self._inputs, clusters
        if self._is_cosine:
            inputs = [l2_normalize(each, axis=1) for each in inputs]
            centers = clusters if self._has_unit_clusters() else l2_normalize(clusters, axis=1)
        all_scores, scores, indices = self._assign(inputs, centers)
        if not self._use_mini_batch:
            return all_scores, indices, scores, initialized, init_op, self._move_all(inputs, count, indices, clusters)
        with tf.control_dependencies([self._copy_back(countdown, clusters, moved, counts)]):
            train_op = self._move_some(inputs, indices, moved, counts)
        return all_scores, indices, scores, initialized, init_op, train_op

    def _assign(self, inputs: list[Any], clusters: Any) -> tuple[Any, ...]:
        """(all distances, distance of the nearest cluster, its index), for each of the inputs."""
        results = []
        for each in inputs:
            if self._is_cosine:
                scores = 1 - tf.matmul(each, clusters, transpose_b=True)
            else:
                scores = (tf.reduce_sum(tf.square(each), 1, keepdims=True) - 2 * tf.matmul(each, clusters, transpose_b=True)
                          + tf.transpose(tf.reduce_sum(tf.square(clusters), 1, keepdims=True)))
            units = l2_normalize(clusters, axis=1) if self._is_cosine and not self._has_unit_clusters() else clusters
            indices, distances = NearestNeighbors(each, units, 1)
            if self._is_cosine:  # of unit vectors: half the squared Euclidean one
                distances *= 0.5
            results.append((scores, tf.squeeze(distances, [-1]), tf.squeeze(indices, [-1])))
        return tuple(zip(*results))

    def _move_all(self, inputs: list[Any], count: Any, indices: Any, clusters: Any) -> Any:
        """Each cluster becomes the mean of its points."""
        epsilon = tf.constant(1e-6, dtype=inputs[0].dtype)
        sums = [unsorted_segment_sum(each, index, count) for each, index in zip(inputs, indices)]
        ones = [tf.reshape(tf.ones(tf.reshape(tf.shape(each)[0], [-1])), [-1, 1]) for each in inputs]
        counts = [unsorted_segment_sum(one, index, count) for one, index in zip(ones, indices)]
        means = tf.add_n(sums) / (tf.cast(tf.add_n(counts), sums[0].dtype) + epsilon)
        return tf.assign(clusters, l2_normalize(means, axis=1) if self._has_unit_clusters() else means)

    def _move_some(self, inputs: list[Any], all_indices: Any, clusters: Any, counts: Any) -> Any:
        """Clusters move towards their points of this batch, by less the more points they have seen."""
        updates = []
        for each, indices in zip(inputs, all_indices):
            ids, places = tf.unique(tf.reshape(indices, [-1]))
            number = tf.size(ids)
            before, centers = tf.gather(counts, ids), tf.gather(clusters, ids)
            more = unsorted_segment_sum(tf.ones_like(places, dtype=counts.dtype), places, number)
            extents = tf.concat([tf.reshape(number, [1]), tf.ones(tf.reshape(tf.rank(each) - 1, [1]), dtype=tf.int32)], 0)
            change = unsorted_segment_sum(each, places, number) - tf.cast(tf.reshape(more, extents), each.dtype) * centers
            change *= tf.reshape(tf.reciprocal(tf.cast(before + more, each.dtype)), extents)
            updates += [tf.scatter_add(counts, ids, more), tf.scatter_add(clusters, ids, change)]
        return tf.group(*updates)

    def _copy_back(self, countdown: Any, clusters: Any, moved: Any, counts: Any) -> Any:
        if not self._keeps_copy():
            return tf.no_op()

        def copy() -> Any:
            with tf.control_dependencies([tf.assign(countdown, self._steps - 1)]):
                units = l2_normalize(moved, axis=1) if self._is_cosine else moved
                with tf.control_dependencies([tf.assign(clusters, units)]), tf.control_dependencies([tf.assign(counts, tf.zeros_like(counts))]):
                    return tf.identity(countdown)

        return tf.cond(countdown <= 0, copy, lambda: tf.identity(tf.assign_sub(countdown, 1)))


class _Beginning:
    """The op that chooses clusters: run it until all of them are chosen, since a batch may have too few points."""

    def __init__(self, kmeans: KMeans, initial: Any, count: Any, clusters: Any, moved: Any, initialized: Any) -> None:
        self._kmeans, self._initial, self._count = kmeans, initial, count
        self._clusters, self._moved, self._initialized = clusters, moved, initialized
        self._inputs = kmeans._inputs
        self._chosen = tf.shape(clusters)[0]
        self._remaining = count - self._chosen
        self._points = tf.add_n([tf.shape(each)[0] for each in self._inputs])

    def op(self) -> Any:
        """Chooses more of them, or checks that all are chosen."""
        return tf.cond(tf.equal(self._remaining, 0), lambda: _as_op(tf.assert_equal(self._initialized, True)), self._begin)

    def _begin(self) -> Any:
        with tf.control_dependencies([tf.assert_positive(self._remaining)]):
            left = self._add_by_chains() if isinstance(self._initial, str) and self._initial == KMC2_INIT else self._add()
            return tf.cond(tf.equal(left, 0), lambda: _as_op(tf.assign(self._initialized, True)), tf.no_op)

    def _count_left(self, centers: Any) -> Any:
        """How many are left when these are the clusters."""
        assigned = tf.assign(self._clusters, centers, validate_shape=False)
        if self._moved is not self._clusters:
            assigned = tf.assign(self._moved, assigned, validate_shape=False)
        return self._count - tf.shape(assigned)[0]

    def _add(self) -> Any:
        new = self._choose()
        if self._kmeans._is_cosine:
            new = l2_normalize(new, axis=1)
        return self._count_left(tf.cond(tf.equal(self._chosen, 0), lambda: new, lambda: tf.concat([self._clusters, new], 0)))

    def _choose(self) -> Any:
        if not isinstance(self._initial, str):
            if callable(self._initial):
                return self._initial(self._inputs, self._remaining)
            with tf.control_dependencies([tf.assert_equal(self._remaining, tf.shape(self._initial)[0])]):
                return tf.identity(self._initial)
        if self._initial == RANDOM_INIT:
            return tf.cond(self._points <= self._remaining, lambda: tf.concat(self._inputs, 0), self._random)
        with tf.control_dependencies([tf.assert_greater_equal(self._points, self._remaining)]):
            points = l2_normalize(self._inputs[0], axis=1) if self._kmeans._is_cosine else self._inputs[0]
            return KmeansPlusPlusInitialization(points, tf.cast(self._remaining, tf.int64), self._kmeans._seed, self._kmeans._retries)

    def _random(self) -> Any:
        indices = tf.random_uniform(tf.reshape(self._remaining, [-1]), minval=0, maxval=tf.cast(self._points, tf.int64), seed=self._kmeans._seed,
                                    dtype=tf.int64)
        return embedding_lookup(self._inputs, indices, partition_strategy="div")

    def _add_by_chains(self) -> Any:
        """One cluster per stretch of the batch, each at the end of a chain over the stretch (Bachem et al. 2016)."""
        points, length = self._inputs[0], self._kmeans._chain_length
        stretches = tf.cast(tf.shape(points)[0] / length, dtype=tf.int32)
        wanted = tf.maximum(tf.minimum(self._remaining, stretches), 1)

        def unit(center: Any) -> Any:
            return l2_normalize(center, axis=1) if self._kmeans._is_cosine else center

        def end_of_chain(number: Any) -> Any:
            stretch = points[number * length:(number + 1) * length]
            _, distances = NearestNeighbors(stretch, self._clusters, 1)
            index = KMC2ChainInitialization(tf.squeeze(distances), self._kmeans._seed)
            return tf.concat([self._clusters, unit(tf.reshape(stretch[index], [1, -1]))], 0)

        def body(number: Any, _: Any) -> tuple[Any, Any]:
            centers = tf.cond(tf.equal(self._chosen, 0), lambda: unit(tf.reshape(points[0], [1, -1])), lambda: end_of_chain(number))
            return number + 1, self._count_left(centers)

        return tf.while_loop(lambda number, _: tf.less(number, wanted), body, [0, 0])[1]


def _as_op(result: Any) -> Any:
    return tf.group(result) if result is not None else tf.no_op()
