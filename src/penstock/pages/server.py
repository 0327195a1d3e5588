"""The server of a page: on loopback alone, for those who have the token in its address.

A request is refused, and the refusal logged, if its ``Host`` or ``Origin`` is another than the server's own (a page of another site, or a name that
was made to point here), if its path does not begin with the token, names no file of the page and no message, or if its body is too large or no JSON.
Files are read once, when the server starts: no path of a request ever reaches the disk. Of connections that wait for their next request only so many
are kept: the one that has waited longest is closed, so that idle or slow ones, which need no token, keep no page from being served. It is built on
the standard library's server: a handful of routes need no framework, and what is refused is decided here in one place.
"""
from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from typing import Any

from penstock.errors import OpError
from penstock.platform.logging import runtime_logger

Answer = dict[str, Any] | bytes  # JSON, or a frame
Message = Callable[[dict[str, Any]], Answer]

HOST = "127.0.0.1"
SHARED = Path(__file__).with_name("shared")  # what all pages are made of: the style, elements, drawings
MOST_BYTES = 64 * 1024  # of a message
MOST_WAITING = 32  # connections without a request that has been read; a browser has up to six
_TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_HEADERS = {"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
                                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"}


class Refused(Exception):
    """A request that gets no answer but its status, and why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Moved(Exception):
    """A request for the page whose address lacks its last stroke: relative addresses in the page would lead elsewhere."""


class PageServer(ThreadingHTTPServer):
    """Serves a page under an address with a token, and answers messages: ``messages[name](body)``.

    The files of a page are those of its folder, and those that all pages share; what it shows is its ``body.html``, in the frame that they have in
    common. A message that raises ``bad_input`` or an error of the runtime is answered with that error's text. ``name`` is what the log and the title
    call the page, ``command`` what the page says that it is started with.
    """

    daemon_threads = True
    block_on_close = False  # connections of a browser stay open until it closes them

    def __init__(self, name: str, folder: Path, messages: Mapping[str, Message], bad_input: type[Exception], port: int = 0,
                 command: str = "penstock") -> None:
        self.files = {path.name: path.read_bytes() for each in (SHARED, folder) for path in each.iterdir() if path.suffix in _TYPES}
        frame, body = (self.files.pop(part).decode() for part in ("frame.html", "body.html"))
        self.files["index.html"] = Template(frame).substitute(name=name, command=command, body=body).encode()
        self.name, self.messages, self.bad_input, self.token = name, messages, bad_input, secrets.token_urlsafe(24)
        self.answered = False  # has a page asked for anything yet?
        self._waiting: dict[socket.socket, None] = {}  # connections, the one that has waited longest first
        self._lock = threading.Lock()
        super().__init__((HOST, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """A new connection."""
        self.waits(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """A connection ends."""
        self.works(request)
        super().shutdown_request(request)

    def waits(self, connection: socket.socket) -> None:
        """A connection waits for a request."""
        with self._lock:
            self._waiting[connection] = None
            oldest = next(iter(self._waiting)) if len(self._waiting) > MOST_WAITING else None
            if oldest is not None:
                del self._waiting[oldest]
        if oldest is not None:
            runtime_logger().warning("%s: closed a connection that has waited longest, for there are more than %d", self.name, MOST_WAITING)
            with contextlib.suppress(OSError):  # it may have ended meanwhile
                oldest.shutdown(socket.SHUT_RDWR)

    def works(self, connection: socket.socket) -> None:
        """A connection waits no more."""
        with self._lock:
            self._waiting.pop(connection, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off is nothing to tell; anything else is a bug."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            runtime_logger().exception("%s: a request failed", self.name)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> set[str]:
        """How a request may name this server."""
        return {f"{name}:{self.server_port}" for name in (HOST, "localhost")}


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "penstock", ""
    disable_nagle_algorithm = True  # else a frame waits 40 ms for the acknowledgement of its own headers
    timeout = 120  # seconds that a connection may be silent

    def do_GET(self) -> None:
        self._answer(self._file)

    def do_POST(self) -> None:
        self._answer(self._message)

    def _answer(self, find: Callable[[str], tuple[str, bytes]]) -> None:
        try:
            name = self._checked_name()
            self.server.works(self.connection)
            kind, content = find(name)
        except Refused as refusal:
            self.close_connection = True  # its body, if there is one, has not been read
            self._refuse(refusal)
        except Moved:
            self.close_connection = True
            self._send(308, "text/plain", b"", {"Location": f"/{self.server.token}/"})
        else:
            self.server.answered = True
            self._send(200, kind, content)
            self.server.waits(self.connection)

    def _checked_name(self) -> str:
        """What is asked for, behind the token."""
        if self.headers.get("Host") not in self.server.hosts:
            raise Refused(403, "this is not the host that serves the page")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.hosts:
            raise Refused(403, "a page of another origin may not ask")
        token, stroke, name = self.path.removeprefix("/").partition("?")[0].partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(403, "the token in the address is wrong: open the address that the command printed")
        if not stroke:
            raise Moved
        return name

    def _file(self, name: str) -> tuple[str, bytes]:
        name = name or "index.html"
        if name not in self.server.files:
            raise Refused(404, "there is no such page")
        return _TYPES[Path(name).suffix], self.server.files[name]

    def _message(self, name: str) -> tuple[str, bytes]:
        message = self.server.messages.get(name)
        if message is None:
            raise Refused(404, "there is no such message")
        try:
            answer = message(self._body())
        except self.server.bad_input as error:
            raise Refused(400, str(error)) from error
        except OpError as error:
            raise Refused(500, error.message) from error
        except Refused:
            raise
        except Exception as error:  # a bug: the page says that there is one, and goes on
            runtime_logger().exception("%s: %s failed", self.server.name, name)
            raise Refused(500, f"{name} failed: {type(error).__name__}; the log of the server tells more") from error
        if isinstance(answer, bytes):
            return "application/octet-stream", answer
        return "application/json", json.dumps(answer).encode()

    def _body(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise Refused(415, "a message is JSON")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise Refused(411, "a message tells its length")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise Refused(413, f"a message has at most {MOST_BYTES} bytes")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused(400, "the message is not JSON") from None
        if not isinstance(body, dict):
            raise Refused(400, "a message is an object")
        return body

    def _send(self, status: int, kind: str, content: bytes, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(content)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Requests that are not understood here: another method, a broken request line, headers without an end."""
        self.close_connection = True
        self._refuse(Refused(code, message or self.responses[code][0]))

    def _refuse(self, refusal: Refused) -> None:
        runtime_logger().warning("%s: refused %r from %s: %s", self.server.name, self.requestline[:200], self.client_address[0], refusal)
        self._send(refusal.status, "application/json", json.dumps({"error": str(refusal)}).encode())

    def log_message(self, format: str, *values: Any) -> None:
        """Refusals are logged; that a page asks for frames is nothing to tell."""
