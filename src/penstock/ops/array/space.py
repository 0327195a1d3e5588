"""Blocks of space moved to the depth or to the batch, and back; patches of images."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE, Attr, one_of
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.shape import Extent, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.array.fill import zeros
from penstock.ops.array.pack import stack
from penstock.ops.array.pad import surrounded
from penstock.ops.array.shape_ops import INDEX_32, as_array, known_elements
from penstock.ops.common import shape_text
from penstock.ops.constant import constant

BLOCK = Attr("int", minimum=2)
LAYOUTS = one_of("NHWC", "NCHW", "NCHW_VECT_C", default="NHWC")


# --- depth -----------------------------------------------------------------------------------------------------------

def _by_layout(input: Tensor, data_format: str, change: Any) -> Any:
    """The shape that ``change(height, width, depth)`` gives, in a layout."""
    if data_format == "NCHW_VECT_C":
        raise ValueError("data_format NCHW_VECT_C is for quantized types, which have no kernels")
    batch, *rest = input.shape.with_rank(4).as_list()
    height, width, depth = rest if data_format == "NHWC" else (*rest[1:], rest[0])
    height, width, depth = change(height, width, depth)
    return [batch, height, width, depth] if data_format == "NHWC" else [batch, depth, height, width]


def _quotient(extent: Extent, by: int, what: str) -> Extent:
    if extent is not None and extent % by:
        raise ValueError(f"Dimension size must be evenly divisible by {by} but is {extent} ({what})")
    return None if extent is None else extent // by


def _times(extent: Extent, by: int) -> Extent:
    return None if extent is None else extent * by


def _channels_last(kernel: Any, input: np.ndarray, block: int, data_format: str) -> np.ndarray:
    """Runs a kernel for NHWC on either layout."""
    if input.ndim != 4:
        raise invalid_argument(f"Input rank should be: 4 instead of: {input.ndim}")
    if data_format == "NHWC":
        return kernel(input, block)
    return kernel(input.transpose(0, 2, 3, 1), block).transpose(0, 3, 1, 2)


def _space_to_depth(x: np.ndarray, block: int) -> np.ndarray:
    batch, height, width, depth = x.shape
    if height % block or width % block:
        raise invalid_argument(f"Image width {width} and height {height} should be divisible by block_size: {block}")
    cells = x.reshape(batch, height // block, block, width // block, block, depth).transpose(0, 1, 3, 2, 4, 5)
    return cells.reshape(batch, height // block, width // block, block * block * depth)


def _depth_to_space(x: np.ndarray, block: int) -> np.ndarray:
    batch, height, width, depth = x.shape
    if depth % (block * block):
        raise invalid_argument(f"Input depth dimension {depth} should be divisible by: {block * block}")
    cells = x.reshape(batch, height, width, block, block, depth // (block * block)).transpose(0, 1, 3, 2, 4, 5)
    return cells.reshape(batch, height * block, width * block, depth // (block * block))


@op("SpaceToDepth", "input: T -> output: T", T=TYPE, block_size=BLOCK, data_format=LAYOUTS)
class SpaceToDepth:
    """Each block of pixels becomes one pixel with more channels."""

    def shape(input, block_size, data_format):
        return _by_layout(input, data_format, lambda height, width, depth: (
            _quotient(height, block_size, "height"), _quotient(width, block_size, "width"), _times(depth, block_size**2)))

    def kernel(input, block_size, data_format):
        return _channels_last(_space_to_depth, input, block_size, data_format)

    def native(emit, input, block_size, data_format):
        return emit.blocks.space_to_depth(input, block_size, data_format)

    def gradient(op, dy):
        return DepthToSpace(dy, block_size=op.attrs["block_size"], data_format=op.attrs["data_format"])


@op("DepthToSpace", "input: T -> output: T", T=TYPE, block_size=BLOCK, data_format=LAYOUTS)
class DepthToSpace:
    """The channels of each pixel become a block of pixels."""

    def shape(input, block_size, data_format):
        return _by_layout(input, data_format, lambda height, width, depth: (
            _times(height, block_size), _times(width, block_size), _quotient(depth, block_size**2, "depth")))

    def kernel(input, block_size, data_format):
        return _channels_last(_depth_to_space, input, block_size, data_format)

    def native(emit, input, block_size, data_format):
        return emit.blocks.depth_to_space(input, block_size, data_format)

    def gradient(op, dy):
        return SpaceToDepth(dy, block_size=op.attrs["block_size"], data_format=op.attrs["data_format"])


def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """``tf.space_to_depth``: each block of pixels as one pixel with more channels."""
    return SpaceToDepth(input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """``tf.depth_to_space``: the channels of each pixel as a block of pixels."""
    return DepthToSpace(input, block_size=block_size, data_format=data_format, name=name)


# --- batch -----------------------------------------------------------------------------------------------------------

def _check_static_blocks(blocks: list[Extent] | None, margins: list[Extent] | None) -> None:
    """Blocks are positive, and have two margins each."""
    if blocks is not None and any(block is not None and block < 1 for block in blocks):
        raise ValueError(f"block_shape must be positive, not {blocks}")
    if blocks is not None and margins is not None and len(margins) != 2 * len(blocks):
        raise ValueError(f"paddings or crops must have the shape [{len(blocks)}, 2]")
    if margins is not None and any(margin is not None and margin < 0 for margin in margins):
        raise ValueError("paddings cannot be negative")


def _to_batch_shape(input: Tensor, blocks: list[Extent] | None, paddings: list[Extent] | None) -> Any:
    _check_static_blocks(blocks, paddings)
    extents = input.shape.extents
    if extents is None or blocks is None:
        return unknown_shape(None if extents is None else len(extents))
    input.shape.with_rank_at_least(1 + len(blocks))
    pads = paddings if paddings is not None else [None] * (2 * len(blocks))
    result = [None if None in (extents[0], *blocks) else extents[0] * math.prod(blocks)]
    for axis, block in enumerate(blocks):
        extent, before, after = extents[1 + axis], pads[2 * axis], pads[2 * axis + 1]
        known = None not in (extent, block, before, after)
        result.append(_quotient(extent + before + after, block, f"axis {1 + axis} after padding") if known else None)
    return [*result, *extents[1 + len(blocks):]]


def _to_space_shape(input: Tensor, blocks: list[Extent] | None, crops: list[Extent] | None) -> Any:
    _check_static_blocks(blocks, crops)
    extents = input.shape.extents
    if extents is None or blocks is None:
        return unknown_shape(None if extents is None else len(extents))
    input.shape.with_rank_at_least(1 + len(blocks))
    cuts = crops if crops is not None else [None] * (2 * len(blocks))
    result = [None if None in (extents[0], *blocks) else _quotient(extents[0], math.prod(blocks), "batch")]
    for axis, block in enumerate(blocks):
        extent, before, after = extents[1 + axis], cuts[2 * axis], cuts[2 * axis + 1]
        result.append(None if None in (extent, block, before, after) else extent * block - before - after)
    return [*result, *extents[1 + len(blocks):]]


def _space_to_batch(x: Any, blocks: list[int], paddings: np.ndarray) -> np.ndarray:
    x, spatial = as_array(x), len(blocks)
    _check_blocks(x, blocks, paddings)
    padded = surrounded(x, [[0, 0], *paddings.tolist(), *[[0, 0]] * (x.ndim - 1 - spatial)], b"" if x.dtype == object else 0)
    cells: list[int] = []
    for axis, block in enumerate(blocks):
        extent = padded.shape[1 + axis]
        if extent % block:
            raise invalid_argument(f"padded_shape[{axis}]={extent} is not divisible by block_shape[{axis}]={block}")
        cells += [extent // block, block]
    rest = padded.shape[1 + spatial:]
    inside = [2 + 2 * axis for axis in range(spatial)]
    outside = [1 + 2 * axis for axis in range(spatial)]
    moved = padded.reshape(len(padded), *cells, *rest).transpose(*inside, 0, *outside, *range(1 + 2 * spatial, 1 + 2 * spatial + len(rest)))
    return moved.reshape(len(padded) * math.prod(blocks), *cells[::2], *rest)


def _batch_to_space(x: Any, blocks: list[int], crops: np.ndarray) -> np.ndarray:
    x, spatial = as_array(x), len(blocks)
    _check_blocks(x, blocks, crops)
    product = math.prod(blocks)
    if len(x) % product:
        raise invalid_argument(f"Input batch dimension ({len(x)}) is not divisible by product of block sizes ({product})")
    batch, inner, rest = len(x) // product, x.shape[1:1 + spatial], x.shape[1 + spatial:]
    cells = x.reshape(*blocks, batch, *inner, *rest)
    order = [spatial, *(axis for each in range(spatial) for axis in (spatial + 1 + each, each)), *range(1 + 2 * spatial, cells.ndim)]
    whole = cells.transpose(order).reshape(batch, *(extent * block for extent, block in zip(inner, blocks)), *rest)
    index = [slice(None)]
    for axis, (before, after) in enumerate(crops.tolist()):
        extent = whole.shape[1 + axis]
        if before + after > extent:
            raise invalid_argument(f"cropped_shape[{axis}]={extent - before - after} must be non-negative")
        index.append(slice(before, extent - after))
    return whole[tuple(index)]


def _check_blocks(x: np.ndarray, blocks: list[int], amounts: np.ndarray) -> None:
    if x.ndim < 1 + len(blocks):
        raise invalid_argument(f"input rank should be >= {1 + len(blocks)} instead of {x.ndim}")
    if amounts.shape != (len(blocks), 2):
        raise invalid_argument(f"paddings should have shape [{len(blocks)}, 2] instead of {shape_text(amounts)}")
    if any(block < 1 for block in blocks):
        raise invalid_argument(f"All values in block_shape must be positive, got value {min(blocks)}")
    if (amounts < 0).any():
        raise invalid_argument("Paddings must be non-negative")


@op("SpaceToBatchND", "input: T, block_shape: Tblock_shape, paddings: Tpaddings -> output: T", T=TYPE, Tblock_shape=INDEX_32,
    Tpaddings=INDEX_32)
class SpaceToBatchND:
    """The positions inside each block of (padded) space become entries of the batch."""

    ranks = {"block_shape": 1}

    def shape(input, block_shape, paddings):
        return _to_batch_shape(input, known_elements(block_shape), known_elements(paddings))

    def kernel(input, block_shape, paddings):
        return _space_to_batch(input, block_shape.tolist(), paddings)

    def native(emit, input, block_shape, paddings):
        return emit.blocks.space_to_batch(input, emit.known(block_shape).tolist(), emit.known(paddings))

    def gradient(op, dy):
        return [BatchToSpaceND(dy, op.inputs[1], op.inputs[2]), None, None]


@op("BatchToSpaceND", "input: T, block_shape: Tblock_shape, crops: Tcrops -> output: T", T=TYPE, Tblock_shape=INDEX_32, Tcrops=INDEX_32)
class BatchToSpaceND:
    """Entries of the batch become the positions inside blocks of space, which is then cropped."""

    ranks = {"block_shape": 1}

    def shape(input, block_shape, crops):
        return _to_space_shape(input, known_elements(block_shape), known_elements(crops))

    def kernel(input, block_shape, crops):
        return _batch_to_space(input, block_shape.tolist(), crops)

    def native(emit, input, block_shape, crops):
        return emit.blocks.batch_to_space(input, emit.known(block_shape).tolist(), emit.known(crops))

    def gradient(op, dy):
        return [SpaceToBatchND(dy, op.inputs[1], op.inputs[2]), None, None]


@op("SpaceToBatch", "input: T, paddings: Tpaddings -> output: T", T=TYPE, Tpaddings=INDEX_32, block_size=BLOCK)
class SpaceToBatch:
    """SpaceToBatchND with the same block size for height and width."""

    ranks = {"paddings": 2}

    def shape(input, paddings, block_size):
        input.shape.with_rank(4)
        return _to_batch_shape(input, [block_size] * 2, known_elements(paddings))

    def kernel(input, paddings, block_size):
        return _space_to_batch(input, [block_size] * 2, paddings)

    def native(emit, input, paddings, block_size):
        return emit.blocks.space_to_batch(input, [block_size] * 2, emit.known(paddings))

    def gradient(op, dy):
        return [BatchToSpace(dy, op.inputs[1], block_size=op.attrs["block_size"]), None]


@op("BatchToSpace", "input: T, crops: Tidx -> output: T", T=TYPE, block_size=BLOCK, Tidx=INDEX_32)
class BatchToSpace:
    """BatchToSpaceND with the same block size for height and width."""

    ranks = {"crops": 2}

    def shape(input, crops, block_size):
        input.shape.with_rank(4)
        return _to_space_shape(input, [block_size] * 2, known_elements(crops))

    def kernel(input, crops, block_size):
        return _batch_to_space(input, [block_size] * 2, crops)

    def native(emit, input, crops, block_size):
        return emit.blocks.batch_to_space(input, [block_size] * 2, emit.known(crops))

    def gradient(op, dy):
        return [SpaceToBatch(dy, op.inputs[1], block_size=op.attrs["block_size"]), None]


def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """``tf.space_to_batch_nd``: the positions inside blocks of space as entries of the batch."""
    return SpaceToBatchND(input, block_shape, paddings, name=name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """``tf.batch_to_space_nd``: entries of the batch as the positions inside blocks of space."""
    return BatchToSpaceND(input, block_shape, crops, name=name)


def space_to_batch(input: Any, paddings: Any, block_size: int | None = None, name: str | None = None, block_shape: Any = None) -> Tensor:
    """``tf.space_to_batch``: ``space_to_batch_nd`` with one block size for height and width."""
    block_shape = np.array([block_size, block_size], np.int64) if block_shape is None else block_shape
    result = SpaceToBatchND(input, block_shape, paddings, name=name)
    result.set_shape(result.shape.with_rank(4))
    return result


def batch_to_space(input: Any, crops: Any, block_size: int | None = None, name: str | None = None, block_shape: Any = None) -> Tensor:
    """``tf.batch_to_space``: ``batch_to_space_nd`` with one block size for height and width."""
    block_shape = np.array([block_size, block_size], np.int64) if block_shape is None else block_shape
    result = BatchToSpaceND(input, block_shape, crops, name=name)
    result.set_shape(result.shape.with_rank(4))
    return result


def required_space_to_batch_paddings(input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """``tf.required_space_to_batch_paddings``: the (paddings, crops) that make each extent a multiple of its block."""
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        input_shape = to_tensor(input_shape, dt.int32, "input_shape")
        block_shape = to_tensor(block_shape, dt.int32, "block_shape")
        blocks = block_shape.shape.with_rank(1)
        blocks.assert_is_fully_defined()
        number = blocks.as_list()[0]
        if number == 0:
            return zeros([0, 2], dt.int32), zeros([0, 2], dt.int32)
        input_shape.shape.assert_is_compatible_with(blocks)
        base = zeros([number, 2], dt.int32) if base_paddings is None else to_tensor(base_paddings, dt.int32, "base_paddings")
        base.shape.assert_is_compatible_with([number, 2])
        known = [constant_value(value) for value in (input_shape, block_shape, base)]
        if all(value is not None for value in known):
            extents, sizes, pads = known
            extra = (-(extents + pads.sum(1))) % sizes
            paddings, crops = np.stack([pads[:, 0], pads[:, 1] + extra], 1), np.stack([np.zeros_like(extra), extra], 1)
            return constant(paddings.astype(np.int32), name="paddings"), constant(crops.astype(np.int32), name="crops")
        start, end = base[:, 0], base[:, 1]
        extra = (block_shape - (input_shape + start + end) % block_shape) % block_shape
        after = end + extra
        return stack([[start[i], after[i]] for i in range(number)], name="paddings"), \
            stack([[0, extra[i]] for i in range(number)], name="crops")
