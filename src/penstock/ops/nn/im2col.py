"""Convolution as matrix multiplication, for any number of spatial axes; arrays have their channels last.

The windows of the input are copied, block by block, into rows of a matrix that fits the cache; BLAS multiplies it with
the filter. The two gradients are the same product the other way round. Filters have the axes (window, input channels,
output channels); if the input has a multiple of the filter's input channels, it is convolved group by group.
"""
from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from penstock.ops.nn.windows import Windows, windows

_BLOCK = 1 << 19  # elements of the matrix that are in flight at a time
Block = tuple[slice, slice]  # of images and of output rows


def convolve(x: np.ndarray, kernel: np.ndarray, w: Windows) -> np.ndarray:
    """The convolution of ``x`` (batch, spatial, channels) with ``kernel``."""
    channels = kernel.shape[-2]
    if x.shape[-1] != channels:
        return np.concatenate([convolve(part, f, w) for part,
                               f in zip(_groups(x, channels), _channel_groups(kernel, x.shape[-1] // channels))], -1)
    weights = _matrix(kernel)
    out = np.empty((x.shape[0], *w.output, kernel.shape[-1]), x.dtype)
    for block, rows in _columns(x, w):
        np.matmul(rows, weights, out=_matrix(out[block]))
    return out


def convolve_backprop_filter(x: np.ndarray, dy: np.ndarray, shape: tuple[int, ...], w: Windows) -> np.ndarray:
    """The gradient for a filter of this shape."""
    channels = shape[-2]
    if x.shape[-1] != channels:
        parts = zip(_groups(x, channels), _channel_groups(dy, x.shape[-1] // channels))
        per_group = (*shape[:-1], shape[-1] * channels // x.shape[-1])
        return np.concatenate([convolve_backprop_filter(part, d, per_group, w) for part, d in parts], -1)
    total = np.zeros((int(np.prod(shape[:-1])), shape[-1]), x.dtype)
    for block, rows in _columns(x, w):
        total += rows.T @ _matrix(dy[block])
    return total.reshape(shape)


def convolve_backprop_input(shape: tuple[int, ...], kernel: np.ndarray, dy: np.ndarray, w: Windows) -> np.ndarray:
    """The gradient for an input of this shape."""
    channels = kernel.shape[-2]
    if shape[-1] != channels:
        groups = shape[-1] // channels
        parts = zip(_channel_groups(kernel, groups), _channel_groups(dy, groups))
        return np.concatenate([convolve_backprop_input((*shape[:-1], channels), f, d, w) for f, d in parts], -1)
    transposed = _transposed_windows(w) if kernel.shape[-1] <= 2 * channels else None
    if transposed is not None:
        flipped = np.flip(kernel, tuple(range(len(w.window)))).swapaxes(-1, -2)
        return convolve(dy, flipped, transposed)
    weights = np.ascontiguousarray(_matrix(kernel).T)
    result = w.padded_zeros(shape, 1, dy.dtype)
    seen = w.view(result, 1)
    axes = (slice(None),) * (len(w.output) - 1)  # the output axes after the rows
    for block in _blocks(shape[0], w, channels):
        part = dy[block]
        rows = (_matrix(part) @ weights).reshape(*part.shape[:-1], *w.window, channels)
        target = seen[block]
        for tap in np.ndindex(*w.window):
            at = (slice(None), slice(None), *axes, *tap)
            target[at] += rows[at]
    return w.inner(result, 1)


def _transposed_windows(w: Windows) -> Windows | None:
    """With strides of 1, the gradient for the input is a convolution with the flipped filter. Its windows, or None."""
    reach = [(width - 1) * dilation for width, dilation in zip(w.window, w.dilations)]
    pairs = tuple((r - b, r - a) for r, b, a in zip(reach, w.before, w.after))
    if any(stride != 1 for stride in w.strides) or any(min(pair) < 0 for pair in pairs):
        return None
    return windows(w.output, w.window, w.strides, w.dilations, "EXPLICIT", pairs)


def _matrix(array: np.ndarray) -> np.ndarray:
    """All axes but the last as one; there may be no elements."""
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def _groups(x: np.ndarray, channels: int) -> list[np.ndarray]:
    return _channel_groups(x, x.shape[-1] // channels)


def _channel_groups(x: np.ndarray, parts: int) -> list[np.ndarray]:
    return np.split(x, parts, axis=-1)


def _blocks(batch: int, w: Windows, channels: int) -> Iterator[Block]:
    """Whole images, as many as fit into a block, or parts of one image."""
    row = max(1, int(np.prod(w.output[1:])) * int(np.prod(w.window)) * channels)
    image = row * max(1, w.output[0])
    if image <= _BLOCK:
        step = max(1, _BLOCK // image)
        yield from ((slice(i, min(i + step, batch)), slice(None)) for i in range(0, batch, step))
        return
    step = max(1, _BLOCK // row)
    for i in range(batch):
        yield from ((slice(i, i + 1), slice(r, min(r + step, w.output[0]))) for r in range(0, w.output[0], step))


def _columns(x: np.ndarray, w: Windows) -> Iterator[tuple[Block, np.ndarray]]:
    """(block, its windows as rows of a matrix). The matrix is reused from block to block."""
    view = w.view(w.pad(x, 1), 1)
    width = int(np.prod(w.window)) * x.shape[-1]
    buffer = None
    for block in _blocks(x.shape[0], w, x.shape[-1]):
        part = view[block]
        count = math.prod(part.shape[:1 + len(w.output)])
        if all(k == 1 for k in w.window) and part.flags.c_contiguous:
            yield block, part.reshape(count, width)
            continue
        if buffer is None:
            buffer = np.empty(part.shape, x.dtype)
        rows = buffer[:part.shape[0],
                      :part.shape[1]]  # a block is either some whole images or some rows of one: always contiguous
        np.copyto(rows, part)
        yield block, rows.reshape(count, width)
