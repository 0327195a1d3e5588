"""A TCP link that can be cut, fall silent or become slow: a proxy on loopback between a task and those that call it."""
from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

_PIECE = 1 << 14


class Proxy:
    """Forwards connections to an address; a context manager. All of it happens in one thread.

    ``silent``: bytes are taken and not passed on, as when a cable is pulled. ``rate`` (bytes per second) makes it slow, per direction; ``delay``
    (seconds) far away. ``cut`` closes all connections and refuses new ones until ``heal``.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = host, int(port)
        self._open: set[asyncio.StreamWriter] = set()
        self._refusing = False
        self.silent, self.rate, self.delay, self.address = False, 0.0, 0.0, ""

    def __enter__(self) -> Proxy:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="test-proxy", daemon=True)
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._accepted, "127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def cut(self) -> None:
        """Closes all connections, and refuses new ones."""
        self._refusing = True
        self._do(self._close_all())

    def heal(self) -> None:
        """All is well again. What was swallowed meanwhile is lost, so connections that were silent are closed."""
        if self.silent:
            self.cut()
        self.silent, self._refusing, self.rate = False, False, 0.0

    def __exit__(self, *error: Any) -> None:
        self._server.close()
        self.cut()
        self._do(_all_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10.0)
        self._loop.close()

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10.0)

    async def _close_all(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, far_writer}
        await asyncio.gather(self._forward(reader, far_writer), self._forward(far_reader, writer))
        self._open -= {writer, far_writer}

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):  # cut
            while data := await reader.read(_PIECE):
                if self.rate:
                    await asyncio.sleep(len(data) / self.rate)
                if self.delay:
                    await asyncio.sleep(self.delay)
                if not self.silent:
                    writer.write(data)
                    await writer.drain()
        writer.transport.abort()


async def _all_ended() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=5.0)
