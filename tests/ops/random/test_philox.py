"""The generator against its published vectors, the distributions against values recorded from real TensorFlow.

`data/record_philox.py` made the recordings and says what is in them.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from penstock.ops.random import distributions
from penstock.ops.random.philox import CHUNK, Philox, philox4x32

GOLDEN = dict(np.load(Path(__file__).parent / "data" / "philox.npz"))
SEEDS = GOLDEN["seeds"].tolist()
STATELESS_SEED = GOLDEN["stateless_seed"].tolist()
CASES = sorted(key.removesuffix(":values") for key in GOLDEN if key.endswith(":values"))

# From the paper's authors (Random123, kat_vectors): counter, key, block, each as 32-bit words from the lowest on.
KNOWN_ANSWERS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


def sample(name: str, dtype: np.dtype, rng: Philox, n: int) -> np.ndarray:
    """What the recorded op `name` returns for size n."""
    if name in ("uniform", "normal", "truncated_normal"):
        return getattr(distributions, name)(rng, [n], dtype)
    if name == "uniform_int":
        return distributions.uniform_int(rng, [n], -3, 100, dtype)
    if name == "uniform_wide_int":
        return distributions.uniform_int(rng, [n], np.iinfo(dtype).min, np.iinfo(dtype).max, dtype)
    if name == "gamma":
        return distributions.gamma(rng, [n], GOLDEN["alpha"].astype(dtype))
    if name == "poisson":
        return distributions.poisson(rng, [n], GOLDEN["rate"], dtype)
    if name == "multinomial":
        return distributions.multinomial(rng, GOLDEN["logits"].astype(dtype), n, np.int64)
    if name == "multinomial_row":
        return distributions.multinomial(rng, GOLDEN["logits"][:1].astype(dtype), n, np.int64)
    if name == "shuffle":
        return distributions.shuffle(rng, np.arange(n, dtype=dtype))
    if name == "stateless_uniform":
        return distributions.uniform(Philox.stateless(*STATELESS_SEED), [n], dtype)
    raise ValueError(name)


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How many floats of their type lie between a and b (of equal sign)."""
    bits = np.dtype(f"i{a.dtype.itemsize}")
    return np.abs(a.view(bits).astype(np.int64) - b.view(bits).astype(np.int64))


