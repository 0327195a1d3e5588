"""Stochastic dual coordinate ascent for linear models with regularization: the ops of ``SDCAOptimizer``.

An example has a dual variable; a step moves those of a batch, one after the other, and with each the weights. TensorFlow draws the order from the
machine's entropy. Here it follows from what the step is given, so that runs repeat; what training converges to does not depend on it.
"""
from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import Attr, count, one_of
from penstock.graph.opdef import op
from penstock.ops.common import nothing, shape_text
from penstock.ops.state.sdca_losses import LOSSES, SdcaLoss
from penstock.platform.hashing import fingerprint128

_DECAY = 0.1  # of the chance to be drawn once more


@op("SdcaFprint", "input: string -> output: int64")
class SdcaFprint:
    """128-bit fingerprints of the ids of examples, as two numbers each. The first is neither 0 nor 1: tables use those."""

    gradient = None
    ranks = {"input": 1}

    def shape(input):
        return [input.shape.as_list()[0] if input.shape.ndims == 1 else None, 2]

    def kernel(input):
        words = np.array([fingerprint128(text) for text in input], np.uint64).reshape(-1, 2)
        words[words[:, 0] < 2, 0] += np.uint64(0xFFFFFFFFFFFFFFFE)
        return words.view(np.int64)


@op("SdcaShrinkL1", "weights: Ref(num_features * float) ->", num_features=count(), l1=Attr("float"), l2=Attr("float"))
class SdcaShrinkL1:
    """Moves weights towards 0 by l1 / l2, in place."""

    updates = ("weights",)
    shape = nothing()
    gradient = None

    def kernel(weights, l1, l2):
        for each in weights:
            with each.lock:
                each.assign(shrunk(each.read(), l1 / l2))
        return ()


def shrunk(weights: Any, by: float) -> Any:
    """The weights, nearer to 0 by so much."""
    return np.sign(weights) * np.maximum(np.abs(weights) - np.float32(by), np.float32(0))


_SIGNATURE = ("sparse_example_indices: num_sparse_features * int64, sparse_feature_indices: num_sparse_features * int64, "
              "sparse_feature_values: num_sparse_features_with_values * float, dense_features: num_dense_features * float, example_weights: float, "
              "example_labels: float, sparse_indices: num_sparse_features * int64, sparse_weights: num_sparse_features * float, "
              "dense_weights: num_dense_features * float, example_state_data: float -> out_example_state_data: float, "
              "out_delta_sparse_weights: num_sparse_features * float, out_delta_dense_weights: num_dense_features * float")
_COUNTS: dict[str, Any] = {"num_sparse_features": count(), "num_sparse_features_with_values": count(), "num_dense_features": count(),
                           "l1": Attr("float"), "l2": Attr("float"), "num_loss_partitions": Attr("int", minimum=1),
                           "num_inner_iterations": Attr("int", minimum=1)}


class _BatchUpdate:
    """A step over a batch: the states of its examples, and what is to be added to the weights."""

    gradient = None

    def shape(example_state_data, sparse_weights, dense_weights):
        return [example_state_data.shape, *[each.shape for each in sparse_weights], *[each.shape for each in dense_weights]]

    def kernel(sparse_example_indices, sparse_feature_indices, sparse_feature_values, dense_features, example_weights, example_labels,
               sparse_indices, sparse_weights, dense_weights, example_state_data, l1, l2, num_loss_partitions, loss_type, **arguments):
        if not sparse_weights and not dense_weights:
            raise invalid_argument("Requires at least one feature to train.")
        if example_state_data.shape != (example_weights.size, 4):
            raise invalid_argument(f"Expected shape [{example_weights.size},4] for example_state_data, got {shape_text(example_state_data)}")
        loss, state, deltas = LOSSES[loss_type], example_state_data.copy(), _Deltas(sparse_weights, dense_weights, l1 / l2, num_loss_partitions)
        examples = _examples(sparse_example_indices, sparse_feature_indices, sparse_feature_values, sparse_indices, dense_features,
                             deltas.starts, example_weights.size)
        labels, weights = [loss.label(float(label)) for label in example_labels.ravel()], example_weights.ravel().tolist()
        order = _order(examples, labels, weights, state, deltas, loss, l2, bool(arguments.get("adaptive", arguments.get("adaptative"))))
        for index in order:
            places, values = examples[index]
            label, weight, dual = labels[index], weights[index], float(state[index, 0])
            before, wx = deltas.predictions(places, values)
            updated = loss.updated_dual(label, dual, wx, num_loss_partitions * weight * float(values @ values) / l2)
            deltas.array[places] += values * ((updated - dual) * weight / l2)
            with np.errstate(over="ignore"):
                state[index] = updated, weight * loss.primal_loss(before, label), weight * loss.dual_loss(dual, label), weight
        return (state, *deltas.parts())


