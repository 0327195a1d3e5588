"""Philox4x32-10, the counter-based random generator, keyed as TensorFlow keys it.

A generator is a pure function from a 128-bit counter and a 64-bit key to a block of four 32-bit words, so any part of a
stream can be computed without the parts before it. Every random op owns a `Philox`; each run of the op *reserves* a
stretch of the stream (usually far more than it uses) and works on that stretch alone. What a run returns therefore
depends on the seeds and on the sizes of the runs before it, never on threads or on the order of work.

Reference: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import secrets
import threading

import numpy as np

# Blocks computed at once: a round touches three uint64 arrays of twice this length; they fit the second-level cache.
CHUNK = 8192
_FEW = 4  # blocks that are computed one by one

_LOW64 = 0xFFFFFFFFFFFFFFFF
_WORD = np.uint64(32)
_MASK = np.uint64(0xFFFFFFFF)
_MULTIPLIERS = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
_KEY_STEPS = np.array([[0x9E3779B9], [0xBB67AE85]], np.uint64)
_ROUNDS = np.arange(10, dtype=np.uint64)[:, None, None]

# The key under which TensorFlow's stateless ops mix the two seeds of the user into a key and a counter.
_STATELESS_KEY = (0x02461E29 << 32) | 0x3EC8F720


def philox4x32(low: np.ndarray, high: np.ndarray, key: int) -> np.ndarray:
    """The blocks at the counters `high * 2**64 + low` (two uint64 vectors), as uint32 of shape [n, 4].

    A round multiplies words 0 and 2 and xors words 1 and 3, so these two pairs are the two arrays here, with the words
    in uint64 lanes. The even words must be clean. The odd ones keep whole products: only their lower halves count, and
    the mask after the xor removes the rest.
    """
    if 0 < low.size <= _FEW:
        return np.array([_block(*counter, key) for counter in zip(low.tolist(), high.tolist())], np.uint32)
    counters = np.stack([low, high])
    even, odd = counters & _MASK, counters >> _WORD
    product = counters
    key_words = np.array([[key & 0xFFFFFFFF], [key >> 32]], np.uint64)
    for round_key in (key_words + _ROUNDS * _KEY_STEPS) & _MASK:
        np.multiply(even, _MULTIPLIERS, out=product)
        crossed = product[::-1]
        np.right_shift(crossed, _WORD, out=even)
        even ^= odd
        even ^= round_key
        even &= _MASK
        odd, product = crossed, odd
    words = np.empty((low.size, 4), np.uint32)
    words[:, 0::2], words[:, 1::2] = even.T, odd.T
    return words


def _block(low: int, high: int, key: int) -> tuple[int, int, int, int]:
    """One block by Python's integers: NumPy's calls take ten times as long for it."""
    word = 0xFFFFFFFF
    a, b, c, d = low & word, low >> 32, high & word, high >> 32
    first, second = key & word, key >> 32
    for _ in range(10):
        p, q = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (q >> 32) ^ b ^ first, q & word, (p >> 32) ^ d ^ second, p & word
        first, second = first + 0x9E3779B9 & word, second + 0xBB67AE85 & word
    return a, b, c, d


class Philox:
    """A position in the stream of one key.

    `seed` is the key; `seed2` is the upper half of the counter, whose lower half starts at 0. Both are 64-bit
    attributes of an op, signed or not. An op with both seeds 0 wants fresh randomness: `for_op` decides that.
    """

    def __init__(self, seed: int, seed2: int):
        self._words = np.array([seed & _LOW64, 0, seed2 & _LOW64], np.uint64)  # key, lower and upper half of the counter
        self.lock = threading.RLock()

    @classmethod
    def from_entropy(cls) -> Philox:
        """A generator that cannot be predicted or repeated."""
        return cls(secrets.randbits(64), secrets.randbits(64))

    @classmethod
    def for_op(cls, seed: int, seed2: int) -> Philox:
        """The generator of a stateful op with these seed attributes; two zeros mean unseeded."""
        return cls(seed, seed2) if seed or seed2 else cls.from_entropy()

    @classmethod
    def stateless(cls, seed: int, seed2: int) -> Philox:
        """The generator of a stateless op for the two elements of its `seed` input.

        The seeds are scrambled first, so that (0, 1) and (1, 0) are as unrelated as any other two pairs.
        """
        low, high = (np.array([value & _LOW64], np.uint64) for value in (seed, seed2))
        mixed = philox4x32(low, high, _STATELESS_KEY)[0].astype(np.uint64)
        key, counter = mixed[0::2] | (mixed[1::2] << _WORD)
        return cls(int(key), int(counter))

    @property
    def state(self) -> tuple[int, int]:
        """(key, 128-bit counter): everything that decides the words to come."""
        key, low, high = self._words.tolist()
        return key, low | high << 64

    def read(self) -> np.ndarray:
        """The state as three 64-bit words: key, lower and upper half of the counter. It changes when the generator moves."""
        return self._words

    mutable = borrow = read  # what native code moves ahead; it holds ``lock`` meanwhile

    def give_back(self) -> None:
        """Ends one ``borrow``. They are not counted: the state is moved ahead in place, also for other borrowers."""

    def reserve(self, count: int) -> Philox:
        """A generator at the current position; this one moves `count` blocks ahead. Safe between threads."""
        local = Philox(0, 0)
        with self.lock:
            local._words[:] = self._words
            self.skip(count)
        return local

    def skip(self, count: int) -> None:
        """Moves `count` blocks ahead."""
        with self.lock:
            counter = self.state[1] + count
            self._words[1:] = counter & _LOW64, counter >> 64 & _LOW64

    def at(self, offsets: np.ndarray) -> np.ndarray:
        """The blocks at the given distances (a uint64 vector) from the current position, as uint32 of shape [n, 4].

        Does not move. Meant for up to about `CHUNK` offsets a call: longer vectors work, but fall out of the cache.
        """
        low = offsets + self._words[1]
        # low < offsets exactly where the sum wrapped around, which carries one into the upper half.
        high = self._words[2] + (low < offsets)
        return philox4x32(low, high, int(self._words[0]))

    def blocks(self, count: int, start: int = 0) -> np.ndarray:
        """`count` consecutive blocks from `start` blocks past the current position, as uint32 of shape [count, 4]."""
        return self.at(np.arange(start, start + count, dtype=np.uint64))
