"""JPEG files to pixels: files with one scan and 8 bits, gray or of YCbCr whose colours are as fine as the image, half as wide, or half as wide and
high. Nearly all files are so; ``decode_file`` says of others, and of broken ones, that they are not.

The integers are those of libjpeg-turbo, of either of its two integer transforms, and so are the pixels, bit for bit. Coefficients of 16 blocks lie
side by side, a *group*: 64 times 16 integers of 32 bits, so that an instruction transforms 16 blocks. A row of blocks is decoded into groups, which
become lines of a plane of bytes per component; colours are made of whole planes. All of that is one call, for which Python's lock is not held.
"""
from __future__ import annotations

import functools
import threading
from typing import NamedTuple

import numpy as np

from penstock.codec.jpeg_header import JpegHeader
from penstock.codec.jpeg_tables import BEYOND, END, ENTRIES, LANE, PLACES, SHORT, codes_of, scales_of
from penstock.codec.language import native
from penstock.codec.library import functions
from penstock.codec.object_memory import DATA, address
from penstock.codec.primitives import (
    clamp_bytes,
    copy,
    find,
    load8,
    load32,
    load64,
    load_big64,
    load_bytes,
    load_lanes,
    store8,
    store32,
    store64,
    store_lanes,
    store_pairs,
    store_rows,
    store_triples,
)

LANES = 16  # blocks of a group
_GROUP, _ROW = 64 * LANE, 8 * LANE  # bytes of a group, and of a row of 8 coefficients of its blocks
_LINE = 8 * LANES  # pixels of a line of a group
_SLACK = 3 * LANES  # bytes that may be written behind the last pixel
_OVERRUN = 512  # bytes that may be read behind the data: a block has at most 64 times 31 bits
_RESTART, _END_OF_IMAGE, _APPLICATION, _COMMENT = 0xD0, 0xD9, 0xE0, 0xFE  # markers; of the first and the third there are 8 and 16
_MOST_BITS = 11  # of a difference of first coefficients

# What native code is given: words of 8 bytes, first those of the image, then those of each component.
_IMAGE = ("at", "end", "data", "next", "limit", "bits", "held", "marker", "components", "planes", "across", "down", "interval", "fast", "fancy",
          "width", "height", "target", "sums", "blue", "red")
_COMPONENT = ("horizontal", "vertical", "dc", "ac", "scales", "groups", "count", "plane", "pitch", "last", "rows", "columns")
(_AT, _END, _DATA, _NEXT, _LIMIT, _BITS, _HELD, _MARKER, _COMPONENTS, _PLANES, _ACROSS, _DOWN, _INTERVAL, _FAST, _FANCY,
 _WIDTH, _HEIGHT, _TARGET, _SUMS, _BLUE, _RED) = range(0, 8 * len(_IMAGE), 8)
_HORIZONTAL, _VERTICAL, _DC, _AC, _SCALES, _GROUPS, _COUNT, _PLANE, _PITCH, _LAST, _ROWS, _COLUMNS = range(0, 8 * len(_COMPONENT), 8)
_FIRST, _STEP = 8 * len(_IMAGE), 8 * len(_COMPONENT)  # where the first component begins, and how far away the next one is


# --- coefficients ----------------------------------------------------------------------------------------------------

@native
def long_code(table, code):
    """The entry of a code of more bits than the table has places for, at the beginning of these 16; 0 if there is none."""
    for length in range(SHORT + 1, 17):
        if code < load64(table + BEYOND + 8 * length):
            place = (code >> (16 - length)) + load64(table + PLACES + 8 * length)
            return load32(table + ENTRIES + 4 * (place & 255))
    return 0


@native
def value_of(bits, entry):
    """The value that stands behind a code, where these bits begin with the code."""
    size = entry >> 16
    value = bits >> (64 - (entry & 63)) & (1 << size) - 1
    return value if value >= 1 << size >> 1 else value + 1 - (1 << size)


@native
def gather(image):
    """Copies the data up to the next marker, without the zeros that stand behind bytes of 255, and begins to read it."""
    at = load64(image + _AT)
    end = load64(image + _END)
    target = load64(image + _DATA)
    store64(image + _NEXT, target)
    store64(image + _BITS, 0)
    store64(image + _HELD, 0)
    while at < end:
        stop = find(at, 255, end - at)
        if stop == 0:
            copy(target, at, end - at)
            target += end - at
            at = end
            break
        copy(target, at, stop - at)
        target += stop - at
        at = stop
        if end - at < 2 or load8(at + 1) != 0:
            break
        store8(target, 255)
        target += 1
        at += 2
    store64(image + _AT, at)
    store64(image + _LIMIT, target)
    return 0


