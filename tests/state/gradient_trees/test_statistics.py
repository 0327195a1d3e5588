"""Sums of gradients per leaf and bucket: in the order of the examples, so that equal gains round as TensorFlow's do."""
from __future__ import annotations

import numpy as np
import pytest

from penstock.state.gradient_trees.statistics import Statistics

pytestmark = pytest.mark.graph


def test_gradients_are_added_one_after_the_other():
    random = np.random.RandomState(0)
    leaves, buckets = random.randint(0, 2, 500), random.randint(0, 3, 500)
    gradients, hessians = (random.rand(500).astype(np.float32) for _ in range(2))
    statistics = Statistics()
    for part in (slice(0, 200), slice(200, 500)):  # two batches of one layer
        statistics.add(leaves[part], 0, buckets[part], gradients[part], hessians[part])
    sums = statistics.take()
    assert sums.keys.tolist() == [[leaf, 0, bucket] for leaf in range(2) for bucket in range(3)]
    for (leaf, _, bucket), gradient, hessian in zip(*sums):
        mine = (leaves == leaf) & (buckets == bucket)
        assert gradient == np.cumsum(gradients[mine])[-1] and hessian == np.cumsum(hessians[mine])[-1]
    assert statistics.take() is None


def test_rows_of_classes_are_added_too():
    statistics = Statistics()
    statistics.add(np.array([1, 1, 0]), 0, np.array([2, 2, 0]), np.ones([3, 2], np.float32), np.full([3, 2, 2], 0.5, np.float32))
    sums = statistics.take()
    assert sums.keys.tolist() == [[0, 0, 0], [1, 0, 2]]
    assert sums.gradients.tolist() == [[1, 1], [2, 2]] and sums.hessians[1].tolist() == [[1, 1], [1, 1]]
