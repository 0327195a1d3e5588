"""Products and convolutions of 8 bits by generated code, and what makes 8 bits of their sums, against NumPy: every bit."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config
from support.plans import nodes_of

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("each_isa")]
TYPES = {np.dtype(np.uint8): tf.quint8, np.dtype(np.int8): tf.qint8, np.dtype(np.int32): tf.qint32, np.dtype(np.float32): tf.float32}
raw = tf.raw_ops


def check(monkeypatch, build, *feeds, native=True):
    """Both ways agree in every bit; ``native``: the ops are part of a region."""
    results = []
    for mode in ("off", "eager"):
        monkeypatch.setattr(config, "mode", mode)
        with tf.Graph().as_default():
            inputs = [tf.placeholder(TYPES[value.dtype], value.shape) for value in map(np.asarray, feeds)]
            fetches = list(build(*inputs))
            with tf.Session() as session:
                results.append(session.run(fetches, dict(zip(inputs, feeds))))
                types = {node.definition.type for node in nodes_of(session)}
    for one, other in zip(*results):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(other, one)
    assert (types == {"_Region"}) == native
    return results[1]


def octets(rng, shape, dtype):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape, dtype)


@pytest.mark.parametrize("low", [-1.0, 0.3, 40000.0])  # 0 inside of the range, outside of it, and too far for 16 bits
@pytest.mark.parametrize("transposed", [False, True])
def test_products(low, transposed, monkeypatch):
    rng = np.random.default_rng(0)
    for m, k, n in ((1, 1, 1), (5, 7, 4), (64, 33, 65), (40, 600, 17)):
        a = octets(rng, (k, m) if transposed else (m, k), rng.choice([np.uint8, np.int8]))
        b = octets(rng, (n, k) if transposed else (k, n), rng.choice([np.uint8, np.int8]))

        def build(x, y, *bounds):
            sums = raw.QuantizedMatMul(a=x, b=y, min_a=bounds[0], max_a=bounds[1], min_b=bounds[2], max_b=bounds[3],
                                       transpose_a=transposed, transpose_b=transposed)
            return [*sums, raw.Dequantize(input=sums[0], min_range=sums[1], max_range=sums[2], mode="MIN_FIRST")]

        check(monkeypatch, build, a, b, *np.float32([low, low + 2, -2, 1]))


@pytest.mark.parametrize(("image", "kernel", "stride", "padding"), [
    ((2, 9, 8, 3), (3, 3, 3, 5), 1, "SAME"), ((2, 9, 8, 6), (1, 1, 6, 16), 1, "VALID"), ((1, 9, 8, 5), (3, 2, 5, 33), 2, "SAME"),
    ((1, 4, 4, 1), (5, 5, 1, 1), 1, "SAME")])
def test_convolutions(image, kernel, stride, padding, monkeypatch):
    rng = np.random.default_rng(1)

    def build(x, f, *bounds):
        sums, low, high = tf.nn.quantized_conv2d(x, f, *bounds, strides=[1, stride, stride, 1], padding=padding)
        return [sums, low, high, *raw.RequantizationRange(input=sums, input_min=low, input_max=high)]

    check(monkeypatch, build, octets(rng, image, np.uint8), octets(rng, kernel, np.uint8), *np.float32([-1, 1, -2, 3]))


def floats_of(sums):
    """Sums with their range, and what they stand for."""
    return [*sums, raw.Dequantize(input=sums[0], min_range=sums[1], max_range=sums[2], mode="MIN_FIRST")]


CENTRED = {np.uint8: (-1.28, 1.27), np.int8: (-1.28, 1.27)}  # ranges of weights whose 0 is 128, or 0: CPUs with VNNI multiply their bytes


@pytest.mark.parametrize("first", [np.uint8, np.int8])
@pytest.mark.parametrize("second", [np.uint8, np.int8])
@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (0.0, 2.0), (-0.3, 5.0), (1.0, 2.0)])
def test_weights_with_their_0_in_the_middle(first, second, bounds, monkeypatch):
    rng = np.random.default_rng(3)
    for m, k, n in ((3, 1, 2), (20, 34, 65), (33, 260, 130)):
        def multiply(x, y, *given):
            return floats_of(raw.QuantizedMatMul(a=x, b=y, min_a=given[0], max_a=given[1], min_b=given[2], max_b=given[3]))

        check(monkeypatch, multiply, octets(rng, (m, k), first), octets(rng, (k, n), second), *np.float32([*bounds, *CENTRED[second]]))
    for image, kernel, stride, padding in (((2, 9, 8, 3), (3, 3, 3, 5), 1, "SAME"), ((1, 10, 12, 8), (3, 3, 8, 70), 2, "VALID"),
                                           ((3, 7, 7, 6), (1, 1, 6, 16), 2, "SAME"), ((1, 9, 9, 4), (5, 2, 4, 33), 2, "SAME")):
        def convolve(x, f, *given, stride=stride, padding=padding):
            return floats_of(tf.nn.quantized_conv2d(x, f, *given, strides=[1, stride, stride, 1], padding=padding))

        check(monkeypatch, convolve, octets(rng, image, first), octets(rng, kernel, second), *np.float32([*bounds, *CENTRED[second]]))


def test_a_layer(monkeypatch):
    rng = np.random.default_rng(2)

    def build(x, f, *bounds):
        sums, low, high = tf.nn.quantized_conv2d(x, f, *bounds, strides=[1, 1, 1, 1], padding="SAME")
        start, stop = raw.RequantizationRange(input=sums, input_min=low, input_max=high)
        fewer = raw.Requantize(input=sums, input_min=low, input_max=high, requested_output_min=start, requested_output_max=stop, out_type=tf.quint8)
        activations = raw.QuantizedRelu(features=fewer[0], min_features=fewer[1], max_features=fewer[2])
        return [*activations, tf.dequantize(*activations, mode="MIN_FIRST")]

    integers, low, high, floats = check(monkeypatch, build, octets(rng, (2, 6, 6, 4), np.uint8), octets(rng, (3, 3, 4, 8), np.uint8),
                                        *np.float32([-1, 1, -2, 3]))
    assert low < 0 < high and floats.min() >= -1e-6 and len(np.unique(integers)) > 20


def test_layers_with_biases_and_pooling(monkeypatch):
    """Convolution, bias, activation, pooling and a product, without floats in between: all of it native."""
    rng = np.random.default_rng(4)

    def narrowed(sums, low, high):
        start, stop = raw.RequantizationRange(input=sums, input_min=low, input_max=high)
        return raw.Requantize(input=sums, input_min=low, input_max=high, requested_output_min=start, requested_output_max=stop, out_type=tf.quint8)

    def build(x, f, bias, w, *bounds):
        x, low, high = narrowed(*tf.nn.quantized_conv2d(x, f, *bounds, strides=[1, 1, 1, 1], padding="SAME"))
        x, low, high = narrowed(*raw.QuantizedBiasAdd(input=x, bias=bias, min_input=low, max_input=high, min_bias=-1.0, max_bias=2.0,
                                                      out_type=tf.qint32))
        x, low, high = raw.QuantizedRelu6(features=x, min_features=low, max_features=high)
        x, low, high = tf.nn.quantized_max_pool(x, low, high, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        x, low, high = raw.QuantizedReshape(tensor=x, shape=[2, 72], input_min=low, input_max=high)
        return raw.QuantizedMatMul(a=x, b=w, min_a=low, max_a=high, min_b=bounds[2], max_b=bounds[3])

    sums, low, high = check(monkeypatch, build, *[octets(rng, shape, np.uint8) for shape in ((2, 6, 6, 4), (3, 3, 4, 8), (8,), (72, 5))],
                            *np.float32([-1, 1, -2, 3]))
    assert low < 0 < high and len(np.unique(sums)) == sums.size


@pytest.mark.parametrize("dtype", [tf.quint8, tf.qint8])
@pytest.mark.parametrize("mode", ["MIN_COMBINED", "MIN_FIRST", "SCALED"])
def test_floats_to_integers_and_back(dtype, mode, monkeypatch):
    x = (np.random.default_rng(3).standard_normal((9, 31)) * 2).astype(np.float32)

    def build(values, low, high):
        quantized = tf.quantize(values, low, high, dtype, mode)
        return [*quantized, tf.dequantize(*quantized, mode=mode)]

    for low, high in ((-1, 2), (0.5, 3), (0, 0), (-1, 255)):
        check(monkeypatch, build, x, *np.float32([low, high]))


def test_nothing_to_multiply_is_left_to_numpy(monkeypatch):
    def build(x, y, *bounds):
        return raw.QuantizedMatMul(a=x, b=y, min_a=bounds[0], max_a=bounds[1], min_b=bounds[2], max_b=bounds[3])
    factors = np.zeros((3, 0), np.uint8), np.zeros((0, 2), np.uint8)
    assert check(monkeypatch, build, *factors, *np.float32([-1, 1, -2, 1]), native=False)[0].shape == (3, 2)


def test_a_range_that_is_none_is_an_error_of_the_op():
    a, low, high = tf.placeholder(tf.quint8, [2, 2]), tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    sums = raw.QuantizedMatMul(a=a, b=a, min_a=low, max_a=high, min_b=-1.0, max_b=1.0, name="sums")
    shown = tf.dequantize(*sums, mode="MIN_FIRST")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="min_a must be no more than max_a") as caught:
        session.run(shown, {a: np.ones((2, 2), np.uint8), low: 2, high: 1})
    assert caught.value.op.name == "sums"
