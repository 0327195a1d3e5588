"""Powers of what is not a number like others."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config

pytestmark = pytest.mark.process


@pytest.mark.parametrize("mode", ["off", "eager"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16])
@pytest.mark.parametrize("exponent", [0.5, [0.5] * 5])
def test_a_power_of_one_half_is_no_square_root(mode, dtype, exponent, monkeypatch):
    """As the operation of TensorFlow 1.15 computes it (for an exponent that is fed: constant ones are replaced by a square root there)."""
    monkeypatch.setattr(config, "mode", mode)
    x, y = tf.placeholder(dtype, [5]), tf.placeholder(dtype)
    with tf.Session() as session:
        for _ in range(2):
            found = session.run(tf.pow(x, y), {x: [-np.inf, -0.0, 4.0, -4.0, np.inf], y: exponent})
    assert found.dtype == dtype.as_numpy_dtype
    np.testing.assert_array_equal(found, np.array([np.inf, 0.0, 2.0, np.nan, np.inf]))
    assert not np.signbit(found[1])
