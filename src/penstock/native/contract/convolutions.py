"""What ops call, for any float type: ``emit.convolve``, convolutions."""
from __future__ import annotations

from penstock.native.contract.depthwise import Depthwise
from penstock.native.contract.narrow import by_float32


class AllConvolutions(Depthwise):
    """Convolutions (``convolution``, ``winograd``), and depthwise ones (``depthwise``)."""

    conv2d = by_float32(Depthwise.conv2d)
    conv2d_backprop_input = by_float32(Depthwise.conv2d_backprop_input)
    conv2d_backprop_filter = by_float32(Depthwise.conv2d_backprop_filter)
    depthwise = by_float32(Depthwise.depthwise)
    depthwise_backprop_input = by_float32(Depthwise.depthwise_backprop_input)
    depthwise_backprop_filter = by_float32(Depthwise.depthwise_backprop_filter)
