"""The encoding of protocol buffers, as native code reads it. Every function returns -1, or 0 for an address, where the bytes are not plain."""
from __future__ import annotations

from penstock.codec.language import native
from penstock.codec.objects import PIECE
from penstock.codec.primitives import cell, copy, load8, load32, load64, store32, store64

_ONE_DELIMITED, _ONE_VARINT, _ONE_FIXED32 = 0x0A, 0x08, 0x0D  # field 1, by how it is written


@native
def varint(at, end, result):
    """Stores the number at ``at``; returns the address behind it."""
    value = 0
    shift = 0
    while at < end and shift < 64:
        byte = load8(at)
        at += 1
        if shift == 63 and byte > 1:
            return 0
        value = value | ((byte & 127) << shift)
        if byte < 128:
            store64(result, value)
            return at
        shift += 7
    return 0


@native
def span(at, end, result):
    """Reads the length of a field at ``at`` and stores where it ends; returns where it begins."""
    at = varint(at, end, result)
    if at == 0:
        return 0
    length = load64(result)
    if length < 0 or length > end - at:
        return 0
    store64(result, at + length)
    return at


@native
def float_values(at, end, target, most):
    """Stores the values of a FloatList, unless there are more than ``most``; returns how many there are. Without a target it only counts."""
    inner = cell()
    count = 0
    while at < end:
        tag = load8(at)
        if tag == _ONE_DELIMITED:
            at = span(at + 1, end, inner)
            if at == 0:
                return -1
            length = load64(inner) - at
            if length & 3:
                return -1
            if target != 0:
                if length > 4 * (most - count):
                    return -1
                copy(target + 4 * count, at, length)
            count += length >> 2
            at += length
        elif tag == _ONE_FIXED32:
            if end - at < 5:
                return -1
            if target != 0:
                if count >= most:
                    return -1
                store32(target + 4 * count, load32(at + 1))
            count += 1
            at += 5
        else:
            return -1
    return count


@native
def packed_integers(at, end, target, most):
    """Stores varints that follow each other; returns how many there are."""
    value = cell()
    count = 0
    while at < end:
        if target != 0 and count >= most:
            return -1
        at = varint(at, end, value)
        if at == 0:
            return -1
        if target != 0:
            store64(target + 8 * count, load64(value))
        count += 1
    return count


@native
def integer_values(at, end, target, most):
    """As float_values, of an Int64List."""
    inner = cell()
    count = 0
    while at < end:
        tag = load8(at)
        place = target + 8 * count if target != 0 else 0
        if tag == _ONE_DELIMITED:
            at = span(at + 1, end, inner)
            if at == 0:
                return -1
            added = packed_integers(at, load64(inner), place, most - count)
            if added < 0:
                return -1
            count += added
            at = load64(inner)
        elif tag == _ONE_VARINT:
            at = varint(at + 1, end, inner)
            if at == 0 or (target != 0 and count >= most):
                return -1
            if target != 0:
                store64(place, load64(inner))
            count += 1
        else:
            return -1
    return count


@native
def string_values(at, end, target, most):
    """As float_values, of a BytesList; a value is stored as its address and length."""
    inner = cell()
    count = 0
    while at < end:
        if load8(at) != _ONE_DELIMITED:
            return -1
        at = span(at + 1, end, inner)
        if at == 0:
            return -1
        if target != 0:
            if count >= most:
                return -1
            store64(target + PIECE * count, at)
            store64(target + PIECE * count + 8, load64(inner) - at)
        count += 1
        at = load64(inner)
    return count
