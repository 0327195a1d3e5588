"""Small products, of which BLAS gets some rows or columns at once, so that it needs no threads."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize("rows, inner, columns, calls", [
    (256, 64, 128, 5), (64, 256, 128, 6), (2, 500, 900, 2), (1, 1000, 1000, 1), (1000, 1000, 1, 1), (64, 64, 64, 1),
    (512, 512, 512, 1), (0, 64, 128, 1)])
def test_calls_of_blas(rows, inner, columns, calls, monkeypatch):
    seen, product = [], np.matmul

    def noted(a, b, **options):
        seen.append(len(a) * b.size)
        return product(a, b, **options)

    random = np.random.default_rng(0)
    a, b = random.normal(size=(rows, inner)), random.normal(size=(inner, columns))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None, None])
        product_of_both = tf.matmul(x, tf.constant(b.T.copy()), transpose_b=True)
        monkeypatch.setattr(np, "matmul", noted)
        found = session.run(product_of_both, {x: a})
    monkeypatch.undo()
    np.testing.assert_allclose(found, a @ b, atol=1e-10)
    assert len(seen) == calls and (calls == 1 or max(seen) < 1 << 19)