@native
def is_end(at, end):
    """Does the image end behind its data? Comments, restarts, and bytes that belong to nothing, may stand before the marker that says so."""
    while end - at >= 2:
        marker = load8(at + 1)
        if load8(at) != 255 or marker == 0 or marker == 255 or marker & 248 == _RESTART:
            at += 1
        elif end - at >= 4 and (marker & 240 == _APPLICATION or marker == _COMMENT):
            at += 2 + (load8(at + 2) << 8 | load8(at + 3))
        else:
            return marker == _END_OF_IMAGE
    return 0


@native
def decode_block(image, component, target):
    """Puts the coefficients of the next block at their places in a group; 1 if the data is not plain.

    A code and the value behind it have at most 31 bits, and 56 are held when they are read. The next code is looked up in what is left of them, so
    that nothing waits for the memory that further bits come from.
    """
    at = load64(image + _NEXT)
    bits = load64(image + _BITS)  # the next ones of the data, the first one highest,
    held = load64(image + _HELD)  # and how many of them count
    scales = load64(component + _SCALES)
    bits = bits | load_big64(at) >> held
    at += (63 - held) >> 3
    held = held | 56
    table = load64(component + _DC)
    entry = load32(table + 4 * (bits >> (64 - SHORT)))
    if entry == 0:
        entry = long_code(table, bits >> 48)
        if entry == 0:
            return 1
    value = value_of(bits, entry) + load64(component + _LAST)
    store64(component + _LAST, value)
    store32(target, value * load32(scales))
    bits = bits << (entry & 63)
    held -= entry & 63
    table = load64(component + _AC)
    k = 1
    while k < 64:
        entry = load32(table + 4 * (bits >> (64 - SHORT)))
        bits = bits | load_big64(at) >> held
        at += (63 - held) >> 3
        held = held | 56
        if entry == 0:
            entry = long_code(table, bits >> 48)
            if entry == 0:
                return 1
        k += entry >> 8 & 255
        store32(target + load32(scales + 8 * k - 4), value_of(bits, entry) * load32(scales + 8 * k - 8))
        bits = bits << (entry & 63)
        held -= entry & 63
    store64(image + _NEXT, at)
    store64(image + _BITS, bits)
    store64(image + _HELD, held)
    return (k > 64 and k < END and entry >> 16 > 0) or left(image) < 0


@native
def left(image):
    """How many bits up to the next marker were not used; less than 0 if there were not enough."""
    return 8 * (load64(image + _LIMIT) - load64(image + _NEXT)) + load64(image + _HELD)


@native
def restart(image):
    """Begins anew behind the marker that must come now; 1 if another one does, or none."""
    at = load64(image + _AT)
    marker = load64(image + _MARKER)
    if left(image) > 7 or load64(image + _END) - at < 2 or load8(at) != 255 or load8(at + 1) != _RESTART + marker:
        return 1
    store64(image + _AT, at + 2)
    store64(image + _MARKER, (marker + 1) & 7)
    for index in range(load64(image + _COMPONENTS)):
        store64(image + _FIRST + _STEP * index + _LAST, 0)
    return gather(image)


@native
def decode_unit(image, unit):
    """The blocks of all components for one place in a row of blocks; 1 if the data is not plain."""
    for index in range(load64(image + _COMPONENTS)):
        component = image + _FIRST + _STEP * index
        horizontal = load64(component + _HORIZONTAL)
        for line in range(load64(component + _VERTICAL)):
            for place in range(horizontal):
                block = unit * horizontal + place
                group = line * load64(component + _COUNT) + (block >> 4)
                if decode_block(image, component, load64(component + _GROUPS) + _GROUP * group + 4 * (block & 15)):
                    return 1
    return 0


@native
def decode(image):
    """Decodes, transforms and paints an image. 1 if the data is not plain: then nothing is said about the pixels."""
    gather(image)
    interval = load64(image + _INTERVAL)
    following = interval
    for down in range(load64(image + _DOWN)):
        for unit in range(load64(image + _ACROSS)):
            if interval:
                if following == 0:
                    if restart(image):
                        return 1
                    following = interval
                following -= 1
            if decode_unit(image, unit):
                return 1
        for index in range(load64(image + _PLANES)):
            transform_line(image + _FIRST + _STEP * index, down, load64(image + _FAST))
    if is_end(load64(image + _AT), load64(image + _END)) == 0:
        return 1
    if load64(image + _PLANES) == 1:
        return paint_gray(image)
    return paint(image)


