"""The judge of the random programs: what it takes for rounding, and what it does not, when numbers are not finite."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.execute import device_plan
from support.rounding import SAMPLES, Rounding, unexplained

pytestmark = pytest.mark.process


@pytest.fixture
def convolution(monkeypatch):
    """(results of a convolution that sees one infinity, the same rounded at random)."""
    rng = np.random.default_rng(0)
    x, f = rng.standard_normal((1, 8, 8, 3), np.float32), rng.standard_normal((3, 3, 3, 2), np.float32)
    x[0, 4, 4, 1] = np.inf

    def run():
        with tf.Graph().as_default(), tf.Session() as session:
            return [session.run(tf.nn.conv2d(tf.placeholder_with_default(x, x.shape), f, 1, "SAME"))]

    wanted, rounding = run(), Rounding(1)
    with monkeypatch.context() as patch:
        patch.setattr(device_plan, "kernel_of", rounding.kernel_of)
        samples = [run() for _ in range(SAMPLES)]
    return wanted, samples


def test_a_result_that_does_not_see_the_infinity_has_to_be_right(convolution):
    (wanted,), samples = convolution
    wrong = wanted.copy()
    wrong[0, 1, 1, 0] += 0.36
    assert unexplained([wrong], [wanted], samples) is not None
    wrong = wanted.copy()
    wrong[0, 2, 2, 0] = np.nan
    assert unexplained([wrong], [wanted], samples) is not None


def test_zeros_of_the_padding_may_be_multiplied_with_what_is_not_finite(convolution):
    (wanted,), samples = convolution
    other = wanted.copy()
    other[0, 0, 0, 0] = np.nan
    assert unexplained([other], [wanted], samples) is None
    assert unexplained([wanted], [wanted], samples) is None