@pytest.mark.parametrize("case", CASES)
def test_runs_equal_tensorflow(case):
    name, dtype_name = case.split(":")
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype_name == "bfloat16" else dtype_name)
    rng = Philox(*SEEDS)
    sizes = GOLDEN["small_sizes" if name == "multinomial" else "sizes"].tolist()
    outputs = [sample(name, dtype, rng, n) for n in sizes]
    excerpts = np.concatenate([out.reshape(-1)[:: max(1, out.size // 64)] for out in outputs])
    expected, digests = GOLDEN[case + ":values"], GOLDEN[case + ":digests"]
    if excerpts.dtype.itemsize == 2:
        expected = expected.view(excerpts.dtype)
    assert excerpts.dtype == expected.dtype
    if digests.dtype == np.uint8:
        np.testing.assert_array_equal(excerpts, expected)
        assert [hashlib.sha256(out.tobytes()).digest() for out in outputs] == [row.tobytes() for row in digests]
    else:
        assert ulps(excerpts, expected).max() <= (8 if name == "gamma" else 3)
        wide = [out.astype(np.float64) for out in outputs]
        moments = [[values.sum(), (values * values).sum()] for values in wide]
        np.testing.assert_allclose(moments, digests, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(("counter", "key", "block"), KNOWN_ANSWERS)
def test_known_answers(counter, key, block):
    low, high = np.array(counter, "<u4").view("<u8")
    words = philox4x32(np.array([low]), np.array([high]), key[0] | key[1] << 32)
    assert words.tolist() == [block]


def test_reserve_leaves_a_copy_behind():
    rng = Philox(3, 4)
    stream = rng.blocks(10)
    first, second = rng.reserve(6), rng.reserve(0)
    np.testing.assert_array_equal(first.blocks(10), stream)
    np.testing.assert_array_equal(second.blocks(4), stream[6:])
    np.testing.assert_array_equal(rng.blocks(2, start=2), stream[8:])
    rng.skip(3)
    np.testing.assert_array_equal(rng.blocks(1), stream[9:])


def test_counter_carries_into_its_upper_half():
    rng, above = Philox(3, 4), Philox(3, 5)
    rng.skip(2**64 - 2)
    np.testing.assert_array_equal(rng.blocks(4)[2:], above.blocks(2))


def test_seeds_are_taken_as_64_bit_words():
    np.testing.assert_array_equal(Philox(-1, -2).blocks(3), Philox(2**64 - 1, 2**64 - 2).blocks(3))


def test_zero_seeds_mean_unseeded():
    assert Philox.for_op(0, 0).state != Philox.for_op(0, 0).state
    assert Philox.for_op(0, 7).state == Philox(0, 7).state


def test_concurrent_reservations_do_not_overlap():
    rng, starts = Philox(1, 2), []

    def reserve_many():
        starts.extend([rng.reserve(5).state[1] for _ in range(200)])

    threads = [threading.Thread(target=reserve_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    base = 2 << 64
    assert sorted(starts) == [base + 5 * i for i in range(800)]


@pytest.mark.parametrize("name", ["uniform", "normal", "truncated_normal"])
def test_chunks_do_not_show(name):
    """A long output starts with the short ones; shapes only fold it."""
    long = getattr(distributions, name)(Philox(1, 2), [8 * CHUNK + 3], np.float32)
    short = getattr(distributions, name)(Philox(1, 2), [3, 7], np.float32)
    np.testing.assert_array_equal(long[:21].reshape(3, 7), short)
    assert long.std() > 0.2


def test_truncated_normal_stays_in_bounds():
    values = distributions.truncated_normal(Philox(5, 6), [100_000], np.float64)
    assert np.abs(values).max() < 2
    assert abs(values.mean()) < 0.01
    assert abs(values.std() - 0.8796) < 0.01


def test_odd_parameters_end_quietly():
    """No warning, and above all no endless loop."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = distributions.poisson(Philox(1, 2), [4], np.array([np.nan, np.inf, -1.0, 0.0, 1e10]), np.float64)
        gammas = distributions.gamma(Philox(1, 2), [4], np.array([np.nan, -1.0, 0.0, 1e300]))
    assert np.isnan(counts[:, :2]).all()
    assert (counts[:, 2:4] == 0).all()
    np.testing.assert_allclose(counts[:, 4], 1e10, rtol=1e-4)
    assert np.isnan(gammas[:, :2]).all()
    assert (gammas[:, 2] == 0).all()
    np.testing.assert_allclose(gammas[:, 3], 1e300)


def test_poisson_redraws_what_its_dtype_cannot_hold():
    counts = distributions.poisson(Philox(*SEEDS), [300], np.array([65504.0]), np.float16)
    expected = GOLDEN["poisson_redrawn"].view(np.float16)
    np.testing.assert_array_equal(counts, expected)
    hopeless = distributions.poisson(Philox(*SEEDS), [3], np.array([1e10]), np.int32)
    assert (hopeless == np.iinfo(np.int32).max).all()


def test_shuffle_keeps_slices_and_trivial_inputs():
    rng = Philox(1, 2)
    for trivial in (np.float32(3), np.zeros((1, 5)), np.zeros((5, 0)), np.zeros(0)):
        assert distributions.shuffle(rng, np.asarray(trivial)).shape == np.shape(trivial)
    assert rng.state == Philox(1, 2).state
    rows = np.arange(12).reshape(6, 2)
    shuffled = distributions.shuffle(rng, rows)
    assert sorted(shuffled.tolist()) == rows.tolist()
    assert (shuffled != rows).any()


def test_multinomial_without_a_finite_logit_returns_the_class_count():
    """What TensorFlow's search past the end gives."""
    drawn = distributions.multinomial(Philox(1, 2), np.full((1, 4), -np.inf, np.float32), 3, np.int32)
    assert drawn.tolist() == [[4, 4, 4]]