# --- from coefficients to planes -------------------------------------------------------------------------------------

@native
def transform_line(component, down, fast):
    """The groups of a component as lines of its plane; they are 0 afterwards."""
    count = load64(component + _COUNT)
    pitch = load64(component + _PITCH)
    vertical = load64(component + _VERTICAL)
    for line in range(vertical):
        target = load64(component + _PLANE) + 8 * pitch * (down * vertical + line)
        for number in range(count):
            group = load64(component + _GROUPS) + _GROUP * (line * count + number)
            for column in range(8):
                if fast:
                    transform_fast(group + LANE * column, _ROW, 0)
                else:
                    transform_accurate(group + LANE * column, _ROW, 11)
            for row in range(8):
                if fast:
                    transform_fast(group + _ROW * row, LANE, 5)
                else:
                    transform_accurate(group + _ROW * row, LANE, 18)
                store_line(group + _ROW * row, target + pitch * row + _LINE * number)
    return 0


@native
def store_line(row, target):
    """A row of 16 blocks as bytes, which stand for integers from -128 on."""
    store_rows(target, clamp_bytes(load_lanes(row) + 128), clamp_bytes(load_lanes(row + LANE) + 128),
               clamp_bytes(load_lanes(row + 2 * LANE) + 128), clamp_bytes(load_lanes(row + 3 * LANE) + 128),
               clamp_bytes(load_lanes(row + 4 * LANE) + 128), clamp_bytes(load_lanes(row + 5 * LANE) + 128),
               clamp_bytes(load_lanes(row + 6 * LANE) + 128), clamp_bytes(load_lanes(row + 7 * LANE) + 128))
    nothing = load_lanes(row) * 0
    for column in range(8):
        store_lanes(row + LANE * column, nothing)
    return 0


@native
def transform_accurate(at, step, shift):
    """One axis of the inverse transform, in place, with factors of 13 bits: after Loeffler, Ligtenberg and Moschytz."""
    x0 = load_lanes(at)
    x1 = load_lanes(at + step)
    x2 = load_lanes(at + 2 * step)
    x3 = load_lanes(at + 3 * step)
    x4 = load_lanes(at + 4 * step)
    x5 = load_lanes(at + 5 * step)
    x6 = load_lanes(at + 6 * step)
    x7 = load_lanes(at + 7 * step)
    both = (x2 + x6) * 4433
    low = both - x6 * 15137
    high = both + x2 * 6270
    half = 1 << (shift - 1)
    total = ((x0 + x4) << 13) + half
    difference = ((x0 - x4) << 13) + half
    even0 = total + high
    even3 = total - high
    even1 = difference + low
    even2 = difference - low
    z1 = (x7 + x1) * 7373
    z2 = (x5 + x3) * 20995
    z5 = (x7 + x3 + x5 + x1) * 9633
    z3 = z5 - (x7 + x3) * 16069
    z4 = z5 - (x5 + x1) * 3196
    odd0 = x1 * 12299 - z1 + z4
    odd1 = x3 * 25172 - z2 + z3
    odd2 = x5 * 16819 - z2 + z4
    odd3 = x7 * 2446 - z1 + z3
    store_lanes(at, (even0 + odd0) >> shift)
    store_lanes(at + step, (even1 + odd1) >> shift)
    store_lanes(at + 2 * step, (even2 + odd2) >> shift)
    store_lanes(at + 3 * step, (even3 + odd3) >> shift)
    store_lanes(at + 4 * step, (even3 - odd3) >> shift)
    store_lanes(at + 5 * step, (even2 - odd2) >> shift)
    store_lanes(at + 6 * step, (even1 - odd1) >> shift)
    store_lanes(at + 7 * step, (even0 - odd0) >> shift)
    return 0


