"""Winograd's convolution by generated code, against float64: odd sizes, groups of squares, epilogues; beside outliers, infinities and NaN."""
from __future__ import annotations

import numpy as np
import pytest

from penstock.graph.opdef import lookup
from penstock.native.calls import Array, Buffer
from penstock.native.config import config
from penstock.native.contract import winograd
from penstock.native.contract.product import Epilogue
from penstock.native.contract.winograd import scheme_for
from penstock.native.emitter import Emitter
from penstock.native.table.call_table import CallTable
from penstock.ops.nn.conv import _backprop_filter, _backprop_input, _forward
from support.native import run as run_op
from support.native import run_calls as run

pytestmark = pytest.mark.usefixtures("each_isa")
ATTRS = {"strides": [1, 1, 1, 1], "dilations": [1, 1, 1, 1], "padding": "SAME", "data_format": "NHWC", "explicit_paddings": []}


@pytest.fixture(params=[3, 5], ids="{0}x{0}".format)
def taps(request, monkeypatch):
    """Of a window, along an axis. Gradients for filters take Winograd's way even where few pixels are summed."""
    monkeypatch.setitem(winograd._LEAST_SUMMED, 5, winograd._LEAST_SQUARES)
    return request.param


def near(found, expected):
    """Within the tolerance that is promised for Winograd's algorithm; the expected values are computed in float64."""
    assert found.shape == expected.shape and np.abs(found - expected).max() / np.abs(expected).max() < 3e-5


@pytest.mark.parametrize(("shape", "outputs", "padding"), [
    ((2, 20, 22, 64), 64, "SAME"), ((3, 18, 17, 40), 33, "VALID"), ((8, 14, 15, 36), 50, "SAME"), ((4, 30, 9, 100), 64, "EXPLICIT")])
@pytest.mark.parametrize("threads", [1, 3])
def test_winograd(shape, outputs, padding, taps, threads):
    rng = np.random.default_rng(12)
    attrs = {**ATTRS, "padding": padding, "explicit_paddings": [0, 0, 2, 1, 0, 3, 0, 0] if padding == "EXPLICIT" else []}
    x, f = rng.standard_normal(shape), rng.standard_normal((taps, taps, shape[3], outputs))
    expected = _forward(x, f, **attrs)
    dy, sizes, filter_sizes = rng.standard_normal(expected.shape), np.array(x.shape, np.int32), np.array(f.shape, np.int32)
    small = [each.astype(np.float32) for each in (x, f, dy)]
    assert scheme_for((taps, taps), (1, 1), (1, 1), f.shape[2:], shape[0], expected.shape[1:3], small[0].dtype).taps == taps
    near(run_op(lookup("Conv2D"), small[:2], attrs, threads)[0], expected)
    near(run_op(lookup("Conv2DBackpropInput"), [sizes, *small[1:]], attrs, threads)[0], _backprop_input(sizes, f, dy, **attrs))
    near(run_op(lookup("Conv2DBackpropFilter"), [small[0], filter_sizes, small[2]], attrs, threads)[0],
         _backprop_filter(x, filter_sizes, dy, **attrs))


def test_winograd_in_groups(monkeypatch, taps):
    """Squares that do not fit the cache together; with an epilogue, and added to what was there."""
    monkeypatch.setattr(winograd, "_CACHE", 1)
    rng = np.random.default_rng(13)
    x, f, bias, dy = (rng.standard_normal(shape, np.float32) for shape in ((3, 27, 25, 32), (taps, taps, 32, 48), (48,), (3, 27, 25, 48)))
    wide = [each.astype(np.float64) for each in (x, f, dy)]
    found = run(lambda emit, *arrays: emit.convolve.conv2d(*arrays[:2], (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1),
                                                           epilogue=Epilogue(arrays[2], lower_bound=0.0)), x, f, bias)
    near(found, np.maximum(_forward(*wide[:2], **ATTRS) + bias, 0))
    sizes = np.array(f.shape, np.int32)

    def gradient(emit, image, grad, start):
        wanted = emit.constant(sizes)
        return emit.convolve.conv2d_backprop_filter(image, wanted, grad, (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1), epilogue=Epilogue(start, -0.5))

    near(run(gradient, x, dy, f), f - 0.5 * _backprop_filter(wide[0], sizes, wide[2], **ATTRS))


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("depth", [5, 32])  # without Winograd, and with
def test_filter_gradient_into_a_variable(taps, depth, read):
    """Gradient descent: the filter itself is what the gradient is added to; its rate is known, or read in the step."""
    rng = np.random.default_rng(14)
    x, dy, start = (rng.standard_normal(shape, np.float32) for shape in ((2, 20, 20, depth), (2, 20, 20, 40), (taps, taps, depth, 40)))
    sizes, emitter, rate = np.array(start.shape, np.int32), Emitter(2), np.asarray(0.1, np.float32)
    arrays = [Array(Buffer("input", value.nbytes), value.dtype, value.shape, value.strides) for value in (x, dy, start, rate)]
    epilogue = Epilogue(arrays[2], -1.0, rate=arrays[3]) if read else Epilogue(arrays[2], -0.1)
    emitter.convolve.conv2d_backprop_filter(arrays[0], emitter.constant(sizes), arrays[1], (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1),
                                            epilogue=epilogue, into=arrays[2])
    variable = start.copy()
    assert CallTable(emitter, arrays, []).run([x, dy, variable, rate]) is None
    near(variable, start - 0.1 * _backprop_filter(x.astype(np.float64), sizes, dy.astype(np.float64), **ATTRS))


# --- outliers --------------------------------------------------------------------------------------------------------

