"""What CTCLoss computes: the probability of all paths that give the wanted labels, and among these that of each class at each step.

The states of an alignment are the labels with blanks around them. A path stays in a state, goes on to the next one, or passes over a blank. What is
known of the steps before is carried forward, and of the steps behind backward: as probabilities, which are scaled in each step, since products of
hundreds of them would be 0. Where one becomes 0 all the same, because a network is very sure of something else, logarithms are carried.
"""
from __future__ import annotations

import numpy as np


class Lattice:
    """The states of the alignments of one batch, and which moves are allowed. Arrays are [batch, states]."""

    def __init__(self, rows: list[list[int]], blank: int, merge_repeated: bool) -> None:
        batch, width = len(rows), 2 * max(map(len, rows), default=0) + 1
        self.states = np.full((batch, width), blank)
        for number, row in enumerate(rows):
            self.states[number, 1:2 * len(row):2] = row
        self.ends = np.array([2 * len(row) + 1 for row in rows], int)
        is_blank = self.states == blank
        self.valid = np.arange(width) < self.ends[:, None]
        # Which of the three moves is allowed: stay, from the state before, from the label before that one.
        self.stay = is_blank | merge_repeated
        repeated = np.zeros_like(is_blank)
        repeated[:, 2:] = self.states[:, 2:] == self.states[:, :-2]
        self.skip = ~is_blank & ~(repeated & merge_repeated)
        self.skip[:, :2] = False


def posteriors(rows: list[list[int]], log_probability: np.ndarray, lengths: np.ndarray, wanted: np.ndarray,
               merge_repeated: bool) -> tuple[np.ndarray, np.ndarray]:
    """(the logarithm of the probability of each example's labels, the probability of each class at each step given these); of examples that are not
    ``wanted`` it may be anything. Classes, the last of which is the blank, are the last axis of ``log_probability``: [steps, batch, classes]."""
    if not len(log_probability):
        return np.zeros(len(rows)), np.zeros_like(log_probability)
    blank = log_probability.shape[2] - 1
    total, result = _by_products(Lattice(rows, blank, merge_repeated), log_probability, lengths)
    lost = np.flatnonzero(~np.isfinite(total) & wanted)
    if len(lost):
        lattice = Lattice([rows[number] for number in lost], blank, merge_repeated)
        total[lost], result[:, lost] = _by_logarithms(lattice, log_probability[:, lost], lengths[lost])
    return total, result


# --- probabilities -----------------------------------------------------------------------------------------------------------------------

