"""FertileStats: what the leaves of a growing tree have seen, and the splits that each of them considers.

A leaf first collects candidates: each example that reaches it gives one, a random feature with the example's value as threshold. Then examples are
counted on both sides of each candidate. When a leaf has seen enough of them, the best candidate becomes its test (see ``state/decision_trees.py``).
"""
from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from penstock.errors import invalid_argument, unimplemented
from penstock.state.decision_trees import EQUAL, SplitTest, goes_left
from penstock.state.forest_protos import FertileStats as FertileStatsProto

_NO_PRUNING, _HOEFFDING_PRUNING, _PRUNED_SHARES = 0, 4, {1: 0.5, 2: 0.25, 3: 0.10}
_BASIC_FINISH, _HOEFFDING_FINISH = 0, 2
_FIXED_SIZE = 4


def resolve(param: Any, depth: int) -> float:
    """The value of a parameter that depends on the depth of a leaf."""
    kind = param.WhichOneof("ParamType")
    if kind == "constant_value":
        return float(param.constant_value)
    value = getattr(param, kind or "linear")
    if kind == "linear":
        return float(min(max(depth * value.slope + value.y_intercept, value.min_val), value.max_val))
    if kind == "exponential":
        return float(value.bias + value.multiplier * value.base ** (value.depth_multiplier * depth))
    if kind == "threshold":
        return float(value.on_value if depth >= value.threshold else value.off_value)
    raise invalid_argument("a parameter of the forest has no value: constant_value, linear, exponential or threshold")


class Best(NamedTuple):
    """The split of a leaf, and the values of its two new leaves."""

    test: SplitTest
    left: np.ndarray
    right: np.ndarray


class LeafStats:
    """What a leaf has seen. Kinds of statistics say how examples are added and splits are scored."""

    def __init__(self, params: Any, depth: int) -> None:
        self.params, self.depth, self.weight = params, depth, np.float32(0)
        self.tests: list[SplitTest] = []
        self._outputs, self._enough = params.num_outputs, resolve(params.split_after_samples, depth)
        self._wanted = int(resolve(params.num_splits_to_consider, depth))

    @property
    def is_initialized(self) -> bool:
        """True if it has all its candidates."""
        return bool(self.weight > 0) or len(self.tests) == self._wanted

    @property
    def is_finished(self) -> bool:
        """True if it has seen enough."""
        return bool(self.weight >= self._enough)

    def add_candidate(self, test: SplitTest, examples: Any, example: int) -> None:
        """Adds a candidate that came of an example, unless there are enough."""
        if len(self.tests) < self._wanted:
            self.tests.append(test)
            self._grow()

    def _sides(self, examples: Any, rows: np.ndarray) -> np.ndarray:
        """float32 [rows, candidates]: 1 where an example goes left."""
        features, thresholds, kinds = (np.array(part) for part in zip(*self.tests, strict=True))
        values = examples.values(np.repeat(rows, len(features)), np.tile(features, len(rows))).reshape(len(rows), -1)
        return goes_left(values, thresholds.astype(np.float32), kinds).astype(np.float32)

    def _grow(self) -> None:
        raise NotImplementedError(f"{type(self).__name__}._grow")

    def add(self, examples: Any, rows: np.ndarray) -> None:
        """Adds examples, in this order."""
        raise NotImplementedError(f"{type(self).__name__}.add")

    def best(self) -> Best | None:
        """The best split; None if no candidate splits."""
        raise NotImplementedError(f"{type(self).__name__}.best")

    def write(self, slot: Any) -> None:
        """Into a FertileSlot."""
        raise NotImplementedError(f"{type(self).__name__}.write")

    def read(self, slot: Any) -> None:
        """Out of a FertileSlot."""
        raise NotImplementedError(f"{type(self).__name__}.read")