@native
def transform_fast(at, step, shift):
    """The same with factors of 8 bits, some of which are a part of the scales: after Arai, Agui and Nakajima.

    libjpeg-turbo computes it in 16 bits, which sharp edges exceed; what lies above them is cut off wherever it would count: from what is multiplied,
    with two bits more, and from what is shifted.
    """
    x1 = load_lanes(at + step)
    x2 = load_lanes(at + 2 * step)
    x3 = load_lanes(at + 3 * step)
    x5 = load_lanes(at + 5 * step)
    x6 = load_lanes(at + 6 * step)
    x7 = load_lanes(at + 7 * step)
    total = load_lanes(at) + load_lanes(at + 4 * step)
    difference = load_lanes(at) - load_lanes(at + 4 * step)
    both = x2 + x6
    rotated = ((((x2 - x6) << 18) >> 16) * 23168 >> 16) - both  # 362 / 256
    even0 = total + both
    even3 = total - both
    even1 = difference + rotated
    even2 = difference - rotated
    z13 = x5 + x3
    z10 = x5 - x3
    z11 = x1 + x7
    z12 = x1 - x7
    z5 = (((z10 + z12) << 18) >> 16) * 30272 >> 16  # 473 / 256
    odd0 = z11 + z13
    odd1 = (((z10 << 18) >> 16) * -26432 >> 16) - z10 + z5 - odd0  # -669 / 256, less 1 of which 16 bits hold
    odd2 = ((((z11 - z13) << 18) >> 16) * 23168 >> 16) - odd1
    odd3 = (((z12 << 18) >> 16) * 17728 >> 16) - z5 + odd2  # 277 / 256
    store_lanes(at, (even0 + odd0) << 16 >> shift + 16)
    store_lanes(at + step, (even1 + odd1) << 16 >> shift + 16)
    store_lanes(at + 2 * step, (even2 + odd2) << 16 >> shift + 16)
    store_lanes(at + 3 * step, (even3 - odd3) << 16 >> shift + 16)
    store_lanes(at + 4 * step, (even3 + odd3) << 16 >> shift + 16)
    store_lanes(at + 5 * step, (even2 - odd2) << 16 >> shift + 16)
    store_lanes(at + 6 * step, (even1 - odd1) << 16 >> shift + 16)
    store_lanes(at + 7 * step, (even0 - odd0) << 16 >> shift + 16)
    return 0


# --- from planes to pixels -------------------------------------------------------------------------------------------

@native
def paint_gray(image):
    """The first plane as it is."""
    width = load64(image + _WIDTH)
    for line in range(load64(image + _HEIGHT)):
        copy(load64(image + _TARGET) + width * line, load64(image + _FIRST + _PLANE) + load64(image + _FIRST + _PITCH) * line, width)
    return 0


