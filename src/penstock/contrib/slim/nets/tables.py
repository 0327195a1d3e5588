"""Networks as tables: layers are functions (net, scaled) -> net, where ``scaled`` says how deep a layer of some nominal depth is.

A layer's window is in its name: ``Conv2d_0b_1x7`` has one row and seven columns, unless ``kernel`` says otherwise.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.contrib.layers.convolutions import conv2d
from penstock.contrib.layers.pooling import avg_pool2d, max_pool2d
from penstock.ops.array.pack import concat
from penstock.variables.scope import variable_scope

Scaled = Callable[[int], int]
Layer = Callable[[Any, Scaled], Any]


def _window(name: str) -> list[int]:
    return [int(extent) for extent in name.rpartition("_")[2].split("x")]


def conv(name: str, depth: int, kernel: list[int] | None = None, **options: Any) -> Layer:
    """A convolution in the scope ``name``."""
    return lambda net, scaled: conv2d(net, scaled(depth), kernel or _window(name), scope=name, **options)


def max_pool(name: str, **options: Any) -> Layer:
    """The largest values of windows."""
    return lambda net, scaled: max_pool2d(net, _window(name), scope=name, **options)


def avg_pool(name: str, **options: Any) -> Layer:
    """The means of windows."""
    return lambda net, scaled: avg_pool2d(net, _window(name), scope=name, **options)


def fork(*layers: Layer) -> Layer:
    """What several layers make of the same input, side by side in the channels."""
    return lambda net, scaled: concat([layer(net, scaled) for layer in layers], 3)


def mixed(name: str, *branches: Sequence[Layer]) -> Layer:
    """Several branches, each a row of layers in a scope of its own, side by side in the channels."""
    def block(net: Any, scaled: Scaled) -> Any:
        with variable_scope(name):
            outputs = []
            for index, branch in enumerate(branches):
                with variable_scope(f"Branch_{index}"):
                    outputs.append(run(net, branch, scaled))
            return concat(outputs, 3)
    return block


def run(net: Any, layers: Sequence[Layer], scaled: Scaled) -> Any:
    """The layers, one after the other."""
    for layer in layers:
        net = layer(net, scaled)
    return net


def run_to(final_endpoint: str, net: Any, table: Sequence[tuple[str, Layer]], scaled: Scaled, end_points: dict[str, Any]) -> tuple[Any, bool]:
    """(net, whether ``final_endpoint`` was reached) after the layers of a table {name: layer}; each output is noted in ``end_points``."""
    for name, layer in table:
        net = end_points[name] = layer(net, scaled)
        if name == final_endpoint:
            return net, True
    return net, False


def depth_scale(depth_multiplier: float, min_depth: int) -> Scaled:
    """How deep a layer is in a network that is narrower or wider than the original."""
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    return lambda depth: max(int(depth * depth_multiplier), min_depth)


def fitting_window(net: Any, window: list[int]) -> list[int]:
    """``window``, no larger than the image, if its size is known."""
    height, width = net.shape.as_list()[1:3]
    return window if height is None or width is None else [min(height, window[0]), min(width, window[1])]
