"""The statistics that trees are grown from: sums of gradients and hessians per node and bucket, and the best split of each node.

All sums are float32 and in the order of examples and buckets; two gains are equal if they differ by less than 1e-15. So ties end as in TensorFlow.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.attrs import Attr, count
from penstock.graph.opdef import op

_TINY = np.float32(1e-15)


def are_equal(first: np.float32, second: np.float32) -> bool:
    """True for gains that hardly differ."""
    return bool(abs(first - second) < _TINY)


def is_larger(first: np.float32, second: np.float32) -> bool:
    """True if the first gain is larger."""
    return bool(first - second >= _TINY)


def weights_and_gains(gradients: np.ndarray, hessians: np.ndarray, l1: Any, l2: Any) -> tuple[np.ndarray, np.ndarray]:
    """(the best value of a leaf with these sums, what it gains); both 0 where the gradient is within ``l1`` or there is no curvature."""
    if l1 > 0:
        gradients = np.sign(gradients) * np.maximum(np.abs(gradients) - l1, np.float32(0))
    curvature = hessians + l2
    flat = curvature <= _TINY
    weights = np.where(flat, np.float32(0), -gradients / np.where(flat, np.float32(1), curvature))
    return weights, -gradients * weights


@op("BoostedTreesMakeStatsSummary", "node_ids: int32, gradients: float, hessians: float, bucketized_features_list: num_features * int32 -> "
    "stats_summary: float", max_splits=Attr("int", minimum=1), num_buckets=Attr("int", minimum=1), num_features=count(1))
class BoostedTreesMakeStatsSummary:
    """The sums of gradients and of hessians per feature, node and bucket: [features, max_splits, num_buckets, 2]."""

    ranks = {"node_ids": 1, "gradients": 2, "hessians": 2}
    gradient = None

    def shape(bucketized_features_list, max_splits, num_buckets):
        return [len(bucketized_features_list), max_splits, num_buckets, 2]

    def kernel(node_ids, gradients, hessians, bucketized_features_list, max_splits, num_buckets):
        sums = np.zeros((len(bucketized_features_list), max_splits, num_buckets, 2), np.float32)
        pairs = np.stack([gradients[:, 0], hessians[:, 0]], 1)
        for of_feature, buckets in zip(sums, bucketized_features_list):
            # Quantiles can give some buckets more than were asked for. TensorFlow writes behind the end then; here they join the last one.
            np.add.at(of_feature, (node_ids, np.minimum(buckets, num_buckets - 1)), pairs)
        return sums


_GAINS = ("node_id_range: int32, stats_summary_list: num_features * float, l1: float, l2: float, tree_complexity: float, min_node_weight: float -> "
          "node_ids_list: num_features * int32, gains_list: num_features * float, thresholds_list: num_features * int32, "
          "left_node_contribs_list: num_features * float, right_node_contribs_list: num_features * float")


@op("BoostedTreesCalculateBestGainsPerFeature", _GAINS, max_splits=Attr("int", minimum=1), num_features=count(1))
class BoostedTreesCalculateBestGainsPerFeature:
    """For each feature the best split of each node in a range: its gain, its bucket, the values of both children."""

    gradient = None
    dynamic_shape = True
    ranks = {"l1": 0, "l2": 0, "tree_complexity": 0, "min_node_weight": 0}

    def shape(node_id_range, stats_summary_list):
        count = len(stats_summary_list)
        return [[None]] * 3 * count + [[None, 1]] * 2 * count

    def kernel(node_id_range, stats_summary_list, l1, l2, tree_complexity, min_node_weight):
        outputs: list[list[np.ndarray]] = [[], [], [], [], []]
        for summary in stats_summary_list:
            rows = [(node, *_best_split(summary[node], l1, l2, tree_complexity)) for node in range(*node_id_range.tolist())
                    if not np.cumsum(summary[node, :, 1])[-1] < min_node_weight]
            nodes, gains, buckets, left, right = zip(*rows) if rows else [()] * 5
            outputs[0].append(np.array(nodes, np.int32))
            outputs[1].append(np.array(gains, np.float32))
            outputs[2].append(np.array(buckets, np.int32))
            outputs[3].append(np.array(left, np.float32).reshape(-1, 1))
            outputs[4].append(np.array(right, np.float32).reshape(-1, 1))
        return tuple(array for arrays in outputs for array in arrays)


def _best_split(sums: np.ndarray, l1: Any, l2: Any, complexity: Any) -> tuple[np.float32, int, np.float32, np.float32]:
    """(gain, bucket, value of the left child, value of the right child) of a node, of its sums per bucket."""
    ends = np.cumsum(sums, axis=0, dtype=np.float32)
    rest = ends[-1] - ends
    _, before = weights_and_gains(ends[-1, 0], ends[-1, 1], l1, l2)
    left, left_gains = weights_and_gains(ends[:, 0], ends[:, 1], l1, l2)
    right, right_gains = weights_and_gains(rest[:, 0], rest[:, 1], l1, l2)
    gains = left_gains + right_gains
    best = 0
    # Only a gain above all before it can win: the loop goes over those.
    for bucket in np.flatnonzero(gains[1:] > np.maximum.accumulate(gains)[:-1]) + 1:
        if is_larger(gains[bucket], gains[best]):
            best = int(bucket)
    return gains[best] - before - complexity, best, left[best], right[best]
