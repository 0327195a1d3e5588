"""A real browser for tests, and what each of its pages leaves: a screenshot.

The browser is the one that PENSTOCK_BROWSER names, a chromium or chrome that is installed, or the one that `playwright install chromium` has fetched.
Screenshots go to the folder that PENSTOCK_SCREENSHOTS names, else to the test's own.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.process import line_of

SLOW = 300_000  # milliseconds: a page takes its time on a busy machine; what is waited for is a condition, so a quick one waits for nothing
# With Python's own answer to Ctrl-C: where the tests run in the background of a shell, it is ignored.
COMMAND = [sys.executable, "-c", "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
                                 "from penstock.cli.main import main; sys.exit(main(sys.argv[1:]))"]
_NAMED = {"button", "checkbox", "combobox", "dialog", "group", "image", "link", "radio", "region", "searchbox", "slider", "spinbutton",
          "tab", "tabpanel", "textbox"}
_EMPTY = 10_000  # bytes: the screenshot of an empty page is smaller


@contextmanager
def chromium() -> Iterator[object]:
    """A headless browser; skips the test if there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make browser")
    path = os.environ.get("PENSTOCK_BROWSER") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with playwright.sync_playwright() as running:
        try:
            browser = running.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        except playwright.Error as error:
            pytest.skip(f"no browser: {str(error).splitlines()[0]}; install chromium, or name one with PENSTOCK_BROWSER")
        yield browser
        browser.close()


def screenshots(folder: Path | None = None) -> Path:
    """Where screenshots go."""
    folder = Path(os.environ.get("PENSTOCK_SCREENSHOTS") or folder or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def open_page(browser, folder: Path, name: str, width: int = 1400, height: int = 1000, **options) -> Iterator[object]:
    """A page of its own; at the end its screenshot is taken."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    page = context.new_page()
    page.set_default_timeout(SLOW)
    yield page
    picture = screenshots(folder) / f"{name}.png"
    page.screenshot(path=str(picture))
    context.close()
    assert picture.stat().st_size > _EMPTY


def told_to_readers(page) -> list[tuple[str, str]]:
    """(role, name) of all that the browser tells screen readers of a page."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    return [(node["role"]["value"], node.get("name", {}).get("value", "").strip()) for node in tree if not node["ignored"]]


def nameless(page) -> list[str]:
    """The roles of what should have a name for screen readers, and has none."""
    return [role for role, name in told_to_readers(page) if role in _NAMED and not name]


@contextmanager
def served(*arguments, **options):
    """The address of the page that a command serves, in a process of its own, with the compiler as users have it; and the process."""
    environment = {key: value for key, value in os.environ.items() if key != "PENSTOCK_COMPILE"}
    environment.update(options.pop("env", {}))
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True, env=environment, **options) as process:
        try:
            line = line_of(process)
            while line and "http://" not in line:
                line = line_of(process)
            yield line.split()[-1], process
        finally:
            process.terminate()
