"""Convolution and pooling: what TensorFlow's CPU kernels, and so the recordings, lack: NCHW, groups, dilations."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import lookup
from penstock.ops.nn import im2col
from penstock.ops.nn.windows import windows

RANDOM = np.random.RandomState(3)


@pytest.fixture(autouse=True)
def same_numbers():
    """They do not depend on which tests came before."""
    RANDOM.seed(3)


def array(*shape):
    return RANDOM.standard_normal(shape)


def run(build, *values):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build(*[tf.constant(value) for value in values]))


def fails_when_run(build, *values):
    """The InvalidArgumentError of a graph that knows no shapes while it is built."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(value.dtype) for value in values]
        fetch = build(*inputs)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(fetch, dict(zip(inputs, values)))
        return str(caught.value)


def direct(x, kernel, w):
    """A convolution by its definition."""
    out = np.zeros((x.shape[0], *w.output, kernel.shape[-1]))
    padded = w.pad(x, 1)
    for where in np.ndindex(*w.output):
        for tap in np.ndindex(*w.window):
            at = tuple(o * s + t * d for o, s, t, d in zip(where, w.strides, tap, w.dilations))
            out[(slice(None), *where)] += padded[(slice(None), *at)] @ kernel[tap]
    return out


@pytest.mark.parametrize("block", [1, 40, 1 << 19])
@pytest.mark.parametrize(("window", "strides", "dilations", "padding"), [
    ((3,), (1,), (2,), "SAME"), ((3, 2), (1, 1), (1, 1), "VALID"), ((2, 3), (2, 1), (1, 2), "SAME"),
    ((2, 2, 2), (1, 2, 1), (1, 1, 1), "VALID")])
def test_blocks_of_any_size_give_the_same_sums(monkeypatch, block, window, strides, dilations, padding):
    monkeypatch.setattr(im2col, "_BLOCK", block)
    w = windows((6, 5, 4)[:len(window)], window, strides, dilations, padding)
    x, kernel = array(3, *w.size, 2), array(*window, 2, 3)
    y = im2col.convolve(x, kernel, w)
    np.testing.assert_allclose(y, direct(x, kernel, w))
    dy = array(*y.shape)
    dx = im2col.convolve_backprop_input(x.shape, kernel, dy, w)
    df = im2col.convolve_backprop_filter(x, dy, kernel.shape, w)
    np.testing.assert_allclose([np.vdot(dx, x), np.vdot(df, kernel)],
                               [np.vdot(dy, y)] * 2)  # convolution is linear in both


@pytest.mark.parametrize("function", [
    lambda x, f, order: tf.nn.conv2d(x, f, 2, "SAME", data_format=order),
    lambda x, f, order: tf.nn.depthwise_conv2d(x, f[..., :2], [1, 1, 1, 1], "VALID", data_format=order),
    lambda x, f, order: tf.nn.max_pool(x, 3, 2, "SAME", data_format=order),
    lambda x, f, order: tf.nn.avg_pool(x, 3, 2, "SAME", data_format=order),
    lambda x, f, order: tf.nn.convolution(x, f, "SAME", dilation_rate=[2, 2], data_format=order),
    lambda x, f, order: tf.nn.pool(x, [2, 2], "AVG", "VALID", dilation_rate=[2, 1], data_format=order),
    lambda x, f, order: tf.nn.separable_conv2d(x, f[..., :2], tf.reshape(f[0, 0], [1, 1, 6, 2]), [1, 1, 1, 1], "SAME",
                                               data_format=order),
], ids=["conv2d", "depthwise", "max_pool", "avg_pool", "dilated", "dilated pool", "separable"])
def test_channels_first_is_channels_last_transposed(function):
    x, f = array(2, 6, 7, 3), array(3, 3, 3, 4)

    def with_gradients(y, inputs):
        return [y, *(g for g in tf.gradients(y * y, inputs) if g is not None)]

    last = run(lambda x, f: with_gradients(function(x, f, "NHWC"), [x, f]), x, f)
    first = run(lambda x,
                f: with_gradients(tf.transpose(function(tf.transpose(x, [0, 3, 1, 2]), f, "NCHW"), [0, 2, 3, 1]),
                                  [x, f]), x, f)
    for a, b in zip(last, first):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_sequences_with_channels_first():
    x, f = array(2, 7, 3), array(3, 3, 4)
    last = run(lambda x, f: tf.nn.conv1d(x, f, 2, "SAME", data_format="NWC"), x, f)
    first = run(lambda x, f: tf.nn.conv1d(tf.transpose(x, [0, 2, 1]), f, 2, "SAME", data_format="NCW"), x, f)
    np.testing.assert_allclose(last, first.transpose(0, 2, 1))


