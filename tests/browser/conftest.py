"""A browser, and a page of it for each test; a page of ours is listened to: no error, no request that leaves the server."""
from __future__ import annotations

import pytest

from support.browser import chromium, open_page


@pytest.fixture(autouse=True)
def no_thread_left():
    """Playwright's threads stay from one test to the next."""


@pytest.fixture(scope="session")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def plain_page(browser, tmp_path, request):
    """A page that may say what it likes."""
    with open_page(browser, tmp_path, request.node.name) as page:
        yield page


@pytest.fixture
def page(browser, tmp_path, request):
    """A page of ours. Playwright evaluates strings in the page, which the page itself may not: a test of that goes without this."""
    name = f"{request.module.__name__.rpartition('test_')[2]}_{request.node.name}"
    with open_page(browser, tmp_path, name, bypass_csp=True, **getattr(request, "param", {})) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.asked = []
        page.on("request", lambda each: page.asked.append(each.url))
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        yield page
        assert not errors
