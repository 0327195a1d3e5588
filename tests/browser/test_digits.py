"""The page of `penstock demo --export-web` in a real browser: digits that are drawn with the mouse are read by the exported model."""
from __future__ import annotations

import functools
import math
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

import penstock as tf
from penstock.cli import demo
from penstock.datasets import load_digits
from support.exported import needs_linker

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_linker]


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Says nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    with tf.Graph().as_default():
        demo.train(load_digits(), str(folder / "log"), epochs=12, seed=0, progress=False, web=str(folder / "page"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder / "page")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def draw(page, points):
    """A stroke, in parts of the paper's width and height."""
    box = page.locator("#paper").bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place)
    page.mouse.up()


def circle(x, y, across, down, start=0.0):
    return [(x + across * math.sin(start + step * math.pi / 12), y - down * math.cos(start + step * math.pi / 12)) for step in range(25)]


def test_drawn_digits_are_read(page, address):
    page.goto(address)
    page.wait_for_function("document.body.dataset.ready === 'true'")
    draw(page, circle(0.5, 0.5, 0.22, 0.34))
    assert page.locator("#answer").inner_text() == "0"
    page.keyboard.press("Escape")
    assert page.locator("#answer").inner_text() == ""
    draw(page, [(0.25, 0.15), (0.75, 0.15), (0.6, 0.5), (0.45, 0.85)])
    draw(page, [(0.35, 0.5), (0.78, 0.5)])
    assert page.locator("#answer").inner_text() == "7"
    assert "WebAssembly" in page.locator("#time").inner_text()
    assert all(url.startswith(address) for url in page.asked)
