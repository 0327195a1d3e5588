"""Products and convolutions by generated code, against NumPy: odd sizes, transposes, strides, padding, epilogues, guards around results."""
from __future__ import annotations

import functools

import numpy as np
import pytest

from penstock.graph import dtypes as dt
from penstock.graph.opdef import lookup
from penstock.native.calls import Array, Buffer, Unsupported
from penstock.native.contract import convolution as convolutions
from penstock.native.contract import gemm, panels, product
from penstock.native.contract.product import Epilogue, emit
from penstock.native.contract.tile import Tile
from penstock.native.emitter import Emitter
from penstock.native.table.call_table import CallTable
from penstock.ops.nn.conv import _backprop_filter, _backprop_input, _forward
from support.native import run as run_op
from support.native import run_calls as run

pytestmark = pytest.mark.usefixtures("each_isa")
EXTENTS = (1, 2, 3, 7, 13, 14, 15, 16, 17, 29, 32, 33, 65, 100, 256, 257, 300)


def close(found, expected, depth=1):
    """As near as rounding of sums of this length allows; relative to the largest element."""
    assert found.shape == expected.shape and found.dtype == expected.dtype
    if expected.size:
        scale = np.abs(expected).max() + 1e-30
        limit = np.finfo(found.dtype).eps * 8 * max(depth, 1) ** 0.5
        assert np.abs(found - expected).max() / scale < max(limit, 1e-6 if found.dtype == np.float32 else 1e-14)


@pytest.fixture(params=[False, True], ids=["pieces", "panels"])
def each_way(request, monkeypatch):
    """The right factor is copied piece by piece, or first cut into panels, as it is for many rows."""
    if request.param:
        monkeypatch.setattr(product, "_SHARED", 0)
        monkeypatch.setattr(product, "_COPIED", range(1, 1 << 30))


def matrix(rng, rows, columns, transposed, dtype=np.float32):
    """Random; a view of its transpose if asked for, so that the product sees (rows, columns)."""
    return rng.standard_normal((columns, rows) if transposed else (rows, columns)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.usefixtures("each_way")
def test_products_of_any_size(dtype, transpose_a, transpose_b):
    rng = np.random.default_rng(0)
    for _ in range(40):
        m, n, k = (int(extent) for extent in rng.choice(EXTENTS, 3))
        a, b = matrix(rng, m, k, transpose_a, dtype), matrix(rng, k, n, transpose_b, dtype)
        found = run(lambda emit, x, y: emit.contract.matmul(x, y, transpose_a, transpose_b), a, b, threads=int(rng.choice([1, 2, 5])))
        close(found, (a.T if transpose_a else a) @ (b.T if transpose_b else b), k)


def _relu_of_product(emit, x, y, added, transposed):
    return emit.contract.matmul(x, y, *transposed, Epilogue(added, lower_bound=0.0))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.usefixtures("each_way")
def test_products_of_integers_wrap_around(dtype):
    rng = np.random.default_rng(7)
    limits = np.iinfo(dtype)
    for _ in range(20):
        m, n, k = (int(extent) for extent in rng.choice(EXTENTS, 3))
        transpose_a, transpose_b = rng.integers(2, size=2) == 1
        a = rng.integers(limits.min, limits.max, (k, m) if transpose_a else (m, k), dtype)
        b = rng.integers(limits.min, limits.max, (n, k) if transpose_b else (k, n), dtype)
        bias = rng.integers(limits.min, limits.max, n, dtype)
        found = run(functools.partial(_relu_of_product, transposed=(transpose_a, transpose_b)), a, b, bias)
        expected = (a.T if transpose_a else a) @ (b.T if transpose_b else b) + bias
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.maximum(expected, 0))


