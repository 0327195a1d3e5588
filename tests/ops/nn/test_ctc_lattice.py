"""Probabilities carried as products and as logarithms give the same; where products fail, logarithms do not."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

from penstock.ops.nn.ctc_lattice import Lattice, _by_logarithms, _by_products, posteriors

pytestmark = pytest.mark.process
BLANK = 3


def log_softmax(x):
    return x - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)) - x.max(-1, keepdims=True)


def problem(seed, spread):
    """Log probabilities of 4 classes, labels (none, repeated ones, ...) and lengths of 5 examples."""
    random = np.random.RandomState(seed)
    lengths = np.array([9, 7, 5, 9, 1])
    rows = [[0, 0, 1], [2, 1, 2], [], [1] * 3 + [0], [2]]
    return rows, log_softmax(random.normal(size=(9, 5, BLANK + 1)) * spread), lengths


def inside(values, lengths):
    return values[np.arange(len(values))[:, None] < lengths]


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_both_ways_agree(seed, merge):
    rows, log_probability, lengths = problem(seed, 3.0)
    lattice = Lattice(rows, BLANK, merge)
    (total, shares), (expected, expected_shares) = (way(lattice, log_probability, lengths) for way in (_by_products, _by_logarithms))
    np.testing.assert_allclose(total, expected, rtol=1e-12)
    np.testing.assert_allclose(inside(shares, lengths), inside(expected_shares, lengths), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(inside(shares, lengths).sum(-1), 1.0)


def test_the_sum_over_all_paths():
    log_probability = problem(0, 1.0)[1]
    total = 0.0
    for path in itertools.product(range(BLANK + 1), repeat=5):
        merged = [label for label, _ in itertools.groupby(path) if label != BLANK]
        if merged == [2, 1]:
            total += np.exp(sum(log_probability[step, 0, label] for step, label in enumerate(path)))
    found, _ = posteriors([[2, 1]], log_probability[:5, :1], np.array([5]), np.array([True]), True)
    np.testing.assert_allclose(found, [np.log(total)], rtol=1e-12)


def test_products_that_are_zero():
    """A network that is very sure: probabilities of e ** -2000, for some examples of a batch."""
    rows, log_probability, lengths = problem(1, 1.0)
    log_probability[:, [0, 3]] = problem(1, 2000.0)[1][:, [0, 3]]
    lattice = Lattice(rows, BLANK, True)
    expected, expected_shares = _by_logarithms(lattice, log_probability, lengths)
    assert not np.isfinite(_by_products(lattice, log_probability, lengths)[0]).all() and np.isfinite(expected).all()
    total, shares = posteriors(rows, log_probability, lengths, np.ones(5, bool), True)
    np.testing.assert_allclose(total, expected, rtol=1e-12)
    np.testing.assert_allclose(inside(shares, lengths), inside(expected_shares, lengths), rtol=1e-10, atol=1e-12)


def test_labels_that_cannot_be():
    """Two equal labels need a blank between them: two steps are too few."""
    total, _ = posteriors([[1, 1]], np.log(np.full((2, 1, 4), 0.25)), np.array([2]), np.array([True]), True)
    assert total == -np.inf


def test_no_steps():
    total, shares = posteriors([[]], np.zeros((0, 1, 4)), np.array([0]), np.array([False]), True)
    assert total == 0.0 and shares.shape == (0, 1, 4)