def _by_products(lattice: Lattice, log_probability: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``posteriors``; the first part is not finite for examples that need logarithms."""
    steps, batch, classes = log_probability.shape
    of_class = ((lattice.states[:, None] == np.arange(classes)[:, None]) & lattice.valid[:, None]).astype(np.float64)  # [batch, classes, states]
    emissions = np.ascontiguousarray(np.matmul(np.exp(log_probability).transpose(1, 0, 2), of_class).transpose(1, 0, 2))
    before, scales = _forward(lattice, emissions)
    joint = before * _backward(lattice, emissions, lengths)
    shares = joint.sum(axis=2)
    inside, examples = np.arange(steps)[:, None] < lengths, np.arange(batch)
    ends = before[lengths - 1, examples]
    end = ends[examples, lattice.ends - 1] + np.where(lattice.ends > 1, ends[examples, lattice.ends - 2], 0.0)
    with np.errstate(divide="ignore"):
        total = np.where(inside, np.log(scales) + np.where(shares > 0, 0.0, -np.inf), 0.0).sum(axis=0) + np.log(end)
    joint /= np.where(shares > 0, shares, 1.0)[:, :, None]
    return total, np.matmul(joint.transpose(1, 0, 2), of_class.transpose(0, 2, 1)).transpose(1, 0, 2)


def _forward(lattice: Lattice, emissions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probability to be in a state at a step, over the paths up to it, in shares of their sum; and what these sums are multiplied by per step."""
    stay, skip = lattice.stay.astype(np.float64), lattice.skip[:, 2:].astype(np.float64)
    result, scales = np.zeros(emissions.shape), np.empty(emissions.shape[:2])
    result[0, :, :2] = emissions[0, :, :2]
    for step, now in enumerate(result):
        if step:
            before = result[step - 1]
            np.multiply(before, stay, out=now)
            now[:, 1:] += before[:, :-1]
            now[:, 2:] += before[:, :-2] * skip
            now *= emissions[step]
        scales[step] = _scale(now)
    return result, scales


def _backward(lattice: Lattice, emissions: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The probability of the rest of the path, after a step in a state; for each step and example times some number."""
    stay, skip = lattice.stay.astype(np.float64), lattice.skip[:, 2:].astype(np.float64)
    ends = np.arange(emissions.shape[2]) >= (lattice.ends - 2)[:, None]
    result, last = np.zeros(emissions.shape), set((lengths - 1).tolist())
    for step in range(len(emissions) - 1, -1, -1):
        now = result[step]
        if step + 1 < len(emissions):
            after = result[step + 1] * emissions[step + 1]
            np.multiply(after, stay, out=now)
            now[:, :-1] += after[:, 1:]
            now[:, :-2] += after[:, 2:] * skip
        if step in last:
            starts = step == lengths - 1
            now[starts] = (ends & lattice.valid)[starts]
        _scale(now)
    return result


def _scale(values: np.ndarray) -> np.ndarray:
    """Divides rows by their sums, which are returned; a row of zeros stays one."""
    sums: np.ndarray = values.sum(axis=1)
    values /= np.where(sums > 0, sums, 1.0)[:, None]
    return sums


# --- logarithms --------------------------------------------------------------------------------------------------------------------------

def _by_logarithms(lattice: Lattice, log_probability: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``posteriors``, whatever the probabilities are."""
    spread = np.broadcast_to(lattice.states, (len(log_probability), *lattice.states.shape))
    with np.errstate(divide="ignore", invalid="ignore"):
        emissions = np.where(lattice.valid, np.take_along_axis(log_probability, spread, axis=2), -np.inf)
        joint = _log_forward(lattice, emissions, lengths) + _log_backward(lattice, emissions, lengths)
        total = np.logaddexp.reduce(joint[0], axis=1, initial=-np.inf)
        share = np.nan_to_num(np.exp(joint - total[:, None]))
    result = np.zeros(log_probability.shape)
    batch = np.arange(joint.shape[1])
    for state in range(joint.shape[2]):
        result[:, batch, lattice.states[:, state]] += share[:, :, state]
    return total, result


def _log_forward(lattice: Lattice, emissions: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The logarithm of the probability to be in a state at a step, over the paths up to it."""
    result = np.full(emissions.shape, -np.inf)
    result[:1, :, :2] = emissions[:1, :, :2]
    for step in range(1, len(emissions)):
        before = result[step - 1]
        total = np.where(lattice.stay, before, -np.inf)
        total[:, 1:] = np.logaddexp(total[:, 1:], before[:, :-1])
        total[:, 2:] = np.logaddexp(total[:, 2:], np.where(lattice.skip[:, 2:], before[:, :-2], -np.inf))
        result[step] = np.where((step < lengths)[:, None], total + emissions[step], before)
    return result


def _log_backward(lattice: Lattice, emissions: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The logarithm of the probability of the rest of the path, after a step in a state."""
    result = np.full(emissions.shape, -np.inf)
    last = np.arange(emissions.shape[2])
    final = np.where((last >= (lattice.ends - 2)[:, None]) & lattice.valid, 0.0, -np.inf)
    for step in range(len(emissions) - 1, -1, -1):
        if step + 1 < len(emissions):
            after = result[step + 1] + emissions[step + 1]
            total = np.where(lattice.stay, after, -np.inf)
            total[:, :-1] = np.logaddexp(total[:, :-1], after[:, 1:])
            total[:, :-2] = np.logaddexp(total[:, :-2], np.where(lattice.skip[:, 2:], after[:, 2:], -np.inf))
            result[step] = total
        result[step] = np.where((step == lengths - 1)[:, None], final, result[step])
    return result