class GiniStats(LeafStats):
    """Weights of classes, in all and left of each candidate; splits are scored by the Gini impurity, smoothed by one example per class."""

    def __init__(self, params: Any, depth: int) -> None:
        super().__init__(params, depth)
        if params.stats_type == _FIXED_SIZE:
            raise unimplemented("forests that track a fixed number of classes (num_classes_to_track): leave stats_type as it is")
        self._total, self._left = np.zeros(self._outputs, np.float32), np.zeros((0, self._outputs), np.float32)
        # Candidates whose threshold waits for an example of another class, with the class that they have; the thresholds that came of it, which the
        # tree will have. Examples are counted by the first one, as TensorFlow counts them.
        self._half, self._averages = dict[int, int](), dict[int, float]()
        self._finished_early, self._finish_epoch, self._prune_epoch = False, 1, 1
        self._prunes, self._finishes = params.pruning_type.type, params.finish_type.type
        if self._finishes not in (_BASIC_FINISH, _HOEFFDING_FINISH):
            raise unimplemented("split_finish_name='bootstrap'; use 'basic' or 'hoeffding'")
        if self._finishes:
            if params.min_split_samples.WhichOneof("ParamType") is None:
                raise invalid_argument("dominate_fraction and min_split_samples are required for early finishing.",
                                       "set min_split_samples in param_file")
            self._least, self._check_every = resolve(params.min_split_samples, depth), resolve(params.finish_type.check_every_steps, depth)
            self._finish_epoch = int(self._least / self._check_every)

    @property
    def is_initialized(self) -> bool:
        """True if it has all its candidates, and they their thresholds."""
        return bool(self.weight > 0) or (len(self.tests) == self._wanted and not self._half)

    @property
    def is_finished(self) -> bool:
        """True if it has seen enough of two classes at least, or enough to choose early."""
        return (super().is_finished and bool(np.count_nonzero(self._total) > 1)) or self._finished_early

    def _grow(self) -> None:
        self._left = np.concatenate([self._left, np.zeros((1, self._outputs), np.float32)])

    def add_candidate(self, test: SplitTest, examples: Any, example: int) -> None:
        """Adds a candidate. Its threshold may become the mean of this example and the next of another class."""
        count, label = len(self.tests), examples.label(example)
        super().add_candidate(test, examples, example)
        if not self.params.initialize_average_splits:
            return
        if len(self.tests) > count and test.kind != EQUAL:
            self._half[count] = label
        for split in [split for split, seen in self._half.items() if seen != label]:
            value = examples.values(np.array([example]), np.array([self.tests[split].feature]))[0]
            self._averages[split] = float((np.float32(self.tests[split].threshold) + value) / np.float32(2))
            del self._half[split]

    def add(self, examples: Any, rows: np.ndarray) -> None:
        """Adds examples: one by one where candidates may be dropped on the way."""
        if not self._prunes and not self._finishes:
            self._count(examples, rows)
            return
        for row in rows:
            self._count(examples, np.array([row]))
            self._check_finish()
            self._check_prune()

    def _count(self, examples: Any, rows: np.ndarray) -> None:
        weights = np.zeros((len(rows), self._outputs), np.float32)
        weights[np.arange(len(rows)), examples.labels(rows)] = examples.weights(rows)
        self._left = _sequential_sum(self._left, self._sides(examples, rows)[:, :, None] * weights[:, None])
        self._total = _sequential_sum(self._total, weights)
        self.weight = _sequential_sum(self.weight, examples.weights(rows))

    def _scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(the score of each candidate, the smaller the better; the weights left and right of it)."""
        right = self._total - self._left
        left_sum, right_sum = self._left.sum(1), right.sum(1)
        return _weighted_gini(left_sum, (self._left ** 2).sum(1), self._outputs) + _weighted_gini(
            right_sum, (right ** 2).sum(1), self._outputs), left_sum, right_sum

    def best(self) -> Best | None:
        """The candidate with the smallest impurity that has examples on both sides."""
        scores, left_sum, right_sum = self._scores()
        scores = np.where((left_sum > 0) & (right_sum > 0), scores, np.inf)
        if not np.isfinite(scores).any():
            return None
        index = int(np.argmin(scores))
        return Best(self._final(index), self._left[index], self._total - self._left[index])

    def _final(self, index: int) -> SplitTest:
        return self.tests[index]._replace(threshold=self._averages.get(index, self.tests[index].threshold))

    def _check_finish(self) -> None:
        if not self._finishes or self.weight < self._least or self.weight < self._finish_epoch * self._check_every:
            return
        self._finish_epoch += 1
        share = resolve(self.params.dominate_fraction, self.depth)
        bound = 0.25 * self._outputs * float(self.weight) * math.sqrt(math.log(1 / (1 - share)) / (2 * float(self.weight)))
        first, second = np.sort(self._scores()[0])[:2]
        self._finished_early = bool(second - first > bound)

    def _check_prune(self) -> None:
        if not self._prunes or self.is_finished:
            return
        if self.weight < self._prune_epoch * resolve(self.params.pruning_type.prune_every_samples, self.depth):
            return
        self._prune_epoch += 1
        scores = self._scores()[0].tolist()
        if self._prunes == _HOEFFDING_PRUNING:
            share = resolve(self.params.dominate_fraction, self.depth)
            epsilon = float(self.weight) * (1 - 1 / self._outputs) * math.sqrt(0.5 * math.log(1 / (1 - share)) / float(self.weight))
            self._keep([index for index, score in enumerate(scores) if score - min(scores) <= epsilon])
            return
        worst = _largest(scores, int(len(scores) * _PRUNED_SHARES[self._prunes]))
        self._keep([index for index in range(len(scores)) if index not in worst])

    def _keep(self, indices: list[int]) -> None:
        self._averages = {new: self._averages[old] for new, old in enumerate(indices) if old in self._averages}
        self.tests, self._left = [self.tests[index] for index in indices], self._left[indices]

    def write(self, slot: Any) -> None:
        """Into a FertileSlot."""
        slot.post_init_leaf_stats.weight_sum = self.weight
        self._write_counts(slot.post_init_leaf_stats, self._total)
        for index, counts in enumerate(self._left):
            candidate = slot.candidates.add()
            self._final(index).write(candidate.split)
            self._write_counts(candidate.left_stats, counts)

    def _write_counts(self, stats: Any, counts: np.ndarray) -> None:
        if self.params.stats_type == 1:
            for label in np.flatnonzero(counts).tolist():
                stats.classification.sparse_counts.sparse_value[label].float_value = counts[label]
        else:
            _write_vector(stats.classification.dense_counts, counts)

    def read(self, slot: Any) -> None:
        """Out of a FertileSlot."""
        if not slot.HasField("post_init_leaf_stats"):
            return
        self.weight = np.float32(slot.post_init_leaf_stats.weight_sum)
        self._total = self._read_counts(slot.post_init_leaf_stats)
        self.tests = [SplitTest.read(candidate.split) for candidate in slot.candidates]
        self._left = np.array([self._read_counts(candidate.left_stats) for candidate in slot.candidates], np.float32).reshape(-1, self._outputs)

    def _read_counts(self, stats: Any) -> np.ndarray:
        if stats.classification.WhichOneof("counts") != "sparse_counts":
            return _read_vector(stats.classification.dense_counts, self._outputs)
        counts = np.zeros(self._outputs, np.float32)
        for label, value in stats.classification.sparse_counts.sparse_value.items():
            counts[label] = value.float_value
        return counts


class LeastSquaresStats(LeafStats):
    """Sums and squares of outputs, in all and left of each candidate; splits are scored by the variances of both sides. Weights do not count."""

    def __init__(self, params: Any, depth: int) -> None:
        super().__init__(params, depth)
        self._total = np.zeros((2, self._outputs), np.float32)     # sums, sums of squares
        self._left = np.zeros((0, 2, self._outputs), np.float32)
        self._left_count = np.zeros(0, np.float32)

    def _grow(self) -> None:
        self._left = np.concatenate([self._left, np.zeros((1, 2, self._outputs), np.float32)])
        self._left_count = np.append(self._left_count, np.float32(0))

    def add(self, examples: Any, rows: np.ndarray) -> None:
        """Adds examples."""
        outputs = examples.outputs(rows)
        moments = np.stack([outputs, outputs * outputs], 1)
        sides = self._sides(examples, rows)
        self._left = _sequential_sum(self._left, sides[:, :, None, None] * moments[:, None])
        self._left_count += sides.sum(0)
        self._total = _sequential_sum(self._total, moments)
        self.weight = np.float32(self.weight + len(rows))

    def best(self) -> Best | None:
        """The candidate with the smallest variances that has examples on both sides."""
        right_count = self.weight - self._left_count
        valid = (self._left_count > 0) & (right_count > 0)
        if not valid.any():
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = _variance(self._left, self._left_count) + _variance(self._total - self._left, right_count)
        index = int(np.argmin(np.where(valid, variances.sum(1), np.inf)))
        sums, right = self._left[index, 0], self._total[0] - self._left[index, 0]
        return Best(self.tests[index], sums / self._left_count[index], right / right_count[index])

    def write(self, slot: Any) -> None:
        """Into a FertileSlot."""
        slot.post_init_leaf_stats.weight_sum = self.weight
        self._write_moments(slot.post_init_leaf_stats, self._total)
        for test, moments, count in zip(self.tests, self._left, self._left_count.tolist(), strict=True):
            candidate = slot.candidates.add()
            test.write(candidate.split)
            candidate.left_stats.weight_sum = count
            self._write_moments(candidate.left_stats, moments)

    @staticmethod
    def _write_moments(stats: Any, moments: np.ndarray) -> None:
        _write_vector(stats.regression.mean_output, moments[0])
        _write_vector(stats.regression.mean_output_squares, moments[1])

    def read(self, slot: Any) -> None:
        """Out of a FertileSlot."""
        if not slot.HasField("post_init_leaf_stats"):
            return
        self.weight = np.float32(slot.post_init_leaf_stats.weight_sum)
        self._total = self._read_moments(slot.post_init_leaf_stats)
        self.tests = [SplitTest.read(candidate.split) for candidate in slot.candidates]
        moments = [self._read_moments(candidate.left_stats) for candidate in slot.candidates]
        self._left = np.array(moments, np.float32).reshape(-1, 2, self._outputs)
        self._left_count = np.array([candidate.left_stats.weight_sum for candidate in slot.candidates], np.float32)

    def _read_moments(self, stats: Any) -> np.ndarray:
        return np.stack([_read_vector(part, self._outputs) for part in (stats.regression.mean_output, stats.regression.mean_output_squares)])


class FertileStats:
    """The resource: statistics by leaf."""

    def __init__(self, name: str) -> None:
        self.name, self.initialized, self.leaves = name, False, dict[int, LeafStats]()

    def load(self, serialized: bytes, params: Any) -> None:
        """Replaces everything; without any leaf there is the root."""
        try:
            slots = FertileStatsProto.FromString(serialized).node_to_slot
        except DecodeError:
            raise invalid_argument("Unable to parse stats config.") from None
        self.leaves.clear()
        for slot in slots:
            self.start(slot.node_id, slot.depth, params).read(slot)
        if not self.leaves:
            self.start(0, 0, params)
        self.initialized = True

    def start(self, leaf: int, depth: int, params: Any) -> LeafStats:
        """Empty statistics for a leaf."""
        self.leaves[leaf] = (LeastSquaresStats if params.is_regression else GiniStats)(params, depth)
        return self.leaves[leaf]

    def serialize(self, params: Any) -> bytes:
        """The protocol buffer. What leaves have seen is part of it if ``checkpoint_stats`` says so."""
        proto = FertileStatsProto()
        for leaf, stats in self.leaves.items():
            slot = proto.node_to_slot.add(node_id=leaf, depth=stats.depth)
            if params.checkpoint_stats:
                stats.write(slot)
        serialized: bytes = proto.SerializeToString()
        return serialized


def _sequential_sum(total: Any, added: np.ndarray) -> Any:
    """A sum, one example after the other: ties decide which split is taken, so it is rounded as TensorFlow's."""
    return np.cumsum(np.concatenate([np.asarray(total)[None], added]), 0, np.float32)[-1]


