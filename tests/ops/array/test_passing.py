"""CheckNumerics inside of native code: the step ends with the kernel's words."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
@pytest.mark.parametrize(("bad", "kinds"), [(np.nan, "NaN"), (np.inf, "Inf"), (-np.inf, "Inf")])
def test_a_native_step_refuses_what_is_not_finite(dtype, bad, kinds):
    x = tf.placeholder(dtype, [64, 80])
    total = tf.reduce_sum(tf.check_numerics(x * 2, "doubled") + 1)
    good = np.zeros([64, 80])
    wrong = good.copy()
    wrong[63, 79] = bad
    with tf.Session() as session:
        for _ in range(3):
            assert session.run(total, {x: good}) == 64 * 80
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"doubled : Tensor had {kinds} values"):
            session.run(total, {x: wrong})
        assert session.run(total, {x: good}) == 64 * 80
