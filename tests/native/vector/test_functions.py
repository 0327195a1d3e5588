"""How exact the vectorised functions are, over all numbers: denormals, huge arguments, infinities."""
from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

import penstock.ops  # noqa: F401 (fills the registry)
from penstock.graph import dtypes as dt
from penstock.graph.opdef import REGISTRY
from support.fused import difference, flushed, native_op

ULPS = 4
COUNT = 40_000


def _sigmoid(x):
    """SciPy's is 0 where the result is denormal."""
    return np.where(x < -40, np.exp(np.minimum(x, 0)), special.expit(x))


_erfc = np.vectorize(math.erfc, otypes=[np.float64])  # SciPy's is some hundred ulp off for large x

FUNCTIONS = {
    "Exp": np.exp, "Expm1": np.expm1, "Log": np.log, "Log1p": np.log1p, "Tanh": np.tanh, "Sigmoid": _sigmoid, "Erf": special.erf, "Erfc": _erfc,
    "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Sqrt": np.sqrt, "Rsqrt": lambda x: 1 / np.sqrt(x), "Asin": np.arcsin, "Acos": np.arccos,
    "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh}


def special_values(dtype: np.dtype) -> np.ndarray:
    info = np.finfo(dtype)
    edges = [0.0, 1.0, 0.5, 2.0, 3.0, math.inf, math.nan, info.tiny, info.smallest_subnormal, info.max, info.eps, math.log(2) / 2, math.pi / 2,
             88.72283, 88.72284, 103.97, 87.3366, 709.78, 745.13, 710.0, 746.0, 0.25, 28.0, 10.5, 2.0 ** 20, 2.0 ** 30, 20.0]
    both = np.array(edges, dtype)
    with np.errstate(all="ignore"):
        return flushed(np.concatenate([both, -both, np.nextafter(both, dtype.type(0)), np.nextafter(-both, dtype.type(-np.inf))]))


def numbers(dtype: np.dtype, count: int = COUNT) -> np.ndarray:
    """Random bits (so all exponents), and the ranges where things happen."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2 ** 64, count, np.uint64, endpoint=False).astype(f"u{dtype.itemsize}").view(dtype)
    spans = [rng.uniform(-span, span, count // 4) for span in (1e-4, 0.4, 1, 2, 10, 40, 110, 750, 1e5, 1e7)]
    near_one = 1 + rng.uniform(-0.01, 0.01, count)
    with np.errstate(all="ignore"):
        return flushed(np.concatenate([bits, *spans, near_one, special_values(dtype)], dtype=dtype, casting="unsafe") * dtype.type(1))


def exact(function, x: np.ndarray) -> np.ndarray:
    """float32 by way of float64."""
    with np.errstate(all="ignore"):
        return function(x.astype(np.float64)).astype(x.dtype)


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_precision(name, dtype):
    x = numbers(dtype.np)
    assert difference(native_op(name, x), exact(FUNCTIONS[name], x), ULPS) is None


@pytest.mark.nightly
@pytest.mark.parametrize("name", FUNCTIONS)
def test_precision_everywhere(name):
    """All float32 numbers but every 61st."""
    for start in range(0, 2 ** 32, 2 ** 26):
        x = np.arange(start, start + 2 ** 26, 61, np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            x = flushed(x * np.float32(1))
        problem = difference(native_op(name, x), exact(FUNCTIONS[name], x), ULPS)
        assert problem is None, problem


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64], ids=lambda dtype: dtype.name)
def test_powers(dtype):
    rng = np.random.default_rng(1)
    edges = special_values(dtype.np)
    x = np.concatenate([numbers(dtype.np, 4000), np.repeat(edges, len(edges)), rng.uniform(0, 9, COUNT).astype(dtype.np)])
    y = np.concatenate([rng.permutation(numbers(dtype.np, 4000)), np.tile(edges, len(edges)), rng.uniform(-9, 9, COUNT).astype(dtype.np)])
    y[::5] = np.round(rng.uniform(-9, 9, y[::5].shape))
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64)).astype(dtype.np)
    assert difference(native_op("Pow", x, y), wanted, ULPS) is None


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64], ids=lambda dtype: dtype.name)
def test_powers_of_denormals_are_those_of_zero(dtype):
    """The C library, in a mode where it takes them for 0, would make something of their bits."""
    small = np.finfo(dtype.np).tiny * dtype.np.type([0.9, 1e-3, -0.5, -1e-5, 1e-6])
    for power in (0.5, 2.0, 3.0, -1.0, -2.5, 1.0, 0.0):
        y = np.full(small.shape, power, dtype.np)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(native_op("Pow", small, y), np.power(np.copysign(dtype.np.type(0), small), y))
    np.testing.assert_array_equal(native_op("Pow", np.full(5, 7, dtype.np), small), 1)


@pytest.mark.parametrize("source", [dt.float32, dt.float64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("target", [dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.bool_], ids=lambda dtype: dtype.name)
def test_casts_to_integers(source, target):
    """Out of range, and of NaN, as the NumPy kernel has it."""
    attrs = {"SrcT": source, "DstT": target, "Truncate": False}
    edges = [2.0 ** power + shift for power in (7, 8, 15, 16, 31, 32, 63, 64) for shift in (-1, -0.5, 0, 0.5, 1)]
    x = np.concatenate([numbers(source.np, 4000), np.array(edges, source.np), -np.array(edges, source.np)])
    got = native_op("Cast", x, **attrs)
    np.testing.assert_array_equal(got, REGISTRY["Cast"].kernel(x, source, target, False))
