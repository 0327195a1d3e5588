"""The table of micro-kernels: it has what a product's tiles call, whatever the product's shape, and there is one of it however many threads ask."""
from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest

from penstock.native.contract import microkernel, product
from penstock.native.contract.tile import Tile
from penstock.native.machine import target
from penstock.native.table.instance import Instance
from penstock.ops.nn.conv import _backprop_filter, _backprop_input, _forward
from support.native import run_calls as run

_STUB = """
@called = global i64 0

define void @stub() {
  store i64 1, ptr @called
  ret void
}
"""


@pytest.fixture
def only_its_own(monkeypatch):
    """A product finds in the tables those micro-kernels alone that its calls name; in the place of any other one stands one that only takes note."""
    stub = target.LinkedCode(target.object_code(_STUB), "stub", "called")
    called = ctypes.c_int64.from_address(stub.addresses["called"])
    run_instance, runs = Instance.run, []

    def watched(self, arrays, between):
        used = {code._library.address for call in self._table.calls for code in call.uses}
        hidden = [(table, place, address) for table in microkernel._tables.values() for place, address in enumerate(table) if address not in used]
        for table, place, _ in hidden:
            table[place] = stub.address
        try:
            return run_instance(self, arrays, between)
        finally:
            for table, place, address in hidden:
                if table[place] == stub.address:  # else it was linked meanwhile
                    table[place] = address
            runs.append(bool(used))
            assert not called.value, "a micro-kernel was called that the call does not name"

    monkeypatch.setattr(Instance, "run", watched)
    yield
    assert any(runs), "no product had a micro-kernel"


def _shape(rng, rank):
    return [int(rng.choice([1, 2, 3, 5, 6, 13, 14, 15, 28, 31, 33, 64, 70, rng.integers(1, 400)])) for _ in range(rank)]


def _close(found, expected):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * max(float(np.abs(expected).max(initial=0)), 1e-30))


@pytest.mark.usefixtures("each_isa", "only_its_own")
@pytest.mark.parametrize("seed", range(3))
def test_products_call_the_micro_kernels_that_they_name(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    for turn in range(60):
        if turn == 30:  # as for many rows
            monkeypatch.setattr(product, "_SHARED", 0)
            monkeypatch.setattr(product, "_COPIED", range(1, 1 << 30))
        (m, n, k), ta, tb = _shape(rng, 3), bool(rng.integers(2)), bool(rng.integers(2))
        batch = [[], [2], [3, 1], [0]][rng.choice(4, p=[0.6, 0.2, 0.15, 0.05])]
        m, n, k = (0 if rng.random() < 0.03 else each for each in (m, n, k))
        dtype, threads = rng.choice([np.float32, np.float32, np.float64]), int(rng.choice([1, 2, 5]))
        a = rng.standard_normal([*batch, k, m] if ta else [*batch, m, k]).astype(dtype)
        b = rng.standard_normal([*batch, n, k] if tb else [*batch, k, n]).astype(dtype)
        expected = (np.swapaxes(a, -1, -2) if ta else a) @ (np.swapaxes(b, -1, -2) if tb else b)
        if batch:
            found = run(lambda emit, x, y, ta=ta, tb=tb: emit.contract.batch_matmul(x, y, ta, tb), a, b, threads=threads)
        else:
            found = run(lambda emit, x, y, ta=ta, tb=tb: emit.contract.matmul(x, y, ta, tb), a, b, threads=threads)
        _close(found, expected)


def _convolution(rng):
    """A random image, filter, stride and padding."""
    stride, padding = int(rng.choice([1, 1, 2, 3])), str(rng.choice(["SAME", "VALID"]))
    height, width, channels, outputs = (int(rng.choice(some)) for some in ([5, 8, 14, 23], [5, 9, 28, 56], [1, 3, 4, 17, 40], [1, 3, 16, 33, 70]))
    image = rng.standard_normal((int(rng.choice([1, 2, 5])), height, width, channels), np.float32)
    kernel = rng.standard_normal((*(int(each) for each in rng.choice([1, 2, 3, 5], 2)), channels, outputs), np.float32)
    return image, kernel, stride, padding


@pytest.mark.usefixtures("each_isa", "only_its_own")
@pytest.mark.parametrize("seed", range(3))
def test_convolutions_and_their_gradients_call_the_micro_kernels_that_they_name(seed):
    """Those by Winograd's way, too: small filters of stride 1 over many channels."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        image, kernel, stride, padding = _convolution(rng)
        given = {"strides": [1, stride, stride, 1], "padding": padding, "data_format": "NHWC", "dilations": [1, 1, 1, 1], "explicit_paddings": []}
        threads, words = int(rng.choice([1, 2, 5])), ((1, stride, stride, 1), padding, "NHWC", (1, 1, 1, 1))
        expected = _forward(image, kernel, **given)
        _close(run(lambda emit, x, f, words=words: emit.convolve.conv2d(x, f, *words), image, kernel, threads=threads), expected)
        dy = rng.standard_normal(expected.shape).astype(np.float32)
        sizes, filter_sizes = np.array(image.shape, np.int32), np.array(kernel.shape, np.int32)

        def backprop_input(emit, f, y, sizes=sizes, words=words):
            return emit.convolve.conv2d_backprop_input(_known(emit, sizes), f, y, *words)

        def backprop_filter(emit, x, y, sizes=filter_sizes, words=words):
            return emit.convolve.conv2d_backprop_filter(x, _known(emit, sizes), y, *words)

        _close(run(backprop_input, kernel, dy, threads=threads), _backprop_input(sizes, kernel, dy, **given))
        _close(run(backprop_filter, image, dy, threads=threads), _backprop_filter(image, filter_sizes, dy, **given))


def _known(emit, value):
    array = emit.constant(value)
    array.known = value
    return array


def test_threads_that_ask_for_a_table_at_once_get_the_same(monkeypatch):
    """Calls keep its address, and a micro-kernel goes to one of them."""
    sizes, tile, together = microkernel._sizes, Tile(4, 4, 30), threading.Barrier(4, timeout=60)

    def slow(tile):
        together.wait()
        return sizes(tile)

    monkeypatch.setattr(microkernel, "_sizes", slow)
    found = []
    threads = [threading.Thread(target=lambda: found.append(microkernel.micro_table(tile))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1
    monkeypatch.setattr(microkernel, "_sizes", sizes)
    assert microkernel.micro_table(tile) == found[0]
