"""A random crop of an image that keeps enough of an object in view: the sampling behind SampleDistortedBoundingBox, with TensorFlow's numbers."""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from penstock.ops.random.philox import Philox

_CHUNK = 128  # blocks of random words that are made at a time
_f32 = np.float32


class Box(NamedTuple):
    """A rectangle of whole pixels, its upper edges excluded."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def area(self) -> int:
        """The number of pixels in it; 0 if it is turned inside out."""
        return max(self.right - self.left, 0) * max(self.bottom - self.top, 0)

    def overlap(self, other: Box) -> int:
        """The number of pixels that both have."""
        return Box(max(self.left, other.left), max(self.top, other.top), min(self.right, other.right), min(self.bottom, other.bottom)).area


class _Draws:
    """Single numbers from consecutive words of a stream."""

    def __init__(self, rng: Philox, blocks: int) -> None:
        self._words = _words(rng, blocks)

    def unit(self) -> np.float32:
        """A float in [0, 1)."""
        word = np.uint32((next(self._words) & 0x7FFFFF) | 0x3F800000)
        return word.view(_f32) - _f32(1)

    def below(self, limit: int) -> int:
        """An integer in [0, limit)."""
        return next(self._words) % limit


def _words(rng: Philox, blocks: int) -> Iterator[int]:
    """The words of so many blocks, made when they are asked for."""
    for start in range(0, blocks, _CHUNK):
        count = min(_CHUNK, blocks - start)
        yield from rng.reserve(count).blocks(count).reshape(-1).tolist()


def sample(rng: Philox, width: int, height: int, objects: list[Box], covered: float, ratios: tuple[float, float], areas: tuple[float, float],
           attempts: int) -> Box:
    """A crop whose shape and area are in the given ranges and that covers enough of some object; the whole image if none is found."""
    draws = _Draws(rng.reserve(attempts), attempts)
    low, high = _f32(ratios[0]), _f32(ratios[1])
    for _ in range(attempts):
        ratio = draws.unit() * (high - low) + low
        crop = _crop(draws, width, height, areas, ratio)
        if crop is not None and _covers(crop, objects, covered):
            return crop
    return Box(0, 0, width, height)


def _covers(crop: Box, objects: list[Box], covered: float) -> bool:
    if crop.area < 1:
        return False
    return any(_f32(thing.overlap(crop)) / _f32(thing.area) >= _f32(covered) for thing in objects if thing.area >= 1)


def _crop(draws: _Draws, width: int, height: int, areas: tuple[float, float], ratio: np.float32) -> Box | None:
    """One attempt at a crop with this ratio of width to height."""
    least, most = (_f32(share) * _f32(width) * _f32(height) for share in areas)
    if most <= 0 or ratio <= 0 or width <= 0 or height <= 0 or areas[0] > areas[1]:
        return None
    tall = _crop_height(draws, width, height, least, most, ratio)
    wide = _round(tall * ratio)
    # Rounding may have moved the area just out of its range: one pixel more or less is tried.
    if wide * tall < least:
        tall += 1
        wide = _round(tall * ratio)
    if wide * tall > most:
        tall -= 1
        wide = _round(tall * ratio)
    if not (least <= wide * tall <= most and 0 < wide <= width and 0 < tall <= height):
        return None
    top = draws.below(height - tall) if tall < height else 0
    left = draws.below(width - wide) if wide < width else 0
    return Box(left, top, left + wide, top + tall)


def _crop_height(draws: _Draws, width: int, height: int, least: np.float32, most: np.float32, ratio: np.float32) -> int:
    low, high = _round(np.sqrt(least / ratio)), _round(np.sqrt(most / ratio))
    if _round(high * ratio) > width:  # the largest height that is not too wide
        high = int((width + 0.5 - 1e-7) / float(ratio))
        high -= _round(high * ratio) > width
    high = min(high, height)
    low = min(low, high)
    return low + draws.below(high - low + 1) if low < high else low


def _round(value: float) -> int:
    return int(np.rint(_f32(value)))
