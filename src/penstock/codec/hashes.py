"""FarmHash's Fingerprint64 of strings of up to 64 bytes; see ``platform/hashing.py``, which knows the others too."""
from __future__ import annotations

import numpy as np

from penstock.codec.language import native
from penstock.codec.library import functions
from penstock.codec.object_memory import DATA, SIZE, TYPE, address
from penstock.codec.primitives import load8, load32, load64, remainder, store64

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_LONGEST = 64


@native
def rotate(value, by):
    """Bits to the right, around the end."""
    return (value >> by) | (value << (64 - by))


@native
def shift_mix(value):
    """Mixes the upper bits into the lower ones."""
    return value ^ (value >> 47)


@native
def mix(u, v, multiplier):
    """Two words to one."""
    a = shift_mix((u ^ v) * multiplier)
    return shift_mix((v ^ a) * multiplier) * multiplier


@native
def up_to_16(at, length):
    """The fingerprint of at most 16 bytes."""
    multiplier = _K2 + length * 2
    if length >= 8:
        a = load64(at) + _K2
        b = load64(at + length - 8)
        return mix(rotate(b, 37) * multiplier + a, (rotate(a, 25) + b) * multiplier, multiplier)
    if length >= 4:
        return mix(length + (load32(at) << 3), load32(at + length - 4), multiplier)
    if length > 0:
        y = load8(at) + (load8(at + (length >> 1)) << 8)
        z = length + (load8(at + length - 1) << 2)
        return shift_mix((y * _K2) ^ (z * _K0)) * _K2
    return _K2


@native
def up_to_32(at, length):
    """The fingerprint of 17 to 32 bytes."""
    multiplier = _K2 + length * 2
    a = load64(at) * _K1
    b = load64(at + 8)
    c = load64(at + length - 8) * multiplier
    d = load64(at + length - 16) * _K2
    return mix(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + _K2, 18) + c, multiplier)


@native
def up_to_64(at, length):
    """The fingerprint of 33 to 64 bytes."""
    multiplier = _K2 + length * 2
    a = load64(at) * _K2
    b = load64(at + 8)
    c = load64(at + length - 8) * multiplier
    d = load64(at + length - 16) * _K2
    y = rotate(a + b, 43) + rotate(c, 30) + d
    z = mix(y, a + rotate(b + _K2, 18) + c, multiplier)
    e = load64(at + 16) * multiplier
    f = load64(at + 24)
    g = (y + load64(at + length - 32)) * multiplier
    h = (z + load64(at + length - 24)) * multiplier
    return mix(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, multiplier)


@native
def fingerprints(objects, count, bytes_type, buckets, target):
    """Stores the fingerprint of each string, modulo ``buckets``; 1 if there is something else among them, or a longer one."""
    for index in range(count):
        item = load64(objects + 8 * index)
        if item == 0 or load64(item + TYPE) != bytes_type:
            return 1
        length = load64(item + SIZE)
        if length > _LONGEST:
            return 1
        if length <= 16:
            value = up_to_16(item + DATA, length)
        elif length <= 32:
            value = up_to_32(item + DATA, length)
        else:
            value = up_to_64(item + DATA, length)
        store64(target + 8 * index, remainder(value, buckets))
    return 0


EXPORTS = BRIEF = [fingerprints]
_FEW = 2048  # strings that take some 20 us


def buckets_of(strings: np.ndarray, buckets: int) -> np.ndarray | None:
    """The fingerprint of each string modulo ``buckets``; None where Python has to make them."""
    code = functions("hashes")
    if code is None:
        return None
    strings = np.ascontiguousarray(strings)
    target = np.empty(strings.shape, np.int64)
    hashed = code.fingerprints_briefly if strings.size <= _FEW else code.fingerprints
    wrong = hashed(address(strings), strings.size, id(bytes), buckets, address(target))
    return None if wrong else target
