"""The judge of the random programs: what it takes for rounding, and what it does not, when numbers are not finite."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.execute import device_plan
from support.rounding import SAMPLES, Rounding, unexplained

pytestmark = pytest.mark.process


def convolved(monkeypatch, change):
    """(results of a convolution of an image by a filter, which are changed before; the same rounded at random)."""
    rng = np.random.default_rng(0)
    x, f = rng.standard_normal((1, 8, 8, 3), np.float32), rng.standard_normal((3, 3, 3, 2), np.float32)
    change(x, f)

    def run():
        with tf.Graph().as_default(), tf.Session() as session:
            return [session.run(tf.nn.conv2d(tf.placeholder_with_default(x, x.shape), f, 1, "SAME"))]

    wanted, rounding = run(), Rounding(1)
    with monkeypatch.context() as patch:
        patch.setattr(device_plan, "kernel_of", rounding.kernel_of)
        samples = [run() for _ in range(SAMPLES)]
    return wanted, samples


@pytest.fixture
def convolution(monkeypatch):
    """With one infinity."""
    def change(x, f):
        x[0, 4, 4, 1] = np.inf

    return convolved(monkeypatch, change)


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


def test_partial_sums_may_overflow_or_not(monkeypatch):
    """Three terms of 3e38 in one window, of both signs: the order decides whether they end as an infinity, a number or none."""
    def change(x, f):
        x[0, 4, 4] = 3e38

    (wanted,), samples = convolved(monkeypatch, change)
    for value in (np.nan, np.inf, 0.0):
        other = wanted.copy()
        other[0, 4, 4, 0] = value
        assert unexplained([other], [wanted], samples) is None
    wrong = wanted.copy()
    wrong[0, 1, 1, 0] += 0.1
    assert unexplained([wrong], [wanted], samples) is not None


def test_what_cancels_out_was_rounded(monkeypatch):
    """Two taps of 1,000 and -1,000 over channels that are equal: their terms are rounded to 1e-4 each, though nothing is left of them."""
    def change(x, f):
        x[..., 1] = x[..., 0]
        f[0, 0, 0], f[0, 0, 1] = 1000.0, -1000.0

    (wanted,), samples = convolved(monkeypatch, change)
    other = wanted.copy()
    other[0, 3, 3, 0] += 3e-4
    assert unexplained([other], [wanted], samples) is None
    wrong = wanted.copy()
    wrong[0, 0, 0, 0] += 3e-4 * (1 + abs(wanted[0, 0, 0, 0]))  # its window has those taps in the padding
    assert unexplained([wrong], [wanted], samples) is not None


def test_denormals_may_be_zeros(monkeypatch):
    """Native code takes them so: the logarithm of a negative one is that of -0."""
    x = np.array([-1e-40, -1.0], np.float32)

    def run():
        with tf.Graph().as_default(), tf.Session() as session:
            return [session.run(tf.log(tf.placeholder_with_default(x, x.shape)))]

    wanted, rounding = run(), Rounding(1)
    with monkeypatch.context() as patch:
        patch.setattr(device_plan, "kernel_of", rounding.kernel_of)
        samples = [run() for _ in range(SAMPLES)]
    assert unexplained([np.array([-np.inf, np.nan], np.float32)], wanted, samples) is None
    assert unexplained([np.array([-np.inf, -np.inf], np.float32)], wanted, samples) is not None
