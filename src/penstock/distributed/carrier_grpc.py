"""Frames over a gRPC stream: between hosts, or wherever there is no Unix socket. See ``grpc_common.py``."""
from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

from penstock.distributed.link import Link, Serve
from penstock.distributed.messages import MalformedMessage
from penstock.distributed.security import Seal
from penstock.distributed.wire import OFFER, Splitter, header

PIECE = 1 << 20  # bytes of a frame that travel in one piece


class StreamCarrier:
    """One end of a stream: ``outgoing`` yields the pieces to send, ``received`` takes those that come."""

    def __init__(self, sends: Seal, receives: Seal, serve: Serve | None = None) -> None:
        self._sends, self._receives = sends, receives
        self._queue: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
        self._splitter = Splitter()
        self.link = Link(self, serve)

    def send(self, kind: int, conversation: int, buffers: list[Any]) -> None:
        """Sends a frame."""
        self._queue.put([header(kind, conversation, sum(map(len, buffers))), *buffers])

    def close(self) -> None:
        """Nothing more is sent."""
        self._queue.put(None)

    def outgoing(self) -> Iterator[bytes]:
        """What is sent, in sealed pieces, until ``close``."""
        while True:
            buffers = self._queue.get()
            if buffers is None:
                return
            for piece in pieces(buffers):
                yield self._sends.close(piece)

    def offer(self, piece: bytes) -> bytes:
        """What the server offers in its first frame."""
        frames = list(self._splitter.feed(self._receives.open(piece)))
        if [frame[0] for frame in frames] != [OFFER]:
            raise MalformedMessage("the server begins with something else than its offer")
        return bytes(frames[0][3])

    def received(self, piece: bytes) -> None:
        """A piece has come; MalformedMessage if it makes no sense."""
        for kind, _, number, payload in self._splitter.feed(self._receives.open(piece)):
            self.link.received(kind, number, payload)


def pieces(buffers: list[Any]) -> Iterator[bytes]:
    """Buffers as pieces of at most PIECE bytes; small neighbours travel together."""
    held: list[Any] = []
    size = 0
    for buffer in buffers:
        view = memoryview(buffer)
        while size + len(view) > PIECE:
            yield b"".join([*held, view[:PIECE - size]])
            view = view[PIECE - size:]
            held, size = [], 0
        held.append(view)
        size += len(view)
    if held:
        yield b"".join(held)