@pytest.mark.parametrize(("first", "second"), [
    ((3, 4, 5), (3, 5, 6)), ((2, 3, 20, 30), (2, 3, 30, 40)), ((2, 3, 20, 30), (30, 40)), ((2, 1, 20, 30), (1, 3, 30, 40)),
    ((1, 20, 30), (4, 30, 40)), ((5, 2, 3, 17, 9), (2, 1, 9, 33)), ((4, 20, 0), (4, 0, 7)), ((4, 0, 3), (4, 3, 7)), ((0, 5, 3), (0, 3, 2)),
    ((0, 3), (3, 4)),
])
def test_batches(first, second):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape, np.float32) for shape in (first, second))
    close(run(lambda emit, x, y: emit.contract.matmul(x, y), a, b), a @ b, first[-1])


def test_views():
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((2, extent, 3, 5), np.float32).transpose(0, 2, 1, 3) for extent in (4, 6))
    close(run(lambda emit, x, y: emit.contract.matmul(x, y, False, True), a, b), a @ b.swapaxes(-1, -2), 5)
    c, d = rng.standard_normal((20, 30), np.float32)[::2, ::3], rng.standard_normal((20, 30), np.float32)[::-2, ::3]
    close(run(lambda emit, x, y: emit.contract.matmul(x, y, False, True), c, d), c @ d.T, 10)
    row = np.broadcast_to(rng.standard_normal(40, np.float32), (9, 40))
    close(run(lambda emit, x, y: emit.contract.matmul(x, y), row, np.ascontiguousarray(row.T)), row @ row.T, 40)


def test_what_does_not_fit_is_left_to_the_kernel():
    a, b = np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)
    for values, attrs, op_type in [((a, b), {"transpose_a": False, "transpose_b": False}, "MatMul"),
                                   ((a.astype(np.complex64), np.ones((3, 5), np.complex64)), {"transpose_a": False, "transpose_b": False}, "MatMul"),
                                   ((a[None], np.ones((2, 3, 4), np.float32)), {"adj_x": False, "adj_y": False}, "BatchMatMul")]:
        with pytest.raises(Unsupported):
            run_op(lookup(op_type), values, attrs)


def test_a_batch_of_nothing_that_is_not_one_axis():
    """[0, 8] matrices are none, though 8 could be done at once."""
    a, b = np.ones((1, 8, 2, 9), np.float32)[:0], np.ones((1, 2, 9, 8), np.float32)[:0].transpose(0, 3, 2, 1)
    assert run(lambda emit, x, y: emit.contract.matmul(x, y), a, b).shape == (0, 8, 2, 2)


@pytest.mark.parametrize("shape", [(45, 33, 70), (30, 64, 600), (5, 10, 0), (1, 1, 1)])
@pytest.mark.usefixtures("each_way")
def test_epilogues_of_products(shape):
    m, n, k = shape
    rng = np.random.default_rng(3)
    a, b, bias, rest = (rng.standard_normal(each, np.float32) for each in ((m, k), (k, n), (n,), (m, n)))
    product = a @ b

    def with_epilogue(added, **options):
        return run(lambda emit, x, y, z: emit.contract.matmul(x, y, False, False, Epilogue(z, **options)), a, b, added)

    close(with_epilogue(bias), product + bias, k)
    close(with_epilogue(bias, lower_bound=0.0), np.maximum(product + bias, 0), k)
    close(with_epilogue(bias, lower_bound=0.0, upper_bound=6.0), np.clip(product + bias, 0, 6), k)
    close(with_epilogue(rest, alpha=-0.5), rest - np.float32(0.5) * product, k)
    close(with_epilogue(np.ascontiguousarray(rest.T).T), rest + product, k)


def test_relu_keeps_nan():
    a, b = np.full((3, 40), np.nan, np.float32), np.ones((40, 21), np.float32)
    assert np.isnan(run(lambda emit, x, y: emit.contract.matmul(x, y, epilogue=Epilogue(lower_bound=0.0, upper_bound=6.0)), a, b)).all()


