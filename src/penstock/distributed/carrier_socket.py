"""Frames over a Unix socket, between two processes of one host; large messages go through shared memory.

Threads. One thread (``poller.py``) reads and hands each frame to the link, in which it may run short work to its end.
Any thread may send: the first to come writes, for the others too; the reader never waits for a socket to take bytes (the
other side's reader might be doing the same), a thread of the pool does.
"""
from __future__ import annotations

import logging
import os
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.distributed.link import Link
from penstock.distributed.messages import MalformedMessage
from penstock.distributed.poller import POLLER, collects
from penstock.distributed.shared_segments import SHARED_MIN, Read, Segment, Written, fill
from penstock.distributed.wire import DROP, FREE, SEGMENT, SHARED, SHARED_AT, Splitter, header
from penstock.errors import OpError, UnavailableError
from penstock.execute.threads import POOL

_log = logging.getLogger("tensorflow.server")
_MAX_BUFFERS = 512  # that one system call takes
_ANCILLARY = socket.CMSG_SPACE(4 * 16)  # bytes: room for so many descriptors
_BUFFER = 1 << 20  # bytes that the kernel may hold
_FREE_AT = struct.Struct("<I")


class SocketCarrier:
    """One end of a connection; ``link`` is set before ``start``."""

    link: Link

    def __init__(self, connection: socket.socket, closed: Callable[[], None] = lambda: None) -> None:
        self._socket, self._closed = connection, closed
        connection.setblocking(True)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            connection.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
        self._lock = threading.Lock()
        self._queue: deque[tuple[list[Any], int]] = deque()  # (buffers, a descriptor to hand over or -1)
        self._writing = False
        self._broken = False
        self._reason: OpError | None = None  # for which it has ended
        self._splitter = Splitter()
        self._written, self._read = Written(), Read()
        self._descriptors: deque[int] = deque()

    def start(self) -> None:
        """Begins to read."""
        POLLER.add(self._socket.fileno(), self)

    # --- writing -----------------------------------------------------------------------------------------------------

    def send(self, kind: int, conversation: int, buffers: list[Any]) -> None:
        """Sends a frame."""
        size = sum(map(len, buffers))
        if size >= SHARED_MIN and self._send_shared(kind, conversation, buffers, size):
            return
        self._enqueue([header(kind, conversation, size), *buffers])

    def _send_shared(self, kind: int, conversation: int, buffers: list[Any], size: int) -> bool:
        with self._lock:
            segment = None if self._broken else self._written.take(size)
        if segment is None:
            return False
        fill(segment.array, buffers)
        if not segment.told:
            self._hand_over(segment)
        self._enqueue([header(kind, conversation, SHARED_AT.size, SHARED), SHARED_AT.pack(segment.number, size)])
        return True

    def _hand_over(self, segment: Segment) -> None:
        segment.told = True
        self._enqueue([header(SEGMENT, segment.number, 0)], segment.descriptor)
        segment.descriptor = -1  # closed when it has been sent

    def _enqueue(self, buffers: list[Any], descriptor: int = -1) -> None:
        with self._lock:
            if self._broken:
                if descriptor >= 0:
                    os.close(descriptor)
                return
            self._queue.append((buffers, descriptor))
            if self._writing or collects(self):
                return
            self._writing = True
        self._write(True)

    def flush(self, may_wait: bool) -> None:
        """Sends what has been collected."""
        with self._lock:
            if self._writing or not (self._queue or self._read.freed):
                return
            self._writing = True
        self._write(may_wait)

    def _write(self, may_wait: bool) -> None:
        """Writes until nothing is left to be; ``_writing`` is this thread's."""
        buffers: list[Any] = []
        descriptor = -1
        try:
            while True:
                with self._lock:
                    if not buffers:
                        buffers, descriptor = self._next_batch()
                    if not buffers:
                        self._writing = False
                        return
                buffers, descriptor = self._write_some(buffers, descriptor, may_wait)
        except BlockingIOError:
            POOL.submit(lambda: self._go_on(buffers, descriptor))
        except OSError:
            with self._lock:
                self._broken = True
            if descriptor >= 0:
                os.close(descriptor)
            self.close()

    def _go_on(self, buffers: list[Any], descriptor: int) -> None:
        with self._lock:
            self._queue.appendleft((buffers, descriptor))
        self._write(True)

    def _next_batch(self) -> tuple[list[Any], int]:
        """With the lock held: buffers for one system call. A descriptor goes with the frame that tells of it."""
        buffers: list[Any] = []
        freed = self._read.freed
        while freed:
            buffers.append(header(FREE, freed.popleft(), 0))
        while self._queue and len(buffers) < _MAX_BUFFERS:
            if self._queue[0][1] >= 0 and buffers:
                break
            more, descriptor = self._queue.popleft()
            buffers.extend(more)
            if descriptor >= 0:
                return buffers, descriptor
        return buffers, -1

    def _write_some(self, buffers: list[Any], descriptor: int, may_wait: bool) -> tuple[list[Any], int]:
        """What is left of the buffers after one system call."""
        flags = 0 if may_wait else socket.MSG_DONTWAIT
        if descriptor >= 0:
            sent = socket.send_fds(self._socket, buffers, [descriptor], flags)
            os.close(descriptor)
        else:
            sent = self._socket.sendmsg(buffers[:_MAX_BUFFERS], (), flags)
        while buffers and sent >= len(buffers[0]):
            sent -= len(buffers.pop(0))
        if sent:
            buffers[0] = memoryview(buffers[0])[sent:]
        return buffers, -1

    # --- reading -----------------------------------------------------------------------------------------------------

    def readable(self) -> bool:
        """Takes what has come; False at the end of the connection."""
        try:
            self._take()
            return True
        except OSError as broken:
            error = UnavailableError(None, None, f"connection lost: {broken}")
        except MalformedMessage as malformed:
            _log.warning("a connection is given up: %s", malformed)
            error = UnavailableError(None, None, f"connection given up: {malformed}")
        except Exception as bug:
            _log.exception("a connection is given up")
            error = UnavailableError(None, None, f"connection given up: {bug!r}")
        self._reason = self._reason or error
        return False

    def _take(self) -> None:
        try:
            count, ancillary, _, _ = self._socket.recvmsg_into([self._splitter.room()], _ANCILLARY, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._descriptors.extend(struct.unpack(f"<{len(data) // 4}i", data[:len(data) // 4 * 4]))
        if not count:
            raise ConnectionError("the other side has closed it")
        for frame in self._splitter.filled(count):
            self._dispatch(*frame)
            del frame  # a view of shared memory is given back as soon as it is not needed

    def _dispatch(self, kind: int, flags: int, number: int, payload: Any) -> None:
        if kind == FREE:
            self._freed(number)
        elif kind == SEGMENT:
            if not self._descriptors:
                raise MalformedMessage("a segment came without its descriptor")
            self._read.add(number, self._descriptors.popleft())
        elif kind == DROP:
            self._read.drop(number)
        elif flags & SHARED:
            if len(payload) != SHARED_AT.size:
                raise MalformedMessage("no place in shared memory")
            self.link.received(kind, number, self._read.view(*SHARED_AT.unpack(payload)))
        else:
            self.link.received(kind, number, payload)

    def _freed(self, number: int) -> None:
        with self._lock:
            given_up = self._written.freed(number)
        if given_up is not None:
            self._enqueue([header(DROP, number, 0)])

    # --- the end -----------------------------------------------------------------------------------------------------

    def drain(self, seconds: float) -> None:
        """Waits until all that was asked is answered and on its way, but no longer than this."""
        until = time.monotonic() + seconds
        self.link.drain(seconds)
        while (self._queue or self._writing) and time.monotonic() < until:
            time.sleep(0.001)

    def close(self, reason: OpError | None = None) -> None:
        """Ends the connection: the reader takes what has come already, then tells the link, for this reason."""
        self._reason = self._reason or reason
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it has ended already

    def ended(self) -> None:
        """Nothing more will be read: lets go of everything, and tells the link."""
        assert self._reason is not None
        with self._lock:
            self._broken = True
            queue, self._queue = self._queue, deque()
            self._written.close()
        for descriptor in [*self._descriptors, *(descriptor for _, descriptor in queue if descriptor >= 0)]:
            os.close(descriptor)
        self._descriptors.clear()
        self.link.lost(self._reason)
        self._closed()
        self._socket.close()
