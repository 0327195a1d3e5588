"""Bilinear resizing of an image of any size, rounded as NumPy rounds it: the same operations on float32, in the same order.

The compiler has kernels of its own for this, which are made for one size. The images of a file have as many sizes as there are images.
"""
from __future__ import annotations

import numpy as np

from penstock.codec.language import native
from penstock.codec.library import functions
from penstock.codec.object_memory import address
from penstock.codec.primitives import load8, load64, load_single, store_single, to_single

_BYTES, _FLOATS = 1, 4  # by the size of an element


@native
def mixed_row(source, kind, places, other_places, shares, width, channels, target):
    """Mixes the elements of a row at ``places`` with those at ``other_places``."""
    for column in range(width):
        one = source + load64(places + 8 * column) * channels * kind
        other = source + load64(other_places + 8 * column) * channels * kind
        share = load_single(shares + 4 * column)
        place = target + 4 * column * channels
        for channel in range(channels):
            if kind == _BYTES:
                x = to_single(load8(one + channel))
                y = to_single(load8(other + channel))
            else:
                x = load_single(one + 4 * channel)
                y = load_single(other + 4 * channel)
            store_single(place + 4 * channel, x + (y - x) * share)
    return 0


@native
def resize(source, kind, pitch, tops, bottoms, downs, height, lefts, rights, across, width, channels, row, target):
    """Resizes one image, whose rows are ``pitch`` bytes apart; ``row`` is memory for one row of the result."""
    length = width * channels
    for line in range(height):
        place = target + 4 * length * line
        mixed_row(source + pitch * load64(tops + 8 * line), kind, lefts, rights, across, width, channels, place)
        mixed_row(source + pitch * load64(bottoms + 8 * line), kind, lefts, rights, across, width, channels, row)
        share = load_single(downs + 4 * line)
        for index in range(length):
            upper = load_single(place + 4 * index)
            store_single(place + 4 * index, upper + (load_single(row + 4 * index) - upper) * share)
    return 0


EXPORTS = [resize]

Axis = tuple[np.ndarray, np.ndarray, np.ndarray]  # for each place: the two places that it is mixed of, and the share of the second


def _inside(axis: Axis, extent: int) -> bool:
    return all(not len(places) or 0 <= places.min() <= places.max() < extent for places in axis[:2])


def resized(images: np.ndarray, rows: Axis, columns: Axis) -> np.ndarray | None:
    """Images of uint8 or float32 as float32 in another size; None where NumPy has to do it."""
    code = functions("resizing")
    if code is None or images.dtype not in (np.uint8, np.float32) or not images.size:
        return None
    images = np.ascontiguousarray(images)
    count, height, width, channels = images.shape
    if not (_inside(rows, height) and _inside(columns, width)):
        return None
    target = np.empty((count, len(rows[0]), len(columns[0]), channels), np.float32)
    scratch = np.empty(len(columns[0]) * channels, np.float32)
    plans = [[np.ascontiguousarray(part, kind) for part, kind in zip(axis, (np.int64, np.int64, np.float32))] for axis in (rows, columns)]
    addresses = [[address(part) for part in plan] for plan in plans]
    for image, result in zip(images, target):
        code.resize(address(image), images.itemsize, image.strides[0], *addresses[0], len(rows[0]), *addresses[1], len(columns[0]), channels,
                    address(scratch), address(result))
    return target
