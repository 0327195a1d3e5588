"""rejection_resample."""
from __future__ import annotations

import math

import numpy as np

import penstock as tf
from support.pipelines import listed

Dataset, experimental = tf.data.Dataset, tf.data.experimental


def test_rejection_resample():
    dataset = Dataset.range(4000).map(lambda x: tf.to_int32(tf.equal(x % 10, 0)))
    for initial in (None, [0.9, 0.1]):
        pairs = listed(dataset.apply(experimental.rejection_resample(lambda c: c, [0.5, 0.5], initial, seed=4)))
        assert all(found == value for found, value in pairs)
        # Half of the elements come from the data as it is; later on, when the rest has run out, all of them do.
        assert math.isclose(np.mean([found for found, _ in pairs[:800]]), 0.5, abs_tol=0.07)
