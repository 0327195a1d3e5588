"""The quadrature by Gauss and Hermite, which raises in TensorFlow 1.15: against NumPy. What works there is compared in ``tests/golden``."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


def test_gauss_hermite():
    tfd = tf.contrib.distributions
    grid, probs = tfd.quadrature_scheme_softmaxnormal_gauss_hermite([[0.5], [1.0]], [[1.0], [0.5]], quadrature_size=3)
    places, weights = np.polynomial.hermite.hermgauss(3)
    first = 1 / (1 + np.exp(-(np.array([[0.5], [1.0]]) + np.sqrt(2) * np.array([[1.0], [0.5]]) * places)))
    with tf.Session() as session:
        got_grid, got_probs = session.run([grid, probs])
    np.testing.assert_allclose(got_grid, np.stack([first, 1 - first], axis=1), rtol=1e-5)
    np.testing.assert_allclose(got_probs, weights / weights.sum(), rtol=1e-5)


def test_the_variance_at_few_places():
    """By hand: one place, so that (loc, scale) is fixed there."""
    tfd = tf.contrib.distributions
    identity = tf.linalg.LinearOperatorIdentity(2, dtype=tf.float32)
    triangle = tf.linalg.LinearOperatorLowerTriangular([[2.0, 0.0], [1.0, 3.0]])
    mixture = tfd.VectorDiffeomixture([0.0], [1.0], tfd.Normal(1.0, 2.0), loc=[[1.0, 0.0], None], scale=[identity, triangle], quadrature_size=1,
                                      quadrature_fn=tfd.quadrature_scheme_softmaxnormal_gauss_hermite)
    scale = 0.5 * np.eye(2) + 0.5 * np.array([[2.0, 0.0], [1.0, 3.0]])
    with tf.Session() as session:
        mean, variance, covariance = session.run([mixture.mean(), mixture.variance(), mixture.covariance()])
    np.testing.assert_allclose(mean, scale.sum(1) + [0.5, 0.0], rtol=1e-5)
    np.testing.assert_allclose(covariance, 4 * scale @ scale.T, rtol=1e-5)
    np.testing.assert_allclose(variance, np.diag(4 * scale @ scale.T), rtol=1e-5)