@native
def paint(image):
    """The colours of three planes. Pixels are written 16 at a time, so the target has room for 15 more."""
    width = load64(image + _WIDTH)
    luma = image + _FIRST
    for line in range(load64(image + _HEIGHT)):
        gray = load64(luma + _PLANE) + load64(luma + _PITCH) * line
        blue = finer_line(image, luma + _STEP, line, load64(image + _BLUE))
        red = finer_line(image, luma + 2 * _STEP, line, load64(image + _RED))
        target = load64(image + _TARGET) + 3 * width * line
        for part in range((width + LANES - 1) // LANES):
            y = load_bytes(gray + LANES * part)
            cb = load_bytes(blue + LANES * part) - 128
            cr = load_bytes(red + LANES * part) - 128
            store_triples(target + 3 * LANES * part, clamp_bytes(y + ((cr * 91881 + 32768) >> 16)),
                          clamp_bytes(y + ((32768 - cb * 22554 - cr * 46802) >> 16)), clamp_bytes(y + ((cb * 116130 + 32768) >> 16)))
    return 0


@native
def finer_line(image, component, line, target):
    """A line of a plane of colours, with as many columns as the image; the address of it, which is ``target`` if it was made."""
    plane = load64(component + _PLANE)
    pitch = load64(component + _PITCH)
    if load64(image + _FIRST + _HORIZONTAL) == 1:
        return plane + pitch * line
    rows = load64(component + _ROWS)
    columns = load64(component + _COLUMNS)
    parts = (columns + LANES - 1) // LANES
    halved = load64(image + _FIRST + _VERTICAL) - 1
    row = line >> halved
    near = plane + pitch * row
    if load64(image + _FANCY) == 0:
        for part in range(parts):
            same = load_bytes(near + LANES * part)
            store_pairs(target + 2 * LANES * part, same, same)
        return target
    other = row + 2 * (line & 1) - 1
    other = row if other < 0 or other == rows else other
    far = plane + pitch * other
    sums = load64(image + _SUMS) + 4  # of a line and the nearer of its neighbours; before and behind them stand the first and the last one again
    for part in range(parts):
        total = load_bytes(near + LANES * part)
        if halved:
            total = total * 3 + load_bytes(far + LANES * part)
        store_lanes(sums + 4 * LANES * part, total)
    store32(sums - 4, load32(sums))
    store32(sums + 4 * columns, load32(sums + 4 * columns - 4))
    shift = 4 if halved else 2
    left = 8 if halved else 1
    right = 7 if halved else 2
    for part in range(parts):
        place = sums + 4 * LANES * part
        total = load_lanes(place) * 3
        store_pairs(target + 2 * LANES * part, (total + load_lanes(place - 4) + left) >> shift, (total + load_lanes(place + 4) + right) >> shift)
    return target


EXPORTS = [decode]


# --- the call --------------------------------------------------------------------------------------------------------

class _Layout(NamedTuple):
    """What native code is given for images with such a header, but for addresses."""

    words: np.ndarray  # those of places count from the beginning of the memory
    places: np.ndarray  # which ones do
    tables: list[np.ndarray]  # whose addresses are among the words
    bytes: int  # of memory,
    zeros: int  # of which the first ones are 0


@functools.lru_cache(256)
def _layout(header: JpegHeader, channels: int, fancy: bool, fast: bool) -> _Layout | None:
    """None if this is not for native code."""
    count, first = len(header.components), header.components[0]
    horizontal, vertical = (1, 1) if count == 1 else (first.horizontal, first.vertical)
    if channels not in (1, count):
        return None
    fancy = fancy and header.width > 4  # so few columns are not interpolated by libjpeg either
    across, down = -(-header.width // (8 * horizontal)), -(-header.height // (8 * vertical))
    tables, words, size = [], list[int](), 0

    def piece(length: int) -> int:
        nonlocal size
        place, size = size, size + -(-length // LANE) * LANE
        return place

    groups = [-(-across * wide // LANES) for wide in (horizontal, *[1] * (count - 1))]
    coefficients = [piece(_GROUP * each * high) for each, high in zip(groups, (vertical, *[1] * (count - 1)))]
    zeros = size
    for index, component in enumerate(header.components):
        own = codes_of(component.dc, _MOST_BITS), codes_of(component.ac), scales_of(component.scales, fast)
        if any(table is None for table in own):
            return None
        tables += own
        wide, high = (horizontal, vertical) if index == 0 else (1, 1)
        words += [wide, high, *map(address, own), coefficients[index], groups[index],
                  piece(8 * down * high * groups[index] * _LINE) if index < channels else 0, groups[index] * _LINE, 0,
                  -(-header.height * high // vertical), -(-header.width * wide // horizontal)]
    line = (-(-header.width // LANES) + 2) * LANES
    image = [0, 0, 0, 0, 0, 0, 0, 0, count, channels, across, down, header.interval, fast, fancy, header.width, header.height, 0,
             piece(4 * line), piece(2 * line), piece(2 * line)]
    places = [_SUMS, _BLUE, _RED, *(_FIRST + _STEP * index + place for index in range(count) for place in (_GROUPS, _PLANE))]
    return _Layout(np.array(image + words, np.int64), np.array(places) // 8, tables, size, zeros)


def decode_file(content: bytes, header: JpegHeader, start: int, channels: int, fancy: bool, fast: bool) -> np.ndarray | None:
    """The pixels, [height, width, channels], of which there are 1 or as many as there are components; None where this is left to others: a file that
    is not plain, or broken, or no native code here. ``fancy``: colours are interpolated; ``fast``: the quicker of the two transforms."""
    code = functions("jpeg")
    layout = None if code is None else _layout(header, channels, fancy, fast)
    if layout is None:
        return None
    words, data = layout.words.copy(), id(content) + DATA
    size = header.height * header.width * channels
    pixels, plain = np.empty(size + _SLACK, np.uint8), np.empty(len(content) - start + _OVERRUN, np.uint8)
    memory = _memory.of(layout)
    words[layout.places] += address(memory)
    words[_AT // 8], words[_END // 8], words[_DATA // 8], words[_TARGET // 8] = data + start, data + len(content), address(plain), address(pixels)
    if code.decode(address(words)):
        return None
    _memory.last = layout, memory
    return pixels[:size].reshape(header.height, header.width, channels)


class _Memory(threading.local):
    """The memory of this thread for its images. Files that follow each other often have the same layout, and what must be 0 is 0 again afterwards."""

    last: tuple[_Layout, np.ndarray] | None = None

    def of(self, layout: _Layout) -> np.ndarray:
        """Memory for an image, which is the caller's until it comes back as the last one."""
        last, self.last = self.last, None
        if last is not None and last[0] is layout:
            return last[1]
        memory = np.empty(layout.bytes, np.uint8)
        memory[:layout.zeros] = 0
        return memory


_memory = _Memory()
