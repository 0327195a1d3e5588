"""Cumulative sums, top-k, one-hot rows, reversed sequences, and local response normalization, against the NumPy kernels."""
from __future__ import annotations

import numpy as np
import pytest

from support.native import check, native

pytestmark = pytest.mark.process


def values(*shape, dtype=np.float32, seed=0, low=-6, high=7):
    return np.random.RandomState(seed).randint(low, high, shape).astype(dtype)


@pytest.mark.parametrize("op_type", ["Cumsum", "Cumprod"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative(op_type, dtype, exclusive, reverse):
    for shape in ((5,), (3, 7), (2, 3, 40), (4, 0, 2), (1, 9, 16)):
        for axis in range(-1, len(shape)):
            x = values(*shape, dtype=dtype, low=-2, high=3)
            check(op_type, x, np.int32(axis), known=(1,), exclusive=exclusive, reverse=reverse)
    check(op_type, values(40, 30, 40, dtype=dtype)[::2], np.int32(1), known=(1,), exclusive=exclusive, reverse=reverse, threads=3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("length", [1, 3, 16, 17, 200])
def test_top_k(dtype, length):
    x = np.abs(values(9, length, dtype=dtype, high=60))
    for k in {0, 1, min(2, length), min(length, 17), min(length, 60)}:
        check("TopKV2", x, np.int32(k), known=(1,))
    check("TopK", values(2, 3, length, dtype=dtype, low=0), k=1)
    check("TopKV2", values(500, length, dtype=dtype, low=0), np.int32(1), known=(1,), threads=3)


def test_top_k_puts_nans_first():
    x = values(4, 50)
    x[1, [3, 30]] = np.nan
    x[2, ::2] = -np.inf
    check("TopKV2", x, np.int32(9), known=(1,))


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("index", [np.uint8, np.int32, np.int64])
def test_one_hot(axis, index):
    indices = np.array([[0, 3, 200], [1, 2, 7]]).astype(index)
    if index != np.uint8:
        indices[0, 0] = -1
    for value in (np.float32, np.int64, np.bool_, np.complex128):
        check("OneHot", indices, np.int32(8), value(5), value(0), known=(1,), axis=axis)
    check("OneHot", indices, np.int32(0), np.float32(1), np.float32(0), known=(1,), axis=axis)
    check("OneHot", indices[0, 0], np.int32(4), np.float32(1), np.float32(2), known=(1,), axis=-1)


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (2, 0), (1, 3), (3, 2)])
def test_reversed_sequences(axes):
    seq, batch = axes
    x = np.arange(5 * 5 * 5 * 5).reshape(5, 5, 5, 5).astype(np.float32)
    check("ReverseSequence", x, np.int64([0, 5, 1, 3, 2]), known=(), seq_dim=seq, batch_dim=batch)
    for wrong in (-1, 6):
        with pytest.raises(RuntimeError, match="refused"):
            native("ReverseSequence", x, np.int32([0, 5, wrong, 3, 2]), known=(), seq_dim=seq, batch_dim=batch)


@pytest.mark.parametrize("beta", [0.5, 0.75, 1.0, 0.6])
@pytest.mark.parametrize("channels", [1, 3, 16, 50, 100])
@pytest.mark.parametrize("radius", [0, 2, 5, 70])
def test_local_response_normalization(beta, channels, radius):
    rng = np.random.RandomState(0)
    x, g = (rng.uniform(-1, 1, (2, 3, 4, channels)).astype(np.float32) for _ in range(2))
    attrs = dict(depth_radius=radius, bias=2.0, alpha=0.3, beta=beta)
    check("LRN", x, rtol=1e-5, atol=1e-6, **attrs)
    check("LRNGrad", g, x, native("LRN", x, **attrs)[0], rtol=1e-4, atol=1e-5, **attrs)


def test_local_response_normalization_on_threads():
    x = np.random.RandomState(0).uniform(-1, 1, (4, 20, 20, 64)).astype(np.float32)
    check("LRN", x, rtol=1e-5, atol=1e-6, depth_radius=4, threads=3)
    check("LRN", np.zeros((0, 2, 2, 3), np.float32), depth_radius=4)


def test_local_response_normalization_beside_what_is_not_finite():
    """A channel is normed by its neighbours, and not by what stands further away."""
    x = np.random.RandomState(0).uniform(-1, 1, (2, 2, 2, 21)).astype(np.float32)
    x[0, 0, 0, 4], x[0, 1, 0, 20], x[1, 0, 1, 9] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):  # inf / inf
        check("LRN", x, rtol=1e-5, atol=1e-6, depth_radius=2)
    assert np.isfinite(native("LRN", x, depth_radius=2)[0]).sum() == x.size - 5 - 1 - 1


def test_in_top_k():
    x = values(30, 50)
    x[3, 7], x[4, 2] = np.nan, np.inf
    targets = np.random.RandomState(1).randint(-1, 51, 30).astype(np.int32)
    for k in (1, 5, 50):
        check("InTopK", x, targets, k=k)
        check("InTopKV2", x, targets.astype(np.int64), np.int64(k))


@pytest.mark.parametrize("centers", [dict(), dict(align_corners=True), dict(half_pixel_centers=True)])
@pytest.mark.parametrize("size", [(3, 9), (14, 5), (7, 6), (1, 1)])
def test_resizing(centers, size):
    rng = np.random.RandomState(0)
    x, g = rng.rand(2, 7, 6, 19).astype(np.float32), rng.rand(2, *size, 19).astype(np.float32)
    for how in ("Bilinear", "Bicubic"):
        check("Resize" + how, x, np.int32(size), rtol=1e-5, atol=1e-5, **centers)
        check(f"Resize{how}Grad", g, x, rtol=1e-5, atol=1e-5, **centers)
    check("ResizeNearestNeighbor", x, np.int32(size), **centers)
    check("ResizeNearestNeighborGrad", g, np.int32([7, 6]), rtol=1e-5, atol=1e-5, **centers)


@pytest.mark.parametrize("centers", [dict(), dict(align_corners=True), dict(half_pixel_centers=True)])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_resizing_of_pictures(channels, centers):
    """Rows that are shorter and longer than two vectors, whose elements are picked near to each other or from all over the row."""
    rng = np.random.RandomState(0)
    for inputs, size in (((9, 8), (5, 40)), ((20, 33), (7, 22)), ((13, 70), (13, 100)), ((6, 200), (9, 17)), ((12, 64), (3, 33))):
        x, g = rng.rand(2, *inputs, channels).astype(np.float32), rng.rand(2, *size, channels).astype(np.float32)
        for how in ("Bilinear", "Bicubic"):
            check("Resize" + how, x, np.int32(size), rtol=1e-5, atol=1e-5, **centers)
            check(f"Resize{how}Grad", g, x, rtol=1e-5, atol=1e-4, **centers)


def test_resizing_on_threads():
    x = np.random.RandomState(0).rand(3, 40, 40, 16).astype(np.float32)
    check("ResizeBilinear", x[:, ::2], np.int32([50, 30]), threads=3, rtol=1e-5, atol=1e-5)
