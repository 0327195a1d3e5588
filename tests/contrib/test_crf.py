"""Conditional random fields that train on sequences whose lengths are known only in the step, as taggers do."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import penstock as tf

TAGS = 3


def score(values, transitions, tags):
    return sum(values[step, tag] for step, tag in enumerate(tags)) + sum(transitions[pair] for pair in itertools.pairwise(tags))


def likelihood(values, transitions, tags):
    """By going through all sequences."""
    every = [score(values, transitions, other) for other in itertools.product(range(TAGS), repeat=len(tags))]
    return score(values, transitions, tags) - np.log(np.sum(np.exp(every)))


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # of the scores of tags: TensorFlow warns, too
@pytest.mark.parametrize("steps", [1, 3])
def test_gradients_with_extents_of_the_step(steps):
    draw = np.random.RandomState(steps)
    data, tags, lengths = draw.randn(2, steps, TAGS), draw.randint(0, TAGS, (2, steps)), [steps, max(1, steps - 1)]
    transitions = draw.randn(TAGS, TAGS)
    values = tf.placeholder(tf.float32, [None, None, TAGS])
    length, tag = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None, None])
    table = tf.constant(transitions, tf.float32)
    found, _ = tf.contrib.crf.crf_log_likelihood(values, tag, length, table)
    fetches = [found, *tf.gradients(found, [values, table])]

    def expected(values, transitions):
        return np.array([likelihood(values[row, :length], transitions, tags[row, :length]) for row, length in enumerate(lengths)])

    with tf.Session() as session:
        for _ in range(2):  # the second time by native code
            results = session.run(fetches, {values: data, tag: tags, length: lengths})
    np.testing.assert_allclose(results[0], expected(data, transitions), rtol=1e-5)
    for result, given, function in ((results[1], data, lambda x: expected(x, transitions)), (results[2], transitions, lambda x: expected(data, x))):
        numeric = np.zeros_like(given)
        for place in np.ndindex(given.shape):
            step = np.zeros_like(given)
            step[place] = 1e-6
            numeric[place] = (function(given + step) - function(given - step)).sum() / 2e-6
        np.testing.assert_allclose(result, numeric, atol=1e-5)