def three(x, f, dy):
    """Convolution, gradient for the input and gradient for the filter, by native code."""
    sizes, filter_sizes = np.array(x.shape, np.int32), np.array(f.shape, np.int32)
    return [run_op(lookup("Conv2D"), [x, f], ATTRS)[0], run_op(lookup("Conv2DBackpropInput"), [sizes, f, dy], ATTRS)[0],
            run_op(lookup("Conv2DBackpropFilter"), [x, filter_sizes, dy], ATTRS)[0]]


def exact(x, f, dy):
    """The same in float64."""
    sizes, filter_sizes = np.array(x.shape, np.int32), np.array(f.shape, np.int32)
    x, f, dy = (each.astype(np.float64) for each in (x, f, dy))
    with np.errstate(all="ignore"):
        return [_forward(x, f, **ATTRS), _backprop_input(sizes, f, dy, **ATTRS), _backprop_filter(x, filter_sizes, dy, **ATTRS)]


def check_beside(x, f, dy, limit=3e-6):
    """Every element is right by the measure of its own terms, whatever stands beside its window; what is not a number is so for NumPy, too."""
    for found, wanted, size in zip(three(x, f, dy), exact(x, f, dy), exact(abs(x), abs(f), abs(dy))):
        with np.errstate(over="ignore"):
            narrow = wanted.astype(np.float32)
        finite = np.isfinite(narrow)
        np.testing.assert_array_equal(found[~finite], narrow[~finite])
        assert (np.abs(found[finite] - wanted[finite]) <= limit * size[finite]).all()


def data(*shapes):
    rng = np.random.default_rng(15)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def plain(taps):
    return data((1, 32, 32, 32), (taps, taps, 32, 32), (1, 32, 32, 32))


@pytest.mark.parametrize("place", [(9, 13), (0, 0), (31, 30)], ids=str)
@pytest.mark.parametrize("value", [1e6, -1e9, 3e37, np.inf, np.nan])
def test_an_outlier_of_the_image_touches_only_what_sees_it(value, place, taps):
    x, f, dy = plain(taps)
    for image in (x, dy):
        changed = image.copy()
        changed[0, place[0], place[1], 5] = value
        images = (changed, dy) if image is x else (x, changed)
        # a huge dy meets small pixels in the gradient for the filter; of 25 taps the smallest is smaller than of 9
        check_beside(images[0], f, images[1], 3e-6 if image is x else {3: 1e-4, 5: 5e-4}[taps])


@pytest.mark.parametrize("value", [1e6, 3e37, np.inf, np.nan])
def test_an_outlier_of_the_filter(value, taps):
    x, f, dy = plain(taps)
    f[1, 0, 3, 4] = value
    check_beside(x, f, dy)


def test_large_taps_that_the_corner_of_an_image_does_not_see(taps):
    """A filter with a row of taps 300 times the others, and a pixel 40 times the others beside the padding that this row meets."""
    x, f, dy = plain(taps)
    f[0] *= 300
    x[0, 0, 0] *= 40
    check_beside(x, f, dy)


def test_masked_maps(taps):
    """Half of a map is masked, and has no gradient."""
    x, f, dy = data((2, 15, 18, 40), (taps, taps, 40, 33), (2, 15, 18, 33))
    x[:, :7] = -1e9
    dy[:, :8] = 0
    check_beside(x, f, dy)
    x[:, :7] = 0
    check_beside(x, f, dy)


def test_a_spoilt_square_is_added_to_what_was_there(taps):
    """Unsafe squares go through the epilogue once: a residual that is added, a bound, a variable that a gradient is taken from."""
    x, f, dy = plain(taps)
    x[0, 9, 13, 5] = 1e6
    residual, wanted = dy, exact(x, f, dy)

    def convolution(emit, image, kernel, added):
        return emit.convolve.conv2d(image, kernel, (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1), epilogue=Epilogue(added, lower_bound=0.0))

    np.testing.assert_allclose(run(convolution, x, f, residual), np.maximum(wanted[0] + residual, 0), rtol=1e-5, atol=2e-3)
    sizes = np.array(f.shape, np.int32)

    def gradient(emit, image, grad, start):
        filter_sizes = emit.constant(sizes)
        return emit.convolve.conv2d_backprop_filter(image, filter_sizes, grad, (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1),
                                                    epilogue=Epilogue(start, -0.5))

    np.testing.assert_allclose(run(gradient, x, dy, f), f - 0.5 * wanted[2], rtol=1e-5, atol=2e-3)


# The errors of PyTorch 2.13 on the same numbers, against float64: the largest, and the root mean square.
PYTORCH = {64: [(1.094e-4, 9.87e-6), (3.53e-5, 5.01e-6), (1.074e-4, 1.33e-5)], 256: [(4.176e-4, 3.93e-5), (3.49e-5, 5.08e-6), (1.205e-4, 1.34e-5)]}


@pytest.mark.parametrize("depth", PYTORCH)
def test_error_on_plain_data(depth):
    """Convolution, gradient for the input, gradient for the filter: the mean is at most four times PyTorch's, the largest six times."""
    arrays = data((1, 28, 28, depth), (3, 3, depth, 64), (1, 28, 28, 64))
    for found, right, (largest, mean) in zip(three(*arrays), exact(*arrays), PYTORCH[depth]):
        error = np.abs(found - right)
        assert error.max() <= 6 * largest and np.mean(error ** 2) ** 0.5 <= 4 * mean


def test_the_switch(monkeypatch, taps):
    def labels():
        emitter = Emitter(1)
        arrays = [Array(Buffer("input", value.nbytes), value.dtype, value.shape, value.strides) for value in plain(taps)[:2]]
        emitter.convolve.conv2d(*arrays, (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1))
        return [call.label for call in emitter.calls]

    assert "conv2d: input" in labels()
    monkeypatch.setattr(config, "winograd", False)
    assert "conv2d: input" not in labels()
