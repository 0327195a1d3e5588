"""``cluster_loss``: a margin between the clustering that the labels say and the worst one that embeddings allow (Song et al. 2017).

A clustering is a set of medoids, one per class; its energy is the sum of the distances from each embedding to the nearest medoid. Which medoids have
the least energy, counting a margin for clusters that disagree with the labels, is searched for in NumPy: the choice has no gradient. The loss of the
chosen ones is made of operations.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.losses.metric_learning import pairwise_distance
from penstock.ops.math.segment import unsorted_segment_min
from penstock.summary import summary

Score = Callable[[np.ndarray, np.ndarray], float]
# Functions of sklearn.metrics: how well clusters agree with labels.
_SCORES = {"nmi": "normalized_mutual_info_score", "ami": "adjusted_mutual_info_score", "ari": "adjusted_rand_score", "vmeasure": "v_measure_score"}
_REFINEMENTS = 5


def cluster_loss(labels: Any, embeddings: Any, margin_multiplier: Any, enable_pam_finetuning: bool = True, margin_type: str = "nmi",
                 print_losses: bool = False) -> tf.Tensor:
    """``tf.contrib.losses.metric_learning.cluster_loss``. ``margin_type`` is a score of scikit-learn, or "const": 0 or 1."""
    score = _score(margin_type)
    distances, labels = pairwise_distance(embeddings), tf.squeeze(labels)

    def search(distances: np.ndarray, labels: np.ndarray, weight: np.float32) -> tuple[np.ndarray, np.float32]:
        candidates = _Search(distances, labels, weight, score)
        medoids = candidates.refined(candidates.greedy()) if enable_pam_finetuning else candidates.greedy()
        return np.array(medoids, np.int32), np.float32(score(labels, candidates.clusters(medoids)))

    weight = tf.cast(margin_multiplier, tf.float32)
    medoids, agreement = tf.py_func(search, [distances, labels, weight], [tf.int32, tf.float32], stateful=False)
    energy = -tf.reduce_sum(tf.reduce_min(tf.gather(distances, medoids), axis=0))
    wanted = _energy_of_labels(distances, labels)
    loss = tf.maximum(energy + weight * (1.0 - agreement) - wanted, 0.0, name="clustering_loss")
    loss.set_shape([])
    if print_losses:
        loss = tf.Print(loss, ["clustering_loss: ", loss, tf.shape(loss)])
    summary.scalar("losses/score_pred", energy)
    summary.scalar(f"losses/{margin_type}", agreement)
    summary.scalar("losses/score_gt", wanted)
    return loss


def _energy_of_labels(distances: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """That of the best medoid of each class."""
    is_same = tf.cast(tf.equal(labels[:, None], labels[None, :]), distances.dtype)
    classes, numbers = tf.unique(labels)
    return -tf.reduce_sum(unsorted_segment_min(tf.reduce_sum(distances * is_same, axis=0), numbers, tf.size(classes)))


def _score(margin_type: str) -> Score:
    if margin_type == "const":
        return lambda labels, clusters: float(np.array_equal(labels, clusters))
    if margin_type not in _SCORES:
        raise ValueError(f"Unrecognized margin_type: {margin_type}")
    try:
        score = getattr(importlib.import_module("sklearn.metrics"), _SCORES[margin_type])  # needed by this loss alone
    except ImportError:
        raise ImportError("Cluster loss depends on sklearn.") from None
    return lambda labels, clusters: max(0.0, score(labels, clusters))


class _Search:
    """The search for medoids with a large score: little energy, and clusters that disagree with the labels."""

    def __init__(self, distances: np.ndarray, labels: np.ndarray, weight: np.float32, score: Score) -> None:
        self._distances, self._labels, self._weight, self._score = distances, labels, weight, score
        self._number = len(np.unique(labels))

    def clusters(self, medoids: list[int]) -> np.ndarray:
        """The cluster of each embedding: that of the nearest medoid; a medoid's own is its own."""
        nearest = np.argmin(self._distances[medoids], axis=0)
        nearest[medoids] = np.arange(len(medoids))
        return nearest

    def greedy(self) -> list[int]:
        """One medoid after the other, each the best beside those before it."""
        medoids: list[int] = []
        for _ in range(self._number):
            rest = [each for each in range(len(self._distances)) if each not in medoids]
            nearest = self._distances[medoids].min(axis=0) if medoids else np.float32(np.inf)
            medoids.append(self._best(rest, [-np.minimum(nearest, self._distances[each]).sum() for each in rest],
                                      [[*medoids, each] for each in rest]))
        return medoids

    def refined(self, medoids: list[int]) -> list[int]:
        """Each medoid in turn moves to the best place in its cluster."""
        for _ in range(_REFINEMENTS):
            clusters = self.clusters(medoids)
            for number in range(self._number):
                members = np.flatnonzero(clusters == number)
                energies = -self._distances[np.ix_(members, members)].sum(axis=0)
                best = self._best(members, energies, [[*medoids[:number], each, *medoids[number + 1:]] for each in members])
                medoids = [*medoids[:number], best, *medoids[number + 1:]]
        return medoids

    def _best(self, candidates: Any, energies: Any, choices: list[list[Any]]) -> int:
        margins = [1.0 - self._score(self._labels, self.clusters(choice)) for choice in choices]
        return int(candidates[int(np.argmax(np.asarray(energies, np.float32) + self._weight * np.asarray(margins, np.float32)))])
