"""Patches: what lies under each position of a sliding window, as channels."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.graph.attrs import Attr, one_of
from penstock.graph.node import Tensor
from penstock.graph.opdef import OpDef, op
from penstock.ops.array.pack import stack
from penstock.ops.array.permute import transpose
from penstock.ops.array.scatter_nd import ScatterNd
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.common import REAL
from penstock.ops.nn.windows import output_extent, windows

PADDINGS = one_of("SAME", "VALID")
INTS_4, INTS_5 = Attr("list(int)", minimum=4), Attr("list(int)", minimum=5)


def _inner(values: tuple[int, ...], what: str) -> tuple[int, ...]:
    """The entries for the axes of space; those for batch and depth must be 1."""
    if values[0] != 1 or values[-1] != 1:
        raise ValueError(f"patches are taken within an image: the first and last entry of {what} must be 1, not {list(values)}")
    return values[1:-1]


def _patch_shape(images: Tensor, ksizes: tuple[int, ...], strides: tuple[int, ...], rates: tuple[int, ...], padding: str) -> Any:
    size, steps, gaps = _inner(ksizes, "ksizes"), _inner(strides, "strides"), _inner(rates, "rates")
    batch, *space, depth = images.shape.with_rank(len(ksizes)).as_list()
    counts = [output_extent(*each, padding) for each in zip(space, size, steps, gaps)]
    return [batch, *counts, None if depth is None else depth * math.prod(size)]


def _patches(images: np.ndarray, ksizes: tuple[int, ...], strides: tuple[int, ...], rates: tuple[int, ...], padding: str) -> np.ndarray:
    w = windows(images.shape[1:-1], ksizes[1:-1], strides[1:-1], rates[1:-1], padding)
    seen = w.view(w.pad(images, 1), 1)
    return seen.reshape(len(images), *w.output, math.prod(ksizes) * images.shape[-1])


def _patches_gradient(definition: OpDef, images: Tensor, dy: Tensor, attrs: dict[str, Any]) -> Tensor:
    """Each element of a patch goes back to the pixel it came from.

    Patches of an image whose pixels are their own numbers, counted from 1, tell where elements came from: 0 is padding.
    """
    extents = shape(images)
    batch, depth = extents[0], extents[-1]
    spatial = [extents[axis] for axis in range(1, images.shape.with_rank(len(attrs["ksizes"])).ndims - 1)]
    pixels = math.prod(spatial[1:], start=spatial[0])
    numbers = reshape(range_(1, pixels + 1), stack([1, *spatial, 1]))
    source = reshape(definition(numbers, **attrs), [-1, 1])
    elements = transpose(reshape(dy, stack([batch, -1, depth])), [1, 0, 2])  # places, batch, depth
    summed = ScatterNd(source, elements, stack([pixels + 1, batch, depth]))[1:]
    return reshape(transpose(summed, [1, 0, 2]), extents)


@op("ExtractImagePatches", "images: T -> patches: T", ksizes=INTS_4, strides=INTS_4, rates=INTS_4, T=REAL, padding=PADDINGS)
class ExtractImagePatches:
    """The patches of images under a sliding, perhaps dilated, window, with their elements as channels."""

    def shape(images, ksizes, strides, rates, padding):
        return _patch_shape(images, ksizes, strides, rates, padding)

    def kernel(images, ksizes, strides, rates, padding):
        return _patches(images, ksizes, strides, rates, padding)

    def gradient(op, dy):
        attrs = {name: op.attrs[name] for name in ("ksizes", "strides", "rates", "padding")}
        return _patches_gradient(ExtractImagePatches, op.inputs[0], dy, attrs)


@op("ExtractVolumePatches", "input: T -> patches: T", ksizes=INTS_5, strides=INTS_5, T=REAL, padding=PADDINGS)
class ExtractVolumePatches:
    """The patches of volumes under a sliding window, with their elements as channels."""

    def shape(input, ksizes, strides, padding):
        return _patch_shape(input, ksizes, strides, (1,) * 5, padding)

    def kernel(input, ksizes, strides, padding):
        return _patches(input, ksizes, strides, (1,) * 5, padding)

    def gradient(op, dy):
        attrs = {name: op.attrs[name] for name in ("ksizes", "strides", "padding")}
        return _patches_gradient(ExtractVolumePatches, op.inputs[0], dy, attrs)


def extract_image_patches(images: Any, ksizes: Any = None, strides: Any = None, rates: Any = None, padding: str | None = None,
                          name: str | None = None, sizes: Any = None) -> Tensor:
    """``tf.extract_image_patches``: the patches of images under a sliding window, as channels; ``sizes`` is the new name of ``ksizes``."""
    return ExtractImagePatches(images, ksizes=sizes if ksizes is None else ksizes, strides=strides, rates=rates, padding=padding, name=name)


def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Tensor:
    """``tf.image.extract_patches``: the patches of images under a sliding window, as channels."""
    return ExtractImagePatches(images, ksizes=sizes, strides=strides, rates=rates, padding=padding, name=name)


def extract_volume_patches(input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None) -> Tensor:
    """``tf.extract_volume_patches``: the patches of volumes under a sliding window, as channels."""
    return ExtractVolumePatches(input, ksizes=ksizes, strides=strides, padding=padding, name=name)
