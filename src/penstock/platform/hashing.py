"""Hashes of byte strings, with TensorFlow's numbers: FarmHash's fingerprints, the older Murmur-like hash, and SipHash-2-4."""
from __future__ import annotations

import struct

_MASK = 0xFFFFFFFFFFFFFFFF
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_K128 = 0x9DDFEA08EB382D69


def _rotate(value: int, by: int) -> int:
    value &= _MASK
    return ((value >> by) | (value << (64 - by))) & _MASK


def _word(text: bytes, at: int) -> int:
    return int.from_bytes(text[at:at + 8], "little")


def _half(text: bytes, at: int) -> int:
    return int.from_bytes(text[at:at + 4], "little")


def _shift_mix(value: int) -> int:
    value &= _MASK
    return value ^ (value >> 47)


def _mix(u: int, v: int, multiplier: int) -> int:
    """Two words to one."""
    a = _shift_mix((u ^ v) * multiplier)
    return (_shift_mix((v ^ a) * multiplier) * multiplier) & _MASK


def fingerprint64(text: bytes) -> int:
    """FarmHash's 64-bit fingerprint: the same on every machine, forever.

    >>> fingerprint64(b"hello world") % 1000
    11
    """
    length = len(text)
    if length <= 16:
        return _up_to_16(text, length)
    if length <= 32:
        return _up_to_32(text, length)
    return _up_to_64(text, length) if length <= 64 else _long(text, length)


def _up_to_16(text: bytes, length: int) -> int:
    multiplier = _K2 + length * 2
    if length >= 8:
        a, b = (_word(text, 0) + _K2) & _MASK, _word(text, length - 8)
        return _mix((_rotate(b, 37) * multiplier + a) & _MASK, ((_rotate(a, 25) + b) * multiplier) & _MASK, multiplier)
    if length >= 4:
        return _mix(length + (_half(text, 0) << 3), _half(text, length - 4), multiplier)
    if length:
        y, z = text[0] + (text[length >> 1] << 8), length + (text[-1] << 2)
        return (_shift_mix((y * _K2) ^ (z * _K0)) * _K2) & _MASK
    return _K2


def _up_to_32(text: bytes, length: int) -> int:
    multiplier = _K2 + length * 2
    a, b = _word(text, 0) * _K1, _word(text, 8)
    c, d = _word(text, length - 8) * multiplier, _word(text, length - 16) * _K2
    return _mix((_rotate(a + b, 43) + _rotate(c, 30) + d) & _MASK, (a + _rotate(b + _K2, 18) + c) & _MASK, multiplier)


def _up_to_64(text: bytes, length: int) -> int:
    multiplier = _K2 + length * 2
    a, b = _word(text, 0) * _K2, _word(text, 8)
    c, d = _word(text, length - 8) * multiplier, _word(text, length - 16) * _K2
    y = (_rotate(a + b, 43) + _rotate(c, 30) + d) & _MASK
    z = _mix(y, (a + _rotate(b + _K2, 18) + c) & _MASK, multiplier)
    e, f = _word(text, 16) * multiplier, _word(text, 24)
    g, h = (y + _word(text, length - 32)) * multiplier, (z + _word(text, length - 24)) * multiplier
    return _mix((_rotate(e + f, 43) + _rotate(g, 30) + h) & _MASK, (e + _rotate(f + a, 18) + g) & _MASK, multiplier)