@op("SdcaOptimizer", _SIGNATURE, loss_type=one_of(*LOSSES), adaptative=False, **_COUNTS)
class SdcaOptimizer(_BatchUpdate):
    """One step of the first version, whose attribute is misspelt."""


@op("SdcaOptimizerV2", _SIGNATURE, loss_type=one_of(*LOSSES), adaptive=False, **_COUNTS)
class SdcaOptimizerV2(_BatchUpdate):
    """One step."""


class _Deltas:
    """The weights of all features one behind the other, and what this step adds to them."""

    def __init__(self, sparse: list[np.ndarray], dense: list[np.ndarray], shrinkage: float, partitions: int) -> None:
        self._shapes = [each.shape for each in [*sparse, *dense]]
        self._weights = np.concatenate([each.ravel() for each in [*sparse, *dense]]).astype(np.float64)
        self.starts = np.cumsum([0, *[each.size for each in [*sparse, *dense]]])
        self.array = np.zeros_like(self._weights)
        self._shrinkage, self._partitions = shrinkage, partitions

    def predictions(self, places: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        """What the weights predict for an example, before this step and now."""
        before = self._weights[places]
        now = before + self.array[places] * self._partitions
        if self._shrinkage:
            before, now = shrunk(before, self._shrinkage), shrunk(now, self._shrinkage)
        return float(before @ values), float(now @ values)

    def parts(self) -> list[np.ndarray]:
        """What is to be added to each of the weights."""
        cut = np.split(self.array.astype(np.float32), self.starts[1:-1])
        return [part.reshape(shape) for part, shape in zip(cut, self._shapes, strict=True)]


def _examples(rows: list[np.ndarray], features: list[np.ndarray], values: list[np.ndarray], ids: list[np.ndarray], dense: list[np.ndarray],
              starts: np.ndarray, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(places of weights, values) of each example."""
    all_rows, all_places, all_values = [], [], []
    for index, (row, feature, known) in enumerate(zip(rows, features, ids, strict=True)):
        order = np.argsort(known, kind="stable")
        place = np.searchsorted(known, feature, sorter=order)
        if feature.size and (place.max() >= known.size or np.any(known[order[place]] != feature)):
            raise invalid_argument("Found sparse feature indices out of valid range.")
        all_rows.append(row)
        all_places.append(order[place] + starts[index])
        all_values.append(values[index] if index < len(values) else np.ones(feature.size))
    for index, matrix in enumerate(dense, len(ids)):
        wide = matrix.reshape(number, -1)
        if wide.shape[1] > starts[index + 1] - starts[index]:
            raise invalid_argument(f"More dense features than we have parameters for: {wide.shape[1]}>{starts[index + 1] - starts[index]}")
        all_rows.append(np.repeat(np.arange(number), wide.shape[1]))
        all_places.append(np.tile(np.arange(wide.shape[1]) + starts[index], number))
        all_values.append(wide.ravel())
    row, place, value = (np.concatenate(each) for each in (all_rows, all_places, all_values))
    order = np.lexsort((place, row))
    row, place, value = row[order], place[order], value[order].astype(np.float64)
    if np.any((row[1:] == row[:-1]) & (place[1:] == place[:-1])):
        raise invalid_argument("Duplicate index in sparse vector.")
    cuts = np.searchsorted(row, np.arange(1, number))
    return list(zip(np.split(place, cuts), np.split(value, cuts), strict=True))


def _order(examples: list[tuple[np.ndarray, np.ndarray]], labels: list[float], weights: list[float], state: np.ndarray, deltas: _Deltas,
           loss: type[SdcaLoss], l2: float, adaptive: bool) -> Any:
    """The order of the examples. If it is adaptive, those that are far from their best dual variable come sooner, and more than once."""
    number = len(examples)
    random = np.random.default_rng([zlib.crc32(state.tobytes()), number])
    if not adaptive:
        return random.permutation(number)
    chances = np.array([
        weight * np.sqrt(values @ values + l2 * loss.smoothness) * abs(float(dual) + loss.derivative(deltas.predictions(places, values)[1], label))
        for (places, values), label, weight, dual in zip(examples, labels, weights, state[:, 0], strict=True)])
    if not chances.sum() > 0:
        return random.permutation(number)
    drawn = random.choice(number, 2 * number, p=chances / chances.sum())
    times, order = np.zeros(number, np.int64), list[int]()
    for index, chance in zip(drawn.tolist(), random.random(len(drawn)), strict=True):
        if chance <= _DECAY ** times[index] and len(order) < number:
            times[index] += 1
            order.append(index)
    # What is missing is filled up by number, as in TensorFlow: were it by chances, the same examples would have the last word in each step.
    return order + list(range(len(order), number))