def test_accumulates_into_an_array():
    rng = np.random.default_rng(4)
    a, b, start = (rng.standard_normal(shape, np.float32) for shape in ((300, 50), (300, 40), (50, 40)))
    emitter = Emitter(2)
    arrays = [Array(Buffer("input", value.nbytes), value.dtype, value.shape, value.strides) for value in (a, b, start)]
    emitter.contract.matmul(arrays[0], arrays[1], True, False, Epilogue(arrays[2], -0.1), arrays[2])
    variable = start.copy()
    assert CallTable(emitter, arrays, []).run([a, b, variable]) is None
    close(variable, start - np.float32(0.1) * (a.T @ b), 300)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_accumulates_by_a_rate_that_is_read(kind):
    rng = np.random.default_rng(5)
    a, b, start, rate = (rng.standard_normal(shape).astype(kind) for shape in ((300, 50), (300, 40), (50, 40), ()))
    emitter = Emitter(2)
    arrays = [Array(Buffer("input", value.nbytes), value.dtype, value.shape, value.strides) for value in (a, b, start, rate)]
    emitter.contract.matmul(arrays[0], arrays[1], True, False, Epilogue(arrays[2], -1.0, rate=arrays[3]), arrays[2])
    table = CallTable(emitter, arrays, [])
    for factor in (rate, np.asarray(3.0, kind)):
        variable = start.copy()
        assert table.run([a, b, variable, factor]) is None
        close(variable, start - factor * (a.T @ b), 300)


@pytest.mark.parametrize(("transposed", "rows", "calls"), [(False, 2000, 2), (True, 2000, 2), (False, 200, 1)])
def test_many_rows_share_panels(transposed, rows, calls):
    rng = np.random.default_rng(12)
    a, b = rng.standard_normal((rows, 270), np.float32), matrix(rng, 270, 250, transposed)
    emitter = Emitter(2)
    arrays = [Array(Buffer("input", value.nbytes), value.dtype, value.shape, value.strides) for value in (a, b)]
    emitter.contract.matmul(*arrays, False, transposed)
    assert len(emitter.calls) == calls
    close(run(lambda emit, x, y: emit.contract.matmul(x, y, False, transposed), a, b), a @ (b.T if transposed else b), 270)


def test_one_thread_and_many_agree():
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((300, 500), np.float32), rng.standard_normal((500, 200), np.float32)
    one, many = (run(lambda emit, x, y: emit.contract.matmul(x, y), a, b, threads=threads) for threads in (1, 7))
    close(one, many, 500)
    again = run(lambda emit, x, y: emit.contract.matmul(x, y), a, b, threads=7)
    assert (many == again).all()


# --- convolutions ----------------------------------------------------------------------------------------------------

