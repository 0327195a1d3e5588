"""What convolutions check and infer: shapes, partly unknown, while a graph is built; windows while it runs."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import InvalidArgumentError, invalid_argument
from penstock.graph.node import Tensor
from penstock.graph.shape import Extent, TensorShape
from penstock.graph.static import constant_value_as_shape
from penstock.ops.nn import data_formats
from penstock.ops.nn.windows import Ints, Windows, output_extent, windows


class UnfitStrides(InvalidArgumentError, ValueError):
    """Strides over the batch or the channels: TensorFlow's kernel refuses them; here the graph does, whose errors are ValueErrors."""


def check_rank(shape: TensorShape, rank: int) -> TensorShape:
    """The shape with this rank; ValueError in TensorFlow's words."""
    if shape.ndims not in (None, rank):
        raise ValueError(f"Shape must be rank {rank} but is rank {shape.ndims}")
    return shape.with_rank(rank)


def check_strides(op_type: str, rank: int, strides: Ints, dilations: Ints, data_format: str) -> None:
    """ValueError unless there is one positive stride and dilation per axis; InvalidArgumentError unless those of batch and channels are 1."""
    for name, values in (("stride", strides), ("dilation", dilations)):
        if len(values) != rank:
            raise ValueError(f"{op_type} requires the {name} attribute to contain {rank} values, "
                             f"but got: {len(values)}")
        if values[0] != 1 or data_formats.channels(values, data_format) != 1:
            raise UnfitStrides(None, None, f"Current implementation does not yet support {name}s in the batch and depth dimensions, "
                               f"but got {list(values)}")
        if min(values) <= 0:
            raise ValueError(f"{name.capitalize()} must be > 0, but got {min(values)}")


def explicit_pairs(padding: str, explicit_paddings: Ints, rank: int, data_format: str) -> tuple[Ints, ...]:
    """The (before, after) pairs of the spatial axes; empty unless the padding is EXPLICIT."""
    if padding != "EXPLICIT":
        if explicit_paddings:
            raise ValueError("explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT")
        return ()
    if len(explicit_paddings) != 2 * rank or min(explicit_paddings) < 0:
        raise ValueError(f"explicit_paddings attribute must contain {2 * rank} non-negative values, "
                         f"but got: {list(explicit_paddings)}")
    pairs = list(zip(explicit_paddings[::2], explicit_paddings[1::2]))
    if any(pairs[0]) or any(data_formats.channels(pairs, data_format)):
        raise ValueError("Explicit padding of the batch and depth dimensions is not supported")
    return data_formats.spatial(pairs, data_format)


def conv_shape(op_type: str, rank: int, x: Tensor, kernel: Tensor, strides: Ints, dilations: Ints, padding: str,
               data_format: str, explicit_paddings: Ints = ()) -> list[Extent]:
    """The shape of a convolution's output."""
    check_strides(op_type, rank, strides, dilations, data_format)
    given, filters = check_rank(x.shape, rank).as_list(), check_rank(kernel.shape, rank).as_list()
    problem = _depth_problem(data_formats.channels(given, data_format), *filters[-2:])
    if problem is not None:
        raise ValueError(problem)
    inner = _inner(given, filters, strides, dilations, padding, data_format, explicit_paddings)
    return data_formats.arrange(given[0], inner, filters[-1], data_format)


def _depth_problem(depth: Extent, filter_depth: Extent, outputs: Extent) -> str | None:
    if depth is None or filter_depth is None:
        return None
    if filter_depth <= 0 or depth % filter_depth:
        return f"Depth of input ({depth}) is not a multiple of input depth of filter ({filter_depth})"
    groups = depth // filter_depth
    if outputs is not None and groups and outputs % groups:
        return f"Depth of output ({outputs}) is not a multiple of the number of groups ({groups})"
    return None


def depthwise_shape(x: Tensor, kernel: Tensor, strides: Ints, dilations: Ints, padding: str,
                    data_format: str) -> list[Extent]:
    """The shape of a depthwise convolution's output."""
    check_strides("DepthwiseConv2D", 4, strides, dilations, data_format)
    given, filters = check_rank(x.shape, 4).as_list(), check_rank(kernel.shape, 4).as_list()
    depth, filter_depth, multiplier = data_formats.channels(given, data_format), filters[2], filters[3]
    if depth is not None and filter_depth is not None and depth != filter_depth:
        raise ValueError(f"Dimensions must be equal, but are {depth} and {filter_depth}")
    depth = filter_depth if depth is None else depth
    channels = None if depth is None or multiplier is None else depth * multiplier
    return data_formats.arrange(given[0], _inner(given, filters, strides, dilations, padding, data_format), channels,
                          data_format)


def _inner(given: Any, filters: Any, strides: Ints, dilations: Ints, padding: str, data_format: str,
           explicit_paddings: Ints = ()) -> list[Extent]:
    pairs = explicit_pairs(padding, explicit_paddings, len(given), data_format) or ((0, 0),) * (len(given) - 2)
    sizes, steps, rates = (data_formats.spatial(values, data_format) for values in (given, strides, dilations))
    return [output_extent(size, width, step, rate, padding, pair)
            for size, width, step, rate, pair in zip(sizes, filters, steps, rates, pairs)]


def backprop_shape(op_type: str, sizes: Tensor, rank: int, strides: Ints, dilations: Ints, padding: str,
                   data_format: str, explicit_paddings: Ints = ()) -> TensorShape:
    """The shape of a gradient op's output: what the integer vector ``sizes`` says."""
    check_strides(op_type, rank, strides, dilations, data_format)
    explicit_pairs(padding, explicit_paddings, rank, data_format)
    check_rank(sizes.shape, 1)
    return check_rank(constant_value_as_shape(sizes), rank)


# --- while running ---------------------------------------------------------------------------------------------------

def conv_windows(shape: Any, kernel_shape: Any, strides: Ints, dilations: Ints, padding: str, data_format: str,
                 explicit_paddings: Ints = ()) -> Windows:
    """The windows of a convolution over an input of this shape, which is in the given format."""
    rank = len(shape)
    if len(kernel_shape) != rank or rank != len(strides):
        raise invalid_argument(f"input and filter must be {len(strides)}-dimensional, "
                               f"not {list(shape)} and {list(kernel_shape)}")
    pairs = explicit_pairs(padding, explicit_paddings, rank, data_format)
    return windows(data_formats.spatial(shape, data_format), tuple(kernel_shape[:-2]), data_formats.spatial(strides, data_format),
                   data_formats.spatial(dilations, data_format), padding, pairs)


def check_depth(depth: int, filter_depth: int, outputs: int) -> None:
    """KernelError unless the input's channels are a multiple of the filter's, and ``outputs`` of the groups that this makes."""
    problem = _depth_problem(depth, filter_depth, outputs)
    if problem is not None:
        raise invalid_argument(problem)


def check_output(dy: np.ndarray, batch: int, w: Windows, channels: int, op_type: str) -> None:
    """KernelError unless a gradient (channels last) has the shape of the output that it belongs to."""
    expected = (batch, *w.output, channels)
    if dy.shape != expected:
        raise invalid_argument(f"{op_type}: Size of out_backprop doesn't match computed: actual = {list(dy.shape)}, "
                               f"computed = {list(expected)} (channels last)")