def test_groups_are_convolutions_side_by_side():
    x, f = array(2, 5, 5, 6), array(3, 3, 2, 9)
    parts = [run(lambda a, b: tf.nn.conv2d(a, b, 1, "SAME"), x[..., 2 * i:2 * i + 2],
                 f[..., 3 * i:3 * i + 3]) for i in range(3)]
    np.testing.assert_allclose(run(lambda a, b: tf.nn.conv2d(a, b, 1, "SAME"), x, f), np.concatenate(parts, -1))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_dilation_is_a_filter_with_holes(padding):
    x, f = array(2, 8, 8, 2), array(3, 3, 2, 2)
    holes = np.zeros((5, 5, 2, 2))
    holes[::2, ::2] = f
    wanted = run(lambda a, b: tf.nn.conv2d(a, b, 1, padding), x, holes)
    np.testing.assert_allclose(run(lambda a, b: tf.nn.conv2d(a, b, 1, padding, dilations=2), x, f), wanted)
    np.testing.assert_allclose(run(lambda a, b: tf.nn.atrous_conv2d(a, b, 2, padding), x, f), wanted)


def test_bfloat16_is_rounded_once():
    x, f = array(1, 6, 6, 32), array(3, 3, 32, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        narrow = [tf.cast(value, tf.bfloat16) for value in (x, f)]
        y = tf.nn.conv2d(*narrow, 1, "SAME")
        exact = tf.nn.conv2d(*(tf.cast(value, tf.float64) for value in narrow), 1, "SAME")
        assert y.dtype == tf.bfloat16
        error, size = session.run([tf.abs(tf.cast(y, tf.float64) - exact), tf.abs(exact)])
    assert (error <= size * 2.0 ** -8 + 1e-4).all()


@pytest.mark.parametrize(("function", "spatial"), [(tf.nn.conv2d, [4, 5]), (tf.nn.conv3d, [2, 4, 5])])
def test_no_output_channels(function, spatial):
    def build(x, f):
        y = function(x, f, [1] * x.shape.ndims, "SAME")
        return [y, *tf.gradients(y, [x, f])]

    x, f = array(2, *spatial, 3), array(*[3] * len(spatial), 3, 0)
    y, dx, df = run(build, x, f)
    assert y.shape == (2, *spatial, 0) and df.shape == f.shape and dx.shape == x.shape and not dx.any()


def test_what_does_not_fit_is_an_invalid_argument_when_it_runs():
    x, f = array(2, 5, 5, 3), array(3, 3, 4, 2)
    assert "Depth of input (3) is not a multiple of input depth of filter (4)" in fails_when_run(
        lambda a, b: tf.nn.conv2d(a, b, 1, "SAME"), x, f)
    assert "would be negative" in fails_when_run(lambda a, b: tf.nn.conv2d(a, b, 1, "VALID"), x[:, :1], f[:, :, :3])
    assert "4-dimensional" in fails_when_run(lambda a, b: tf.nn.conv2d(a, b, 1, "SAME"), x[0], f)
    assert "same depth" in fails_when_run(lambda a, b: tf.nn.depthwise_conv2d_native(a, b, [1, 1, 1, 1], "SAME"), x, f)
    assert "negative" in fails_when_run(lambda a: tf.nn.max_pool(a, 8, 1, "VALID"), x)
    assert "4-dimensional" in fails_when_run(lambda a: tf.nn.avg_pool(a, 2, 1, "VALID"), x[0])
    assert "BiasAdd" in fails_when_run(tf.nn.bias_add, x, array(4))


@pytest.mark.parametrize(("strides", "error"), [([2, 1, 1, 1], tf.errors.InvalidArgumentError), ([1, 1, 1, 2], tf.errors.InvalidArgumentError),
                                                ([1, -1, 1, 1], ValueError), ([1, 1, 1], ValueError)])
def test_bad_strides(strides, error):
    with tf.Graph().as_default(), pytest.raises(error, match=r"[Ss]tride"):
        tf.nn.conv2d(array(1, 4, 4, 1), array(2, 2, 1, 1), strides, "SAME")


def test_second_derivative_of_lrn():
    x, v = array(1, 2, 2, 5).astype(np.float32), array(1, 2, 2, 5).astype(np.float32)

    def slope(x, v):
        (first,) = tf.gradients(tf.nn.lrn(x, 1, bias=2.0, alpha=0.5, beta=0.75) ** 2, x)
        return first, tf.gradients(first, x, grad_ys=v)[0]

    with tf.Graph().as_default(), tf.Session() as session:
        point, direction = tf.placeholder(tf.float32, x.shape), tf.constant(v)
        first, second = slope(point, direction)
        step = 1e-2
        ahead, behind = (session.run(first, {point: x + sign * step * v}) for sign in (1, -1))
        symbolic = session.run(second, {point: x})
    # The Hessian is symmetric, so its product with v is the derivative of the gradient along v.
    np.testing.assert_allclose(symbolic, (ahead - behind) / (2 * step), rtol=2e-2, atol=2e-3)


def test_l2_loss_of_many_elements():
    """A sum of millions of squares of float32 keeps its digits."""
    values = np.random.default_rng(0).random(5_000_000, np.float32)
    found = lookup("L2Loss").kernel(values)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.square(values, dtype=np.float64).sum() / 2, 1e-6)
