"""All contractions of the emitter in one object, ``emit.contract``."""
from __future__ import annotations

from penstock.native.contract.depthwise import Depthwise
from penstock.native.contract.narrow import by_float32


class Contractions(Depthwise):
    """Products of matrices (``products``), convolutions (``convolution``, ``winograd``), depthwise ones (``depthwise``); all of any float type."""

    matmul = by_float32(Depthwise.matmul)
    batch_matmul = by_float32(Depthwise.batch_matmul)
    conv2d = by_float32(Depthwise.conv2d)
    conv2d_backprop_input = by_float32(Depthwise.conv2d_backprop_input)
    conv2d_backprop_filter = by_float32(Depthwise.conv2d_backprop_filter)
    depthwise = by_float32(Depthwise.depthwise)
    depthwise_backprop_input = by_float32(Depthwise.depthwise_backprop_input)
    depthwise_backprop_filter = by_float32(Depthwise.depthwise_backprop_filter)
