"""PNG files: writing them, and reading those with 16 bits per channel, of which Pillow keeps the upper half only."""
from __future__ import annotations

import struct
import zlib

import numpy as np

from penstock.errors import invalid_argument

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by the colour type of the header; 3, a palette, has 8 bits at most
_WHOLE = ((0, 0, 1, 1),)
_INTERLACED = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))  # top, left, step down, across


def has_16_bits(content: bytes) -> bool:
    """Whether a PNG file has 16 bits per channel."""
    return content.startswith(SIGNATURE) and content[24:25] == b"\x10"


def decode_16_bits(content: bytes) -> np.ndarray:
    """The pixels of a file with 16 bits per channel, as uint16 [height, width, channels]. The caller has checked its size."""
    width, height, _, color, _, _, interlaced = struct.unpack_from(">IIBBBBB", content, 16)
    channels = _CHANNELS[color]
    passes = _INTERLACED if interlaced else _WHOLE
    lines = [(-(-(height - top) // down), -(-(width - left) // across)) for top, left, down, across in passes]
    expected = sum(rows * (1 + 2 * channels * columns) for rows, columns in lines if rows > 0 and columns > 0)
    data = zlib.decompressobj().decompress(_image_data(content), expected)
    if len(data) < expected:
        raise invalid_argument(f"Invalid PNG data, size {len(content)} (the image ends early)")
    pixels, position = np.empty((height, width, channels), np.uint16), 0
    for (top, left, down, across), (rows, columns) in zip(passes, lines):
        if rows > 0 and columns > 0:
            size = rows * (1 + 2 * channels * columns)
            plain = _unfilter(np.frombuffer(data, np.uint8, size, position).reshape(rows, -1), 2 * channels)
            pixels[top::down, left::across] = plain.view(">u2").reshape(rows, columns, channels)
            position += size
    return pixels


def _image_data(content: bytes) -> bytes:
    """The bytes of all IDAT chunks."""
    position, parts = len(SIGNATURE), []
    while position + 8 <= len(content):
        length, kind = struct.unpack_from(">I4s", content, position)
        if kind == b"IDAT":
            parts.append(content[position + 8:position + 8 + length])
        position += 12 + length
    return b"".join(parts)


def _unfilter(lines: np.ndarray, step: int) -> np.ndarray:
    """The rows without their filters; ``step`` bytes are a pixel."""
    rows = np.zeros((len(lines), lines.shape[1] - 1), np.uint8)
    above = np.zeros(rows.shape[1], np.uint8)
    for row, line in zip(rows, lines):
        kind, values = line[0], line[1:]
        if kind == 1:  # the difference to the pixel before
            row[:] = np.cumsum(values.reshape(-1, step), axis=0, dtype=np.uint8).ravel()
        elif kind == 2:  # to the pixel above
            row[:] = values + above
        elif kind in (3, 4):
            row[:] = np.frombuffer(_recurrence(values.tolist(), above.tolist(), step, kind), np.uint8)
        elif kind == 0:
            row[:] = values
        else:
            raise invalid_argument(f"Invalid PNG data (filter {kind})")
        above = row
    return rows


def _recurrence(values: list[int], above: list[int], step: int, kind: int) -> bytearray:
    """A row whose bytes depend on those before and above them: their average (3), or the nearest of three to a prediction (4)."""
    row = bytearray(len(values))
    for index, value in enumerate(values):
        left, corner = (row[index - step], above[index - step]) if index >= step else (0, 0)
        row[index] = value + ((left + above[index]) // 2 if kind == 3 else _nearest(left, above[index], corner)) & 255
    return row


def _nearest(left: int, above: int, corner: int) -> int:
    by_left, by_above, by_corner = abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)
    if by_left <= by_above and by_left <= by_corner:
        return left
    return above if by_above <= by_corner else corner


def encode(pixels: np.ndarray, compression: int) -> bytes:
    """A file of [height, width, 1 to 4] elements with 8 or 16 bits."""
    height, width, channels = pixels.shape
    raw = np.ascontiguousarray(pixels.astype(pixels.dtype.newbyteorder(">"))).view(np.uint8).reshape(height, -1)
    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 8 * pixels.dtype.itemsize, color, 0, 0, 0)
    body = zlib.compress(_filter(raw, channels * pixels.dtype.itemsize).tobytes(), compression)
    return SIGNATURE + b"".join(_chunk(name, data) for name, data in ((b"IHDR", header), (b"IDAT", body), (b"IEND", b"")))


def _filter(raw: np.ndarray, step: int) -> np.ndarray:
    """Each row behind the filter that leaves the smallest numbers, which is what compresses best as a rule."""
    wide = raw.astype(np.int16)
    left, above = np.zeros_like(wide), np.zeros_like(wide)
    left[:, step:], above[1:] = wide[:, :-step], wide[:-1]
    corner = np.zeros_like(wide)
    corner[1:, step:] = wide[:-1, :-step]
    by_left, by_above, by_corner = abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)
    nearest = np.where((by_left <= by_above) & (by_left <= by_corner), left, np.where(by_above <= by_corner, above, corner))
    forms = [(wide - guess).astype(np.uint8) for guess in (np.zeros_like(wide), left, above, (left + above) // 2, nearest)]
    sizes = np.stack([abs(form.view(np.int8).astype(np.int64)).sum(axis=1) for form in forms])
    best = sizes.argmin(axis=0)
    rows = np.stack(forms)[best, np.arange(len(raw))]
    return np.concatenate([best[:, None].astype(np.uint8), rows], axis=1)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