def convolution(rng, data_format, padding):
    """A random input, filter, and the attributes."""
    height, width = (int(each) for each in rng.choice((1, 4, 7, 12, 13), 2))
    depth, outputs = int(rng.choice((1, 2, 3, 5, 16, 33))), int(rng.choice((1, 2, 8, 17, 32, 40)))
    groups, taps = int(rng.choice((1, 1, 2, 3))), tuple(int(each) for each in rng.choice((1, 2, 3, 5), 2))
    strides, dilations = [int(each) for each in rng.choice((1, 1, 2, 3, 4), 2)], [int(each) for each in rng.choice((1, 1, 2, 3), 2)]
    pads = [int(each) for each in rng.integers(0, 3, 4)]
    first = data_format == "NCHW"

    def arrange(inner, outer):
        return [*outer, *inner] if first else [*outer[:len(outer) // 2], *inner, *outer[len(outer) // 2:]]

    x = rng.standard_normal((2, depth * groups, height, width) if first else (2, height, width, depth * groups), np.float32)
    attrs = {"strides": arrange(strides, [1, 1]), "dilations": arrange(dilations, [1, 1]), "padding": padding, "data_format": data_format,
             "explicit_paddings": arrange(pads, [0] * 4) if padding == "EXPLICIT" else []}
    return x, rng.standard_normal((*taps, depth, outputs * groups), np.float32), attrs


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("padding", ["SAME", "VALID", "EXPLICIT"])
@pytest.mark.usefixtures("each_way")
def test_convolutions(data_format, padding):
    rng = np.random.default_rng(6)
    for _ in range(25):
        x, f, attrs = convolution(rng, data_format, padding)
        reach = [(taps - 1) * rate + 1 for taps, rate in zip(f.shape, attrs["dilations"][2:] if data_format == "NCHW" else attrs["dilations"][1:])]
        inner = x.shape[2:] if data_format == "NCHW" else x.shape[1:3]
        if padding != "SAME" and any(extent < needed for extent, needed in zip(inner, reach)):
            continue
        expected = _forward(x, f, **attrs)
        close(run_op(lookup("Conv2D"), [x, f], attrs)[0], expected, f[..., 0].size)
        dy, sizes, filter_sizes = rng.standard_normal(expected.shape, np.float32), np.array(x.shape, np.int32), np.array(f.shape, np.int32)
        close(run_op(lookup("Conv2DBackpropInput"), [sizes, f, dy], attrs)[0], _backprop_input(sizes, f, dy, **attrs), f[:, :, 0].size)
        close(run_op(lookup("Conv2DBackpropFilter"), [x, filter_sizes, dy], attrs)[0], _backprop_filter(x, filter_sizes, dy, **attrs), expected.size)


ATTRS = {"strides": [1, 1, 1, 1], "dilations": [1, 1, 1, 1], "padding": "SAME", "data_format": "NHWC", "explicit_paddings": []}


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize(("height", "width", "window", "stride"), [(6, 5, (3, 5), 1), (7, 5, (3, 5), 2), (4, 5, (4, 5), 1), (4, 5, (4, 5), 3)])
def test_input_gradients_of_filters_as_wide_as_the_image(data_format, height, width, window, stride, monkeypatch):
    """Each of their taps meets one pixel: no more is computed than the sums need."""
    rng, terms = np.random.default_rng(0), []
    monkeypatch.setattr(convolutions, "emit", lambda b, product, *args: (terms.append(product.m * product.n * product.k), emit(b, product, *args))[1])
    rows = (height - window[0]) // stride + 1
    f, dy = (rng.standard_normal(shape).astype(np.float32) for shape in ((*window, 3, 4), (2, rows, 1, 4)))
    sizes, strides = np.array([2, height, width, 3], np.int32), [1, stride, stride, 1]
    if data_format == "NCHW":
        dy, sizes, strides = np.ascontiguousarray(dy.transpose(0, 3, 1, 2)), sizes[[0, 3, 1, 2]], [1, 1, stride, stride]
    attrs = {"strides": strides, "padding": "VALID", "data_format": data_format, "dilations": [1, 1, 1, 1], "explicit_paddings": []}
    close(run_op(lookup("Conv2DBackpropInput"), [sizes, f, dy], attrs)[0], _backprop_input(sizes, f, dy, **attrs), f[:, :, 0].size)
    assert sum(terms) <= 2 * height * f.size  # of which each row of the image needs at most one filter's


@pytest.mark.parametrize("batch", [0, 1, 5])
def test_convolution_of_float64_and_of_no_images(batch):
    rng = np.random.default_rng(7)
    x, f = rng.standard_normal((batch, 9, 8, 6)), rng.standard_normal((3, 3, 6, 20))
    expected = _forward(x, f, **ATTRS)
    close(run_op(lookup("Conv2D"), [x, f], ATTRS)[0], expected, 54)
    dy, sizes = rng.standard_normal(expected.shape), np.array(f.shape, np.int32)
    close(run_op(lookup("Conv2DBackpropFilter"), [x, sizes, dy], ATTRS)[0], _backprop_filter(x, sizes, dy, **ATTRS), 360)


def test_convolution_of_a_part_of_an_array():
    rng = np.random.default_rng(8)
    whole = rng.standard_normal((2, 12, 14, 20), np.float32)
    x, f = whole[:, 1:10, 2:, 3:11], rng.standard_normal((3, 3, 8, 24), np.float32)
    found = run(lambda emit, image, kernel: emit.convolve.conv2d(image, kernel, (1, 2, 2, 1), "SAME", "NHWC", (1, 1, 1, 1)), x, f)
    close(found, _forward(x, f, **{**ATTRS, "strides": [1, 2, 2, 1]}), 72)


@pytest.mark.parametrize(("image", "filter", "stride", "padding"), [
    ((2, 31, 80, 3), (3, 3, 3, 33), 2, "SAME"), ((1, 60, 41, 4), (5, 7, 4, 16), 1, "VALID"), ((3, 24, 84, 1), (2, 3, 1, 70), 3, "VALID"),
    ((1, 20, 150, 2), (3, 3, 2, 8), 1, "SAME")])
def test_windows_are_read_where_they_are(image, filter, stride, padding):
    """Those of an image with few channels, but for the ends of lines, and for lines that reach beyond the image."""
    rng = np.random.default_rng(16)
    x, f = rng.standard_normal(image, np.float32), rng.standard_normal(filter, np.float32)

    def build(emit, images, kernel):
        made = emit.convolve.conv2d(images, kernel, (1, stride, stride, 1), padding, "NHWC", (1, 1, 1, 1))
        products = [call for call in emit.calls if call.label == "conv2d"]
        words = [dict(zip(gemm.WORDS, np.frombuffer(part, np.int64))) for call in products for part in call.parts]
        assert words and not any(each["a_packed"] for each in words)
        return made

    expected = _forward(x, f, **{**ATTRS, "strides": [1, stride, stride, 1], "padding": padding})
    for threads in (1, 3):
        close(run(build, x, f, threads=threads), expected, f[..., 0].size)


@pytest.mark.parametrize("tile", [Tile(4, 16, 14), Tile(8, 4, 6), Tile(4, 4, 12)], ids=str)
def test_the_micro_kernels_of_a_part_are_those_that_its_tiles_have(tile):
    """As the kernel cuts blocks into tiles, counted one by one: one that is missing would be a jump to nowhere."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        (m_start, n_start), (height, width) = rng.integers(0, 90, 2), rng.integers(1, 90, 2)
        words = {"m_start": m_start, "m_stop": m_start + height, "n_start": n_start, "n_stop": n_start + width, "m_block": rng.integers(1, 60)}
        expected = set()
        for m in range(m_start, m_start + height, words["m_block"]):
            count = min(words["m_block"], m_start + height - m)
            tiles = -(-count // tile.rows)
            pairs, more = divmod(-(-count // 2), tiles)
            for n in range(n_start, n_start + width, tile.columns):
                vectors = -(-min(tile.columns, n_start + width - n) // tile.lanes)
                expected |= {(True, 2 * (pairs + (index < more)), vectors) for index in range(tiles)}
        part = [{**words, "a_transposed": 1}.get(name, 0) for name in gemm.WORDS]
        assert set(gemm._sizes_of_tiles(tile, dict(zip(gemm.WORDS, part)))) == expected


def test_a_product_compiles_only_the_micro_kernels_that_it_calls():
    rng, calls = np.random.default_rng(4), []

    def build(emit, a, b):
        made = emit.contract.matmul(a, b)
        calls.extend(emit.calls)
        return made

    a, b = rng.standard_normal((6, 30), np.float32), rng.standard_normal((30, 3), np.float32)
    close(run(build, a, b), a @ b, 30)
    (call,) = (call for call in calls if call.label == "matmul")
    assert [code.symbol for code in call.uses] == ["micro_rows_6x1"] and set(call.codes) == {call.code, *call.uses}


def test_epilogues_of_convolutions():
    rng = np.random.default_rng(9)
    x, f, bias = (rng.standard_normal(shape, np.float32) for shape in ((2, 9, 7, 70), (3, 3, 70, 40), (40,)))
    expected = np.clip(_forward(x, f, **ATTRS) + bias, 0, 6)

    def build(emit, image, kernel, added):
        return emit.convolve.conv2d(image, kernel, (1, 1, 1, 1), "SAME", "NHWC", (1, 1, 1, 1), epilogue=Epilogue(added, 1.0, 0.0, 6.0))

    close(run(build, x, f, bias), expected, 630)
    close(run(build, x, f, np.broadcast_to(bias, expected.shape).copy()), expected, 630)


@pytest.mark.parametrize("tile", [Tile(4, 8, 6), Tile(4, 4, 6), Tile(8, 4, 6), Tile(8, 2, 12), Tile(4, 16, 14), Tile(8, 8, 14)], ids=str)
@pytest.mark.usefixtures("each_way")
def test_tiles_of_other_cpus(tile, monkeypatch):
    """The code for CPUs with shorter vectors, or longer ones, also runs on this one."""
    for module in (gemm, panels, product):
        monkeypatch.setattr(module, "tile_for", lambda size, integer=False, pairs=False: tile)
    rng, dtype = np.random.default_rng(10), np.dtype(f"f{tile.size}")
    for transposed in (False, True):
        a, b = matrix(rng, 37, 270, transposed, dtype), matrix(rng, 270, 45, transposed, dtype)
        found = run(functools.partial(_product, transposed=transposed), a, b)
        close(found, (a.T if transposed else a) @ (b.T if transposed else b), 270)


def _product(emit, x, y, transposed):
    return emit.contract.matmul(x, y, transposed, transposed)


# --- depthwise -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_depthwise(data_format, dtype):
    rng = np.random.default_rng(15)
    ops = [lookup("DepthwiseConv2dNative" + suffix) for suffix in ("", "BackpropInput", "BackpropFilter")]
    for _ in range(25):
        height, width, channels, multiplier = (int(rng.choice(each)) for each in ((3, 7, 12), (5, 8, 13), (1, 3, 16, 37), (1, 1, 2, 3)))
        taps = tuple(int(each) for each in rng.choice((1, 2, 3), 2))
        stride, rate = (int(rng.choice(each)) for each in ((1, 1, 2, 3), (1, 1, 2)))
        inner, swap = [height, width], data_format == "NCHW"
        x = rng.standard_normal([2, channels, *inner] if swap else [2, *inner, channels]).astype(dtype)
        f = rng.standard_normal((*taps, channels, multiplier)).astype(dtype)
        attrs = {"strides": [1, 1, stride, stride] if swap else [1, stride, stride, 1], "padding": str(rng.choice(["SAME", "VALID"])),
                 "data_format": data_format, "dilations": [1, 1, rate, rate] if swap else [1, rate, rate, 1]}
        if attrs["padding"] == "VALID" and any((tap - 1) * rate + 1 > extent for tap, extent in zip(taps, inner)):
            continue
        expected = ops[0].kernel(x, f, **attrs)
        dy, sizes, filter_sizes = rng.standard_normal(expected.shape).astype(dtype), np.array(x.shape, np.int32), np.array(f.shape, np.int32)
        for definition, values in zip(ops, ([x, f], [sizes, f, dy], [x, filter_sizes, dy])):
            close(run_op(definition, values, attrs)[0], definition.kernel(*values, **attrs), dy.size)


@pytest.mark.parametrize("channels", [3, 19])
def test_epilogues_of_depthwise_convolutions(channels):
    rng = np.random.default_rng(16)
    x, f, bias = (rng.standard_normal(shape, np.float32) * 3 for shape in ((2, 9, 11, channels), (3, 3, channels, 1), (channels,)))
    for stride in (1, 2):
        strides = [1, stride, stride, 1]
        plain = lookup("DepthwiseConv2dNative").kernel(x, f, strides=strides, padding="SAME", data_format="NHWC", dilations=[1, 1, 1, 1])
        for added in (bias, rng.standard_normal(plain.shape, np.float32)):
            def build(emit, image, kernel, other, strides=strides):
                return emit.convolve.depthwise(image, kernel, strides, "SAME", "NHWC", (1, 1, 1, 1), Epilogue(other, 1.0, 0.0, 6.0))

            close(run(build, x, f, added), np.clip(plain + added, 0, 6), 9)


# --- narrow floats ---------------------------------------------------------------------------------------------------

NARROW = [(np.dtype(np.float16), 2.0 ** -10), (dt.bfloat16.np, 2.0 ** -7)]


def rounded_alike(found, expected, step):
    """The same sums, rounded to a narrow type: they may be neighbours there, and sums of terms that cancel differ as float32 does."""
    assert found.shape == expected.shape and found.dtype == expected.dtype
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    assert (np.abs(found - expected) <= step * np.abs(expected) + 1e-5 * np.abs(expected).max()).all()


@pytest.mark.parametrize(("dtype", "step"), NARROW, ids=["float16", "bfloat16"])
def test_products_of_narrow_floats(dtype, step):
    rng = np.random.default_rng(16)
    for shapes, attrs, op_type in [(((45, 300), (300, 33)), {"transpose_a": False, "transpose_b": False}, "MatMul"),
                                   (((300, 45), (33, 300)), {"transpose_a": True, "transpose_b": True}, "MatMul"),
                                   (((3, 5, 7), (3, 7, 2)), {"adj_x": False, "adj_y": False}, "BatchMatMul"),
                                   (((2, 1, 9, 17), (5, 9, 11)), {"adj_x": True, "adj_y": False}, "BatchMatMulV2")]:
        a, b = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
        definition = lookup(op_type)
        rounded_alike(run_op(definition, [a, b], attrs)[0], definition.kernel(a, b, **attrs), step)


@pytest.mark.parametrize(("dtype", "step"), NARROW, ids=["float16", "bfloat16"])
def test_narrow_sums_are_kept_in_float32(dtype, step):
    """Adding up ones in a narrow type would stop at 2048, or at 256."""
    ones = np.ones((3, 5000), dtype)
    found = run(lambda emit, x: emit.contract.matmul(x, x, False, True), ones)
    rounded_alike(found, np.full((3, 3), 5000).astype(dtype), step)


@pytest.mark.parametrize(("dtype", "step"), NARROW, ids=["float16", "bfloat16"])
def test_narrow_products_into_a_variable(dtype, step):
    rng = np.random.default_rng(17)
    a, b, start = (rng.standard_normal(shape).astype(dtype) for shape in ((300, 50), (300, 40), (50, 40)))
    emitter = Emitter(2)
    arrays = [Array(Buffer("input", value.nbytes), value.dtype, value.shape, value.strides) for value in (a, b, start)]
    assert emitter.contract.matmul(arrays[0], arrays[1], True, False, Epilogue(arrays[2], -0.1), arrays[2]) is arrays[2]
    variable = start.copy()
    assert CallTable(emitter, arrays, []).run([a, b, variable]) is None
    wide = [each.astype(np.float32) for each in (a, b, start)]
    rounded_alike(variable, (wide[2] - np.float32(0.1) * (wide[0].T @ wide[1])).astype(dtype), step)


@pytest.mark.parametrize(("dtype", "step"), NARROW, ids=["float16", "bfloat16"])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_convolutions_of_narrow_floats(dtype, step, data_format):
    rng, swap = np.random.default_rng(18), data_format == "NCHW"
    x, strides = rng.standard_normal((2, 6, 9, 8) if swap else (2, 9, 8, 6)).astype(dtype), [1, 1, 2, 2] if swap else [1, 2, 2, 1]
    attrs = {"strides": strides, "dilations": [1, 1, 1, 1], "padding": "SAME", "data_format": data_format}
    for prefix, suffixes, more, outputs in [("Conv2D", ("", "BackpropInput", "BackpropFilter"), {"explicit_paddings": []}, 20),
                                            ("DepthwiseConv2dNative", ("", "BackpropInput", "BackpropFilter"), {}, 2)]:
        f, ops = rng.standard_normal((3, 3, 6, outputs)).astype(dtype), [lookup(prefix + suffix) for suffix in suffixes]
        expected = ops[0].kernel(x, f, **attrs, **more)
        dy = rng.standard_normal(expected.shape).astype(dtype)
        sizes, filter_sizes = np.array(x.shape, np.int32), np.array(f.shape, np.int32)
        for definition, values in zip(ops, ([x, f], [sizes, f, dy], [x, filter_sizes, dy])):
            rounded_alike(run_op(definition, values, {**attrs, **more})[0], definition.kernel(*values, **attrs, **more), step)
