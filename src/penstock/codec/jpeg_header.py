"""What stands in a JPEG file before its data: sizes, components, tables. Files that ``jpeg.py`` cannot decode have no header here."""
from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple


class JpegComponent(NamedTuple):
    """A component of the image: its sampling factors and its tables, as they stand in the file."""

    horizontal: int
    vertical: int
    scales: bytes
    dc: bytes
    ac: bytes


class JpegFrame(NamedTuple):
    """What a file says of its image and, of each component, its number, its sampling factors and the number of its scales."""

    height: int
    width: int
    components: list[tuple[int, int, int, int]]


class JpegHeader(NamedTuple):
    """What stands before the data."""

    height: int
    width: int
    components: tuple[JpegComponent, ...]
    interval: int  # units between two restarts; 0 for none


_FRAMES = 0xC0, 0xC1  # those of plain files
_APPLICATIONS, _COMMENT = range(0xE0, 0xF0), 0xFE  # which may say anything
_FINEST = ((1, 1), (2, 1), (2, 2))  # sampling factors of the first component, if those of the others are 1
_NUMBERS = range(4)  # of tables
_FACTORS = range(1, 5)  # for sampling
_QUANTIZATION, _CODES, _RESTARTS, _SCAN, _JFIF, _ADOBE = 0xDB, 0xC4, 0xDD, 0xDA, 0xE0, 0xEE


_last: tuple[bytes, tuple[JpegHeader, int] | None] = b"\0", None  # a header as it stands in a file, and what it says


def header_of(content: bytes) -> tuple[JpegHeader, int] | None:
    """The header of a plain file, and where its data begins; None for any other. Files that follow each other often have the same one."""
    global _last
    text, header = _last
    if content.startswith(text):
        return header
    try:
        header = _header_of(content)
    except (IndexError, struct.error, KeyError):  # it ends too early, or refers to what is not there
        return None
    if header is not None:
        _last = content[:header[1]], header
    return header


def _header_of(content: bytes) -> tuple[JpegHeader, int] | None:
    scales: dict[int, bytes] = {}
    codes: dict[int, bytes] = {}
    frame: JpegFrame | None = None
    interval, position, is_ycc, adobe = 0, 2, False, -1
    while content[position] == 0xFF:
        marker, length = content[position + 1], int.from_bytes(content[position + 2:position + 4], "big")
        body, position = content[position + 4:position + 2 + length], position + 2 + length
        if len(body) != length - 2:
            return None
        if marker == _QUANTIZATION:
            scales |= _tables(body, lambda first: 129 if first >> 4 else 65)
        elif marker == _CODES:
            codes |= _code_tables(body)
        elif marker in _FRAMES:
            if frame is not None or body[0] != 8 or len(body) != 6 + 3 * body[5]:
                return None
            numbers = [(body[at], body[at + 1] >> 4, body[at + 1] & 15, body[at + 2]) for at in range(6, len(body), 3)]
            frame = JpegFrame(*struct.unpack_from(">HH", body, 1), numbers)
        elif marker == _RESTARTS:
            (interval,) = struct.unpack(">H", body)
        elif marker == _JFIF and body.startswith(b"JFIF\0"):
            is_ycc = True
        elif marker == _ADOBE and body.startswith(b"Adobe") and len(body) >= 12:
            adobe = body[11]
        elif marker == _SCAN:
            if frame is None or not _is_whole_scan(body, frame) or not _is_plain(frame, is_ycc, adobe) or not all(map(_NUMBERS.__contains__, scales)):
                return None
            components = tuple(JpegComponent(across, down, scales[table], codes[body[2 + 2 * index] >> 4], codes[16 + (body[2 + 2 * index] & 15)])
                               for index, (_, across, down, table) in enumerate(frame.components))
            return JpegHeader(frame.height, frame.width, components, interval), position
        elif marker not in _APPLICATIONS and marker != _COMMENT:
            return None
    return None


def _is_plain(frame: JpegFrame, is_ycc: bool, adobe: int) -> bool:
    """Is an image gray, or of YCbCr with colours that are as fine as it is, half as wide, or half as wide and high?"""
    if len(frame.components) == 1:
        _, across, down, _ = frame.components[0]
        return across in _FACTORS and down in _FACTORS
    numbers, factors = [each[0] for each in frame.components], [each[1:3] for each in frame.components]
    return (is_ycc or adobe == 1 or (adobe < 0 and numbers == [1, 2, 3])) and factors[0] in _FINEST and factors[1:] == [(1, 1)] * 2


def _is_whole_scan(body: bytes, frame: JpegFrame) -> bool:
    """Has a scan all components, with all of their bits?"""
    count = len(frame.components)
    return body[0] == count and len(body) == 4 + 2 * count and list(body[1:1 + 2 * count:2]) == [each[0] for each in frame.components] \
        and body[-3:] == b"\x00\x3f\x00"


def _tables(body: bytes, size: Callable[[int], int]) -> dict[int, bytes]:
    """Tables that follow each other, by their numbers; each with its first byte."""
    tables, position = {}, 0
    while position < len(body):
        length = size(body[position])
        tables[body[position] & 15] = body[position:position + length]
        position += length
    return tables


def _code_tables(body: bytes) -> dict[int, bytes]:
    """Tables of codes by class and number: lengths and symbols."""
    tables, position = {}, 0
    while position < len(body):
        length = 17 + sum(body[position + 1:position + 17])
        tables[body[position]] = body[position + 1:position + length]
        position += length
    return tables
