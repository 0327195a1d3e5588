"""Blocks of space moved to the depth or to the batch, and back: one copy each. What ``emit.blocks`` is."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.native.calls import Array


class Blocks:
    """See ``ops/array/space.py`` for what the ops mean."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def space_to_depth(self, array: Array, block: int, data_format: str) -> Array:
        """Each block of pixels as one pixel with more channels."""
        array = self._channels_last(array, data_format)
        batch, height, width, depth = array.shape
        if height % block or width % block:
            self.emit.unsupported("the image is not a multiple of the block")
        split = [batch, height // block, block, width // block, block, depth]
        return self._back(self.emit.move.rearrange(array, split, [0, 1, 3, 2, 4, 5], [batch, height // block, width // block, block * block * depth],
                                                    "space_to_depth"), data_format)

    def depth_to_space(self, array: Array, block: int, data_format: str) -> Array:
        """The channels of each pixel as a block of pixels."""
        array = self._channels_last(array, data_format)
        batch, height, width, depth = array.shape
        if depth % (block * block):
            self.emit.unsupported("the depth is not a multiple of the block")
        rest = depth // (block * block)
        split = [batch, height, width, block, block, rest]
        return self._back(self.emit.move.rearrange(array, split, [0, 1, 3, 2, 4, 5], [batch, height * block, width * block, rest], "depth_to_space"),
                          data_format)

    def _channels_last(self, array: Array, data_format: str) -> Array:
        if array.rank != 4 or data_format not in ("NHWC", "NCHW"):
            self.emit.unsupported(f"rank {array.rank} in the format {data_format}")
        return array if data_format == "NHWC" else self.emit.move.view(np.transpose, array, (0, 2, 3, 1))

    def _back(self, array: Array, data_format: str) -> Array:
        return array if data_format == "NHWC" else self.emit.move.view(np.transpose, array, (0, 3, 1, 2))

    def space_to_batch(self, array: Array, blocks: list[int], paddings: np.ndarray) -> Array:
        """The positions inside each block of padded space as entries of the batch."""
        spatial = self._check(array, blocks, paddings)
        widths = np.zeros((array.rank, 2), np.int64)
        widths[1:1 + spatial] = paddings
        padded = self.emit.move.pad(array, widths, self.emit.move.full((), 0, array.dtype)) if widths.any() else array
        if any(extent % block for extent, block in zip(padded.shape[1:], blocks)):
            self.emit.unsupported("the padded space is not a multiple of the block")
        cells = [part for extent, block in zip(padded.shape[1:], blocks) for part in (extent // block, block)]
        rest = padded.shape[1 + spatial:]
        order = [*range(2, 2 + 2 * spatial, 2), 0, *range(1, 1 + 2 * spatial, 2), *range(1 + 2 * spatial, 1 + 2 * spatial + len(rest))]
        return self.emit.move.rearrange(padded, [padded.shape[0], *cells, *rest], order,
                                         [padded.shape[0] * math.prod(blocks), *cells[::2], *rest], "space_to_batch")

    def batch_to_space(self, array: Array, blocks: list[int], crops: np.ndarray) -> Array:
        """Entries of the batch as positions inside blocks of space, which is then cropped: a view of the whole."""
        spatial = self._check(array, blocks, crops)
        batch, left = divmod(array.shape[0], math.prod(blocks))
        inner, rest = array.shape[1:1 + spatial], array.shape[1 + spatial:]
        sizes = [extent * block for extent, block in zip(inner, blocks)]
        if left or any(size < before + after for size, (before, after) in zip(sizes, crops.tolist())):
            self.emit.unsupported("the blocks or crops do not fit")
        pairs = [axis for each in range(spatial) for axis in (spatial + 1 + each, each)]
        order = [spatial, *pairs, *range(1 + 2 * spatial, 1 + 2 * spatial + len(rest))]
        whole = self.emit.move.rearrange(array, [*blocks, batch, *inner, *rest], order, [batch, *sizes, *rest], "batch_to_space")
        index = (slice(None), *(slice(before, size - after) for size, (before, after) in zip(sizes, crops.tolist())))
        return self.emit.move.view(lambda seen: seen[index], whole)

    def _check(self, array: Array, blocks: list[int], amounts: np.ndarray) -> int:
        if array.rank < 1 + len(blocks) or amounts.shape != (len(blocks), 2) or min(blocks, default=1) < 1 or (amounts < 0).any():
            self.emit.unsupported("the blocks do not fit")
        return len(blocks)