def _weak(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """A quick mix of 32 bytes into two words."""
    w, x, y, z = struct.unpack_from("<4Q", text, at)
    a = (a + w) & _MASK
    b = _rotate(b + a + z, 21)
    total = (a + x + y) & _MASK
    return (total + z) & _MASK, (b + _rotate(total, 44) + a) & _MASK


def _round(text: bytes, at: int, state: tuple[int, ...], multiplier: int, nine: int) -> tuple[int, ...]:
    """Mixes 64 bytes into the state (x, y, z, v, w); ``nine`` is 9 in the last round and 1 before."""
    x, y, z, v0, v1, w0, w1 = state
    x = (_rotate(x + y + v0 + _word(text, at + 8), 37) * multiplier) & _MASK
    y = (_rotate(y + v1 + _word(text, at + 48), 42) * multiplier) & _MASK
    x ^= (w1 * nine) & _MASK
    y = (y + v0 * nine + _word(text, at + 40)) & _MASK
    z = (_rotate(z + w0, 33) * multiplier) & _MASK
    v0, v1 = _weak(text, at, (v1 * multiplier) & _MASK, (x + w0) & _MASK)
    w0, w1 = _weak(text, at + 32, (z + w1) & _MASK, (y + _word(text, at + 16)) & _MASK)
    return z, y, x, v0, v1, w0, w1


def _long(text: bytes, length: int) -> int:
    seed = 81
    y = (seed * _K1 + 113) & _MASK
    z = (_shift_mix(y * _K2 + 113) * _K2) & _MASK
    state: tuple[int, ...] = ((seed * _K2 + _word(text, 0)) & _MASK, y, z, 0, 0, 0, 0)
    for at in range(0, (length - 1) // 64 * 64, 64):
        state = _round(text, at, state, _K1, 1)
    x, y, z, v0, v1, w0, w1 = state
    multiplier = (_K1 + ((z & 0xFF) << 1)) & _MASK
    w0 = (w0 + ((length - 1) & 63)) & _MASK
    v0 = (v0 + w0) & _MASK
    w0 = (w0 + v0) & _MASK
    x, y, z, v0, v1, w0, w1 = _round(text, length - 64, (x, y, z, v0, v1, w0, w1), multiplier, 9)
    return _mix((_mix(v0, w0, multiplier) + _shift_mix(y) * _K0 + z) & _MASK, (_mix(v1, w1, multiplier) + x) & _MASK, multiplier)


def fingerprint128(text: bytes) -> tuple[int, int]:
    """FarmHash's 128-bit fingerprint: its low and its high word."""
    if len(text) >= 16:
        seed, text = (_word(text, 0), (_word(text, 8) + _K0) & _MASK), text[16:]
    else:
        seed = _K0, _K1
    return _murmur128(text, *seed) if len(text) < 128 else _long128(text, *seed)


def _murmur128(text: bytes, a: int, b: int) -> tuple[int, int]:
    length = len(text)
    if length <= 16:
        a = (_shift_mix(a * _K1) * _K1) & _MASK
        c = (b * _K1 + _up_to_16(text, length)) & _MASK
        d = _shift_mix(a + (_word(text, 0) if length >= 8 else c))
    else:
        c = _mix((_word(text, length - 8) + _K1) & _MASK, a, _K128)
        d = _mix((b + length) & _MASK, (c + _word(text, length - 16)) & _MASK, _K128)
        a = (a + d) & _MASK
        for at in range(0, length - 16, 16):
            a = ((a ^ (_shift_mix(_word(text, at) * _K1) * _K1)) * _K1) & _MASK
            b ^= a
            c = ((c ^ (_shift_mix(_word(text, at + 8) * _K1) * _K1)) * _K1) & _MASK
            d ^= c
    a, b = _mix(a, c, _K128), _mix(d, b, _K128)
    return a ^ b, _mix(b, a, _K128)


def _long128(text: bytes, x: int, y: int) -> tuple[int, int]:
    length = len(text)
    z = (length * _K1) & _MASK
    v0 = (_rotate(y ^ _K1, 49) * _K1 + _word(text, 0)) & _MASK
    v1 = (_rotate(v0, 42) * _K1 + _word(text, 8)) & _MASK
    w0 = (_rotate(y + z, 35) * _K1 + x) & _MASK
    w1 = (_rotate(x + _word(text, 88), 53) * _K1) & _MASK
    whole = length // 128 * 128
    for at in range(0, whole, 64):
        x, y, z, v0, v1, w0, w1 = _round(text, at, (x, y, z, v0, v1, w0, w1), _K1, 1)
    x = (x + _rotate(v0 + z, 49) * _K0) & _MASK
    y = (y * _K0 + _rotate(w1, 37)) & _MASK
    z = (z * _K0 + _rotate(w0, 27)) & _MASK
    w0, v0 = (w0 * 9) & _MASK, (v0 * _K0) & _MASK
    for at in range(length - 32, whole - 32, -32):
        y = (_rotate(x + y, 42) * _K0 + v1) & _MASK
        w0 = (w0 + _word(text, at + 16)) & _MASK
        x = (x * _K0 + w0) & _MASK
        z = (z + w1 + _word(text, at)) & _MASK
        w1 = (w1 + v0) & _MASK
        v0, v1 = _weak(text, at, (v0 + z) & _MASK, v1)
        v0 = (v0 * _K0) & _MASK
    x, y = _mix(x, v0, _K128), _mix((y + z) & _MASK, w0, _K128)
    return (_mix((x + v1) & _MASK, w1, _K128) + y) & _MASK, _mix((x + w1) & _MASK, (y + v1) & _MASK, _K128)


def hash64(text: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """The hash behind ``tf.string_to_hash_bucket``."""
    m, length = 0xC6A4A7935BD1E995, len(text)
    h = seed ^ ((length * m) & _MASK)
    whole = length // 8 * 8
    for at in range(0, whole, 8):
        k = (_word(text, at) * m) & _MASK
        k = ((k ^ (k >> 47)) * m) & _MASK
        h = ((h ^ k) * m) & _MASK
    if length > whole:
        h = ((h ^ int.from_bytes(text[whole:], "little")) * m) & _MASK
    h = ((h ^ (h >> 47)) * m) & _MASK
    return h ^ (h >> 47)


def siphash(text: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4 under a 128-bit key: a hash whose collisions cannot be chosen without the key."""
    low, high = key[0] & _MASK, key[1] & _MASK
    state = [low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D, low ^ 0x6C7967656E657261, high ^ 0x7465646279746573]
    whole = len(text) // 8 * 8
    last = int.from_bytes(text[whole:], "little") | ((len(text) & 0xFF) << 56)
    for word in [*(_word(text, at) for at in range(0, whole, 8)), last]:
        state[3] ^= word
        _sip_rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _sip_rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_rounds(state: list[int], count: int) -> None:
    """Rotations go to the left here, by 64 less what ``_rotate`` is given."""
    a, b, c, d = state
    for _ in range(count):
        a = (a + b) & _MASK
        c = (c + d) & _MASK
        b, d = _rotate(b, 51) ^ a, _rotate(d, 48) ^ c
        a = _rotate(a, 32)
        c = (c + b) & _MASK
        a = (a + d) & _MASK
        b, d = _rotate(b, 47) ^ c, _rotate(d, 43) ^ a
        c = _rotate(c, 32)
    state[:] = a, b, c, d
