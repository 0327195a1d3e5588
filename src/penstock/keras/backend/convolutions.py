"""Convolutions and pooling of ``tf.keras.backend``. Channels that come first are moved to the end and back, as TensorFlow does on the CPU."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from penstock.keras.backend.products import batch_dot
from penstock.keras.backend.resizing import temporal_padding
from penstock.layers.options import normalize_data_format
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.nn import bias, convolution, pooling_functions, space_to_batch_conv


def _padding(padding: str) -> str:
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding: {padding}")
    return padding.upper()


def _channels_last(function: Callable[[Any], Any], x: Any, data_format: str | None) -> Any:
    """``function`` of x with its channels last; the result has them where x has."""
    if normalize_data_format(data_format) == "channels_last":
        return function(x)
    rank = x.shape.ndims
    return transpose(function(transpose(x, [0, *range(2, rank), 1])), [0, rank - 1, *range(1, rank - 1)])


def _convolve(x: Any, kernel: Any, strides: Any, padding: str, data_format: str | None, dilation_rate: Any) -> Any:
    rank = x.shape.ndims - 2

    def listed(value: Any) -> Any:
        return [value] * rank if isinstance(value, int) else list(value)

    return _channels_last(lambda moved: space_to_batch_conv.convolution(moved, kernel, _padding(padding), strides=listed(strides),
                                                                        dilation_rate=listed(dilation_rate)), x, data_format)


def conv1d(x: Any, kernel: Any, strides: int = 1, padding: str = "valid", data_format: str | None = None, dilation_rate: int = 1) -> Any:
    """``tf.keras.backend.conv1d``."""
    if padding == "causal":
        x, padding = temporal_padding(x, (dilation_rate * (kernel.shape.as_list()[0] - 1), 0)), "valid"
    return _convolve(x, kernel, strides, padding, data_format, dilation_rate)


def conv2d(x: Any, kernel: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None, dilation_rate: Any = (1, 1)) -> Any:
    """``tf.keras.backend.conv2d``."""
    return _convolve(x, kernel, strides, padding, data_format, dilation_rate)


def conv3d(x: Any, kernel: Any, strides: Any = (1, 1, 1), padding: str = "valid", data_format: str | None = None,
           dilation_rate: Any = (1, 1, 1)) -> Any:
    """``tf.keras.backend.conv3d``."""
    return _convolve(x, kernel, strides, padding, data_format, dilation_rate)


def conv2d_transpose(x: Any, kernel: Any, output_shape: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
                     dilation_rate: Any = (1, 1)) -> Any:
    """``tf.keras.backend.conv2d_transpose``."""
    first = normalize_data_format(data_format) == "channels_first"

    def transposed(moved: Any) -> Any:
        extents = output_shape
        if first:
            extents = (extents[0], extents[2], extents[3], extents[1])
        if isinstance(extents, (tuple, list)):
            extents = stack([shape(moved)[0] if extents[0] is None else extents[0], *extents[1:]])
        if tuple(dilation_rate) == (1, 1):
            return convolution.conv2d_transpose(moved, kernel, extents, [1, *strides, 1], padding=_padding(padding))
        return space_to_batch_conv.atrous_conv2d_transpose(moved, kernel, extents, rate=dilation_rate[0], padding=_padding(padding))

    return _channels_last(transposed, x, data_format)


def separable_conv2d(x: Any, depthwise_kernel: Any, pointwise_kernel: Any, strides: Any = (1, 1), padding: str = "valid",
                     data_format: str | None = None, dilation_rate: Any = (1, 1)) -> Any:
    """``tf.keras.backend.separable_conv2d``."""
    if len(strides) != 2:
        raise ValueError("`strides` must be a tuple of 2 integers.")
    return _channels_last(lambda moved: space_to_batch_conv.separable_conv2d(
        moved, depthwise_kernel, pointwise_kernel, strides=[1, *strides, 1], padding=_padding(padding), rate=dilation_rate), x, data_format)


def depthwise_conv2d(x: Any, depthwise_kernel: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
                     dilation_rate: Any = (1, 1)) -> Any:
    """A convolution of each channel by itself."""
    return _channels_last(lambda moved: space_to_batch_conv.depthwise_conv2d(
        moved, depthwise_kernel, strides=[1, *strides, 1], padding=_padding(padding), rate=dilation_rate), x, data_format)


def _pool(x: Any, pool_size: Any, strides: Any, padding: str, data_format: str | None, pool_mode: str, rank: int) -> Any:
    if pool_mode not in ("max", "avg"):
        raise ValueError(f"Invalid pooling mode: {pool_mode}")
    if len(pool_size) != rank or len(strides) != rank:
        raise ValueError(f"`pool_size` and `strides` must be tuples of {rank} integers.")
    function = getattr(pooling_functions, f"{pool_mode}_pool{'3d' if rank == 3 else ''}")
    return _channels_last(lambda moved: function(moved, [1, *pool_size, 1], [1, *strides, 1], padding=_padding(padding)), x, data_format)


def pool2d(x: Any, pool_size: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None, pool_mode: str = "max") -> Any:
    """``tf.keras.backend.pool2d``."""
    return _pool(x, pool_size, strides, padding, data_format, pool_mode, 2)


def pool3d(x: Any, pool_size: Any, strides: Any = (1, 1, 1), padding: str = "valid", data_format: str | None = None, pool_mode: str = "max") -> Any:
    """``tf.keras.backend.pool3d``."""
    return _pool(x, pool_size, strides, padding, data_format, pool_mode, 3)


def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    """``tf.keras.backend.bias_add``: a number per channel, or per place and channel."""
    first = normalize_data_format(data_format) == "channels_first"
    extents, rank = tuple(bias.shape.as_list()), x.shape.ndims
    if len(extents) not in (1, rank - 1):
        raise ValueError(f"Unexpected bias dimensions {len(extents)}, expect to be 1 or {rank} dimensions")
    if len(extents) == 1:
        if rank in (2, 4, 5) or not first:
            return _bias_add(x, bias, data_format="NCHW" if first and rank > 2 else "NHWC")
        return x + reshape(bias, (1, extents[0], *([1] * (rank - 2))))
    return x + reshape(bias, (1, extents[-1], *extents[:-1]) if first else (1, *extents))


_bias_add = bias.bias_add


def local_conv(inputs: Any, kernel: Any, kernel_size: Any, strides: Any, output_shape: Any, data_format: str | None = None) -> Any:
    """A convolution whose kernel is another one at each place: (places, inputs, filters)."""
    first = normalize_data_format(data_format) == "channels_first"
    _, features, filters = kernel.shape.as_list()
    rank, rows = len(output_shape), []
    for place in itertools.product(*(range(length) for length in output_shape)):
        window = tuple(slice(index * stride, index * stride + size) for index, stride, size in zip(place, strides, kernel_size))
        everything = (slice(None),)
        rows.append(reshape(inputs[everything + (everything if first else ()) + window + (() if first else everything)], (1, -1, features)))
    outputs = reshape(batch_dot(concat(rows, axis=0), kernel), (*output_shape, -1, filters))
    inner = list(range(rank))
    return transpose(outputs, [rank, rank + 1, *inner] if first else [rank, *inner, rank + 1])


def local_conv1d(inputs: Any, kernel: Any, kernel_size: Any, strides: Any, data_format: str | None = None) -> Any:
    """``tf.keras.backend.local_conv1d``."""
    return local_conv(inputs, kernel, kernel_size, strides, (kernel.shape.as_list()[0],), data_format)


def local_conv2d(inputs: Any, kernel: Any, kernel_size: Any, strides: Any, output_shape: Any, data_format: str | None = None) -> Any:
    """``tf.keras.backend.local_conv2d``."""
    return local_conv(inputs, kernel, kernel_size, strides, output_shape, data_format)
