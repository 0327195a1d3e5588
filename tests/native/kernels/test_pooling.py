"""Pooling and what else looks at neighbours, against the NumPy kernels."""
from __future__ import annotations

import numpy as np
import pytest

from support.native import check, flat_node, native

pytestmark = pytest.mark.process
WINDOWS = [((2, 2), (2, 2)), ((3, 3), (2, 2)), ((3, 3), (1, 1)), ((1, 5), (3, 2)), ((2, 3), (4, 1)), ((7, 7), (1, 1))]
SHAPES = [(2, 9, 8, 5), (1, 7, 7, 64), (3, 8, 11, 83), (1, 7, 9, 16)]


def values(*shape, dtype=np.float32, seed=0):
    """With many equal elements, so that the first maximum matters."""
    return np.random.RandomState(seed).randint(-6, 7, shape).astype(dtype)


def arguments(window, strides, data_format="NHWC"):
    spread = (lambda pair: [1, *pair, 1]) if data_format == "NHWC" else (lambda pair: [1, 1, *pair])
    return dict(ksize=spread(window), strides=spread(strides), data_format=data_format)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("window,strides", WINDOWS)
@pytest.mark.parametrize("shape", SHAPES)
def test_pooling(shape, window, strides, padding):
    x, attrs = values(*shape), dict(arguments(window, strides), padding=padding)
    check("MaxPool", x, **attrs)
    check("AvgPool", x, **attrs)
    node, _ = flat_node("MaxPool", x, **attrs)
    grad = values(*node.outputs[0].shape.as_list(), seed=1)
    check("MaxPoolGrad", x, grad, grad, **attrs)
    check("AvgPoolGrad", np.int32(shape), grad, known=(0,), rtol=1e-6, atol=1e-6, **attrs)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_no_images(padding):
    x, attrs = values(0, 8, 8, 3), dict(arguments((2, 2), (2, 2)), padding=padding)
    check("MaxPool", x, **attrs)
    check("MaxPoolGrad", x, x[:, ::2, ::2], x[:, ::2, ::2], **attrs)
    check("AvgPoolGrad", np.int32(x.shape), x[:, ::2, ::2], known=(0,), **attrs)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_channels_first(padding):
    x, attrs = values(2, 19, 8, 9), dict(arguments((3, 2), (2, 1), "NCHW"), padding=padding)
    node, _ = flat_node("MaxPool", x, **attrs)
    grad = values(*node.outputs[0].shape.as_list(), seed=1)
    check("MaxPool", x, **attrs)
    check("AvgPool", x, **attrs)
    check("MaxPoolGrad", x, grad, grad, **attrs)
    check("AvgPoolGrad", np.int32(x.shape), grad, known=(0,), rtol=1e-6, atol=1e-6, **attrs)


@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
def test_volumes(data_format):
    last = data_format == "NDHWC"
    x = values(2, 5, 6, 7, 20) if last else values(2, 20, 5, 6, 7)
    spread = (lambda *three: [1, *three, 1]) if last else (lambda *three: [1, 1, *three])
    attrs = dict(ksize=spread(2, 3, 2), strides=spread(2, 1, 3), padding="SAME", data_format=data_format)
    node, _ = flat_node("MaxPool3D", x, **attrs)
    grad = values(*node.outputs[0].shape.as_list(), seed=1)
    check("MaxPool3D", x, **attrs)
    check("AvgPool3D", x, **attrs)
    check("MaxPool3DGrad", x, grad, grad, **attrs)
    check("AvgPool3DGrad", np.int32(x.shape), grad, known=(0,), rtol=1e-6, atol=1e-6, **attrs)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8, np.int8, np.float16])
def test_types(dtype):
    x, attrs = np.abs(values(2, 6, 7, 35, dtype=dtype)), dict(arguments((3, 3), (2, 2)), padding="SAME")
    check("MaxPool", x, **attrs)
    check("MaxPoolGrad", x, x[:, ::2, ::2], x[:, ::2, ::2], **attrs)
    if np.dtype(dtype).kind == "f":
        check("AvgPool", x, **attrs)


def test_nans_are_maxima_and_get_no_gradient():
    x = values(1, 6, 6, 20)
    x[0, 2, 3, ::3] = np.nan
    x[0, 0, 0, 1] = -np.inf
    attrs = dict(arguments((3, 3), (2, 2)), padding="SAME")
    check("MaxPool", x, **attrs)
    check("MaxPoolGrad", x, x[:, ::2, ::2], values(1, 3, 3, 20, seed=2), **attrs)


def test_large_images_are_spread_over_threads_and_strided_ones_are_read():
    x = values(4, 40, 36, 70)[:, ::2, :, 3:67]
    for threads in (1, 3):
        attrs = dict(arguments((3, 3), (2, 2)), padding="SAME", threads=threads)
        check("MaxPool", x, **attrs)
        check("MaxPoolGrad", x, x[:, ::2, ::2], values(4, 10, 18, 64), **attrs)


def test_windows_that_are_computed_in_the_graph():
    x, sizes = values(1, 6, 6, 3), np.int32([1, 2, 2, 1])
    check("MaxPoolV2", x, sizes, sizes, padding="VALID")
    check("MaxPoolGradV2", x, native("MaxPoolV2", x, sizes, sizes, padding="VALID")[0], values(1, 3, 3, 3), sizes, sizes, padding="VALID")
