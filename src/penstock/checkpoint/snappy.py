"""Snappy, the decompressing half: tables of the first checkpoint version are written with it."""
from __future__ import annotations


def decompress(data: bytes) -> bytes:
    """The bytes that were compressed; ValueError or IndexError if ``data`` is damaged.

    >>> decompress(bytes([6, 4, 97, 98, 1, 2]))  # six bytes: the two literals, then four from two bytes back
    b'ababab'
    """
    length, position = _length(data)
    out = bytearray()
    while position < len(data):
        tag = data[position]
        position += 1
        if tag & 3 == 0:
            size, position = _literal_size(data, tag, position)
            if position + size > len(data):
                raise ValueError("a snappy literal goes beyond the end")
            out += data[position:position + size]
            position += size
        else:
            size, offset, position = _copy(data, tag, position)
            _append_copy(out, size, offset)
        if len(out) > length:
            break
    if len(out) != length:
        raise ValueError(f"snappy: {len(out)} bytes instead of {length}")
    return bytes(out)


def _length(data: bytes) -> tuple[int, int]:
    value = position = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << 7 * position
        position += 1
        if byte < 0x80:
            return value, position


def _literal_size(data: bytes, tag: int, position: int) -> tuple[int, int]:
    size = tag >> 2
    if size < 60:
        return size + 1, position
    extra = size - 59
    return int.from_bytes(data[position:position + extra], "little") + 1, position + extra


def _copy(data: bytes, tag: int, position: int) -> tuple[int, int, int]:
    if tag & 3 == 1:
        return (tag >> 2 & 7) + 4, tag >> 5 << 8 | data[position], position + 1
    width = 2 if tag & 3 == 2 else 4
    return (tag >> 2) + 1, int.from_bytes(data[position:position + width], "little"), position + width


def _append_copy(out: bytearray, size: int, offset: int) -> None:
    """Bytes from ``offset`` back; what is copied may reach into what the copy itself writes."""
    if not 0 < offset <= len(out):
        raise ValueError("a snappy copy from before the beginning")
    start = len(out) - offset
    piece = bytes(out[start:start + size])
    out += (piece * (size // len(piece) + 1))[:size]
