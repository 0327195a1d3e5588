"""Convolutions of volumes against the NumPy kernels."""
from __future__ import annotations

import numpy as np
import pytest

from penstock.native.calls import Unsupported
from penstock.native.contract import volumes
from support.native import check, native

pytestmark = pytest.mark.process


def numbers(*shape, dtype=np.float32, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(dtype)


CASES = {
    "same": dict(taps=(3, 3, 3), strides=(1, 1, 1), padding="SAME"),
    "valid": dict(taps=(2, 3, 1), strides=(1, 1, 1), padding="VALID"),
    "strided": dict(taps=(3, 2, 3), strides=(2, 2, 1), padding="SAME"),
    "strides beyond the taps": dict(taps=(1, 1, 2), strides=(3, 2, 3), padding="VALID"),
    "dilated": dict(taps=(2, 2, 2), strides=(1, 1, 1), padding="SAME", dilations=(2, 1, 2)),
    "more taps than planes": dict(taps=(7, 3, 3), strides=(1, 1, 1), padding="SAME"),
}


@pytest.fixture(params=[1 << 25, 2500, 1], ids=["at once", "volume by volume", "plane by plane"])
def pieces(request, monkeypatch):
    """How much of a batch of volumes is done together."""
    monkeypatch.setattr(volumes, "_MOST_BYTES", request.param)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_convolutions(name, data_format, dtype, pieces):
    case = CASES[name]
    order = (0, 4, 1, 2, 3) if data_format == "NCDHW" else (0, 1, 2, 3, 4)
    strides, dilations = (tuple(np.array((1, *each, 1))[list(order)]) for each in (case["strides"], case.get("dilations", (1, 1, 1))))
    attrs = dict(strides=list(map(int, strides)), padding=case["padding"], data_format=data_format, dilations=list(map(int, dilations)))
    x, f = numbers(2, 5, 7, 6, 3, dtype=dtype).transpose(order), numbers(*case["taps"], 3, 4, dtype=dtype, seed=1)
    close = dict(rtol=1e-4, atol=1e-4)
    check("Conv3D", x, f, known=(), **attrs, **close)
    dy = numbers(*native("Conv3D", x, f, known=(), **attrs)[0].shape, dtype=dtype, seed=2)
    check("Conv3DBackpropInputV2", np.int32(x.shape), f, dy, known=(0,), **attrs, **close)
    check("Conv3DBackpropFilterV2", x, np.int32(f.shape), dy, known=(1,), **attrs, **close)


def test_deep_volumes_on_threads():
    x, f = numbers(1, 6, 20, 20, 40), numbers(3, 3, 3, 40, 32, seed=1)
    attrs = dict(strides=[1] * 5, padding="SAME", threads=3, rtol=1e-3, atol=1e-3)
    check("Conv3D", x, f, known=(), **attrs)
    check("Conv3DBackpropFilterV2", x, np.int32(f.shape), numbers(1, 6, 20, 20, 32, seed=2), known=(1,), **attrs)
    check("Conv3D", x[:0], f, known=(), **attrs)


def test_channels_that_do_not_fit_are_left_to_numpy():
    with pytest.raises(Unsupported):
        native("Conv3DBackpropInputV2", np.int32([1, 4, 4, 4, 3]), numbers(1, 1, 1, 3, 2), numbers(1, 4, 4, 4, 1), known=(0,), strides=[1] * 5,
               padding="SAME")
