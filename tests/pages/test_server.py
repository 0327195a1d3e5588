"""Who gets an answer from the server of a page, and who does not."""
from __future__ import annotations

import contextlib
import http.client
import json
import logging
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import penstock
from penstock.cli import playground as command
from penstock.pages.server import MOST_BYTES, MOST_WAITING, SHARED, PageServer

PAGES = sorted([SHARED, *Path(penstock.__path__[0]).glob("*/page")])


class BadMessage(ValueError):
    """What messages raise."""


def echo(body):
    if "bug" in body:
        raise ZeroDivisionError
    if "bad" in body:
        raise BadMessage("that is bad")
    return body


@pytest.fixture
def server():
    server = PageServer("playground", command.PAGE, {"echo": echo, "frame": lambda body: b"\0\1"}, BadMessage)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def ask(server, path=None, method="GET", body=None, host=None, token=None, **headers):
    """Status, headers and content."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    try:
        connection.putrequest(method, f"/{server.token if token is None else token}/{path or ''}", skip_host=True)
        fields = {"Host": host or f"127.0.0.1:{server.server_port}", "Content-Type": "application/json"}
        fields.update((name.replace("_", "-"), value) for name, value in headers.items())
        if body is not None:
            fields.setdefault("Content-Length", str(len(body)))
        for name, value in fields.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_the_page_and_its_files(server):
    status, headers, content = ask(server)
    assert status == 200 and headers["Content-Type"].startswith("text/html") and b"<!doctype html>" in content
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert b"<title>Penstock playground</title>" in content and (command.PAGE / "body.html").read_bytes() in content
    for path in (*SHARED.iterdir(), *command.PAGE.iterdir()):
        status, _, content = ask(server, path.name)
        assert status == 404 if path.suffix == ".html" else status == 200 and content == path.read_bytes()
    assert ask(server, "main.js?v=1")[0] == 200


@pytest.mark.parametrize("folder", PAGES, ids=lambda folder: folder.parent.name)
def test_nothing_comes_from_elsewhere(folder):
    assert folder is SHARED or not {path.name for path in folder.iterdir()} & {path.name for path in SHARED.iterdir()}
    for path in folder.iterdir():
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "//cdn" not in text, path.name


def test_messages(server):
    assert ask(server, "echo", "POST", b'{"a": 1}')[::2] == (200, b'{"a": 1}')
    assert ask(server, "frame", "POST", b"{}")[::2] == (200, b"\0\1")
    assert ask(server, "echo", "POST", b"{}", host=f"localhost:{server.server_port}", Origin=f"http://localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize("status, request_", [
    (403, {"token": "x" * 32}), (403, {"token": ""}), (403, {"token": "..", "path": "server.py"}),
    (403, {"host": "evil.example"}), (403, {"host": "127.0.0.1"}), (403, {"Origin": "http://evil.example"}), (403, {"Origin": "null"}),
    (404, {"path": "../server.py"}), (404, {"path": "%2e%2e/server.py"}), (404, {"path": "/etc/passwd"}), (404, {"path": "nothing.js"}),
    (404, {"path": "nothing", "method": "POST", "body": b"{}"}), (404, {"path": "echo"}),
    (415, {"path": "echo", "method": "POST", "body": b"{}", "Content_Type": "text/plain"}),
    (411, {"path": "echo", "method": "POST"}), (411, {"path": "echo", "method": "POST", "Content_Length": "-1"}),
    (413, {"path": "echo", "method": "POST", "Content_Length": str(MOST_BYTES + 1)}),
    (413, {"path": "echo", "method": "POST", "Content_Length": "9" * 40}), (413, {"path": "echo", "method": "POST", "Content_Length": "9" * 5000}),
    (400, {"path": "echo", "method": "POST", "body": b"{"}), (400, {"path": "echo", "method": "POST", "body": b"[]"}),
    (400, {"path": "echo", "method": "POST", "body": b"[" * 60_000}), (400, {"path": "echo", "method": "POST", "body": b"\xff"}),
    (400, {"path": "echo", "method": "POST", "body": b'{"bad": 1}'}), (501, {"method": "PUT"})], ids=str)
def test_refusals(server, caplog, status, request_):
    with caplog.at_level(logging.WARNING, "penstock"):
        got, _, content = ask(server, **request_)
    assert got == status
    if status != 501:  # the standard library's own answer
        assert "error" in json.loads(content)
        assert "refused" in caplog.text and server.token not in json.loads(content)["error"]
    assert ask(server)[0] == 200  # it goes on


def test_an_address_without_its_last_stroke_leads_to_the_page(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request("GET", f"/{server.token}")
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Location"], answer.read()) == (308, f"/{server.token}/", b"")
    connection.close()


def test_another_method_is_refused(server, caplog):
    with caplog.at_level(logging.WARNING, "penstock"):
        status, headers, content = ask(server, method="PUT")
    assert status == 501 and "PUT" in json.loads(content)["error"] and "default-src 'none'" in headers["Content-Security-Policy"]
    assert "refused" in caplog.text


@pytest.mark.parametrize("sent", [b"GARBAGE\r\n\r\n", b"GET /x HTTP/9.9\r\n\r\n", b"GET /" + b"x" * 70_000,
                                  b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n"],
                         ids=["garbage", "version", "long", "headers"])
def test_what_is_no_http_is_refused(server, caplog, sent):
    with caplog.at_level(logging.WARNING, "penstock"), socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
        connection.sendall(sent)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b'{"error": ' in answer and "refused" in caplog.text
    assert ask(server)[0] == 200


def test_a_bug_is_told_and_logged(server, caplog):
    with caplog.at_level(logging.WARNING, "penstock"):
        status, _, content = ask(server, "echo", "POST", b'{"bug": 1}')
    assert status == 500 and "ZeroDivisionError" in json.loads(content)["error"] and "Traceback" in caplog.text


def test_a_connection_that_breaks_off_is_no_trouble(server, capsys):
    broken = ("POST /{}/echo HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{{"
              .format(server.token, server.server_port))
    for content in (b"", b"GET /", "GET /é/ HTTP/1.1\r\n\r\n".encode(), b"\x16\x03\x01\x02\x00", broken.encode()):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
            connection.sendall(content)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset instead of an orderly end
    assert ask(server)[0] == 200
    assert "Traceback" not in capsys.readouterr().err


def _ask_again(page, server):
    """What a browser does: a connection that was closed while it waited is made anew."""
    for patience in (True, False):
        try:
            page.request("GET", f"/{server.token}/")
            return page.getresponse().read()
        except (http.client.RemoteDisconnected, ConnectionError):
            page.close()
            if not patience:
                raise
    return b""


def test_idle_and_slow_connections_keep_no_one_out(server, caplog):
    before, held = threading.active_count(), []
    try:
        with caplog.at_level(logging.WARNING, "penstock"):
            page = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
            for number in range(4 * MOST_WAITING):
                held.append(socket.create_connection(("127.0.0.1", server.server_port), timeout=20))
                held[-1].sendall(b"GET / HT" if number % 2 else b"")
                if number % MOST_WAITING == 0:  # a browser asks on the connection that it has, or on a new one
                    assert _ask_again(page, server)
        assert ask(server)[0] == 200 and "waited longest" in caplog.text
        for connection in held[:MOST_WAITING]:
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""  # it was closed
        assert threading.active_count() <= before + MOST_WAITING + 8
    finally:
        page.close()
        for connection in held:
            connection.close()


def test_it_listens_on_loopback_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32


def test_each_server_has_another_token(server):
    other = PageServer("other", command.PAGE, {}, BadMessage)
    other.server_close()
    assert other.token != server.token


PROGRAM = """
import argparse, signal
from penstock.cli.playground import PAGE
from penstock.pages.server import PageServer
from penstock.pages.serving import serve
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    serve(PageServer("other", PAGE, {}, ValueError), argparse.Namespace(no_open=True))
finally:
    print("all is cleared away")
"""


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 128 + signal.SIGHUP)])
def test_how_a_server_ends(number, code):
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert "http://127.0.0.1" in process.stdout.readline()
        process.send_signal(number)
        told, complaints = process.communicate(timeout=120)
    assert process.returncode == code and told.endswith("all is cleared away\n") and not complaints