def _weighted_gini(total: np.ndarray, squares: np.ndarray, classes: int) -> np.ndarray:
    """Rounded where TensorFlow's is: ties decide which split is taken."""
    smoothed = np.float32(classes) + total
    return total * (1.0 - ((squares + 2 * total + np.float32(classes)) / (smoothed * smoothed)).astype(np.float64)).astype(np.float32)


def _variance(moments: np.ndarray, counts: np.ndarray) -> np.ndarray:
    means = moments / counts[:, None, None]
    variances: np.ndarray = means[:, 1] - means[:, 0] * means[:, 0]
    return variances


def _largest(scores: list[float], count: int) -> set[int]:
    """The indices of the largest scores; of equal ones those that a heap keeps, as TensorFlow's does."""
    heap: list[tuple[float, int]] = []
    for index, score in enumerate(scores):
        if len(heap) < count:
            heapq.heappush(heap, (score, index))
        elif count and heap[0][0] < score:
            heapq.heapreplace(heap, (score, index))
    return {index for _, index in heap}


def _write_vector(vector: Any, values: np.ndarray) -> None:
    for value in values.tolist():
        vector.value.add().float_value = value


def _read_vector(vector: Any, size: int) -> np.ndarray:
    return np.array([value.float_value for value in vector.value] or [0] * size, np.float32)
