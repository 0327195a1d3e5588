"""Linear operators made of others, against matrices that NumPy writes out."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

L = tf.linalg
RNG = np.random.RandomState(0)
A, B = RNG.normal(size=(2, 3, 3)), RNG.normal(size=(3, 3)) + 3 * np.eye(3)


def blocks(a, b):
    zeros = np.zeros((2, 3, 3))
    b = np.broadcast_to(b, (2, 3, 3))
    return np.concatenate([np.concatenate([a, zeros], 2), np.concatenate([zeros, b], 2)], 1)


CASES = {
    "composition": (lambda a, b: L.LinearOperatorComposition([a, b]), A @ B),
    "blocks": (lambda a, b: L.LinearOperatorBlockDiag([a, b]), blocks(A, B)),
    "adjoint": (lambda a, b: L.LinearOperatorAdjoint(a), np.swapaxes(A, 1, 2)),
    "inversion": (lambda a, b: L.LinearOperatorInversion(a), np.linalg.inv(A)),
}


@pytest.mark.parametrize("name", CASES)
def test_against_matrices(name):
    make, dense = CASES[name]
    x = RNG.normal(size=(dense.shape[-1], 2))
    with tf.Graph().as_default(), tf.Session() as session:
        full = [L.LinearOperatorFullMatrix(each, is_non_singular=True) for each in (A, B)]
        operator = make(*full)
        assert operator.shape.as_list() == list(dense.shape) and operator.is_non_singular
        got = session.run([operator.to_dense(), operator.matmul(np.broadcast_to(x, (2, *x.shape))), operator.matmul(x, adjoint=True),
                           operator.solve(np.broadcast_to(x, (2, *x.shape))), operator.log_abs_determinant(), operator.trace(),
                           operator.shape_tensor()])
    wanted = [dense, dense @ x, np.swapaxes(dense, 1, 2) @ x, np.linalg.solve(dense, np.broadcast_to(x, (2, *x.shape))),
              np.linalg.slogdet(dense)[1], np.trace(dense, axis1=1, axis2=2), dense.shape]
    for mine, theirs in zip(got, wanted):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_errors():
    with pytest.raises(ValueError, match="non-empty"):
        L.LinearOperatorComposition([])
    with pytest.raises(TypeError, match="same dtype"):
        L.LinearOperatorBlockDiag([L.LinearOperatorDiag([1.0]), L.LinearOperatorDiag(np.ones(1))])
    with pytest.raises(ValueError, match="must be square"):
        L.LinearOperatorInversion(L.LinearOperatorFullMatrix(np.ones((2, 3))))
