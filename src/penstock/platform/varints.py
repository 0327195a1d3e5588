"""Integers of protocol buffers and tables: seven bits per byte, the lowest first, and a bit that says whether there are more."""
from __future__ import annotations


def varint(value: int) -> bytes:
    """An unsigned integer, seven bits per byte, the lowest first.

    >>> varint(300)
    b'\\xac\\x02'
    """
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """(value, position behind it); IndexError at the end of the data, ValueError if there is no end to it."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
