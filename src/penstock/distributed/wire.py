"""The bytes between two tasks: frames, each one turn of a conversation.

    frame = kind (u8), flags (u8), 0 (u16), conversation (u32), size (u64), then so many bytes

A conversation is opened by one side with a request. Either side may then send further messages, until the other one
gives its final answer (DONE) or the opener gives up (CANCEL). A frame with the flag SHARED has no message in it: it names a
piece of shared memory in which the message is (``shared_segments.py``). ``Splitter`` cuts a stream of bytes into frames; it
believes no size that it cannot have.
"""
from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.distributed.messages import MalformedMessage

HEADER = struct.Struct("<BBHIQ")
OPEN, MORE, PART, DONE, CANCEL, SEGMENT, FREE, DROP, OFFER = range(1, 10)
SHARED = 1  # the flag
MAX_FRAME = 1 << 38  # bytes
SHARED_AT = struct.Struct("<IQ")  # segment, size of the message
_SCRATCH = 1 << 18

Frame = tuple[int, int, int, Any]  # kind, flags, conversation, payload


def header(kind: int, conversation: int, size: int, flags: int = 0) -> bytes:
    """What stands before the payload of a frame."""
    return HEADER.pack(kind, flags, 0, conversation, size)


class Splitter:
    """A stream of bytes as frames: fill ``room()``, then take what ``filled`` yields.

    >>> splitter, data = Splitter(), header(OPEN, 7, 2) + b"hi"
    >>> splitter.room()[:len(data)] = data
    >>> [(kind, number, bytes(payload)) for kind, _, number, payload in splitter.filled(len(data))]
    [(1, 7, b'hi')]
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._scratch = memoryview(bytearray(_SCRATCH))
        self._held = 0  # bytes in the scratch that are not cut yet
        self._limit = limit
        self._large: tuple[int, int, int, memoryview] | None = None  # a frame that did not fit into the scratch, and how much of it is there
        self._have = 0

    def room(self) -> memoryview:
        """Where the next bytes go."""
        if self._large is not None:
            return self._large[3][self._have:]
        return self._scratch[self._held:]

    def filled(self, count: int) -> Iterator[Frame]:
        """The frames that are complete now that ``count`` bytes were put into ``room()``."""
        if self._large is not None:
            self._have += count
            if self._have < len(self._large[3]):
                return
            kind, flags, number, payload = self._large
            self._large = None
            yield kind, flags, number, payload
            return
        self._held += count
        position = 0
        while self._held - position >= HEADER.size:
            kind, flags, _, number, size = HEADER.unpack_from(self._scratch, position)
            self._check(kind, size)
            start = position + HEADER.size
            if size > _SCRATCH - HEADER.size:
                self._begin_large(kind, flags, number, size, start)
                return
            if start + size > self._held:
                break
            position = start + size
            yield kind, flags, number, bytes(self._scratch[start:position])
        rest = self._held - position
        if position and rest:
            self._scratch[:rest] = bytes(self._scratch[position:self._held])
        self._held = rest

    def _check(self, kind: int, size: int) -> None:
        if not OPEN <= kind <= OFFER:
            raise MalformedMessage(f"there is no frame of kind {kind}: not this protocol, or another version of it")
        if size > self._limit:
            raise MalformedMessage(f"a frame of {size} bytes is declared; {self._limit} are the limit")

    def _begin_large(self, kind: int, flags: int, number: int, size: int, start: int) -> None:
        """Pages of the buffer are only touched as data arrives, so a declared size alone costs nothing."""
        try:
            payload = memoryview(np.empty(size, np.uint8))  # type: ignore[arg-type]
        except MemoryError:
            raise MalformedMessage(f"a frame of {size} bytes is declared: more than there is memory") from None
        have = self._held - start
        payload[:have] = self._scratch[start:self._held]
        self._large, self._have, self._held = (kind, flags, number, payload), have, 0

    def feed(self, data: Any) -> Iterator[Frame]:
        """The frames that are complete with these bytes."""
        view = memoryview(data)
        while len(view):
            room = self.room()
            count = min(len(room), len(view))
            room[:count] = view[:count]
            yield from self.filled(count)
            view = view[count:]
