"""What holds for every test: a default graph of its own, no thread left behind, a marker that says what it needs."""
from __future__ import annotations

import os
import threading
import time
from pathlib import Path

os.environ.setdefault("PENSTOCK_COMPILE", "off")  # tests of the compiler turn it on; ``make test`` runs programs with it

import pytest

HERE = Path(__file__).parent
# The folder says what its tests need; a test may carry a marker of its own instead.
MARKERS = {"graph": "graph", "ops": "process", "golden": "process", "runtime": "process", "distributed": "cluster", "playground": "browser"}
NEEDS = set(MARKERS.values())
POOLED = ("penstock-kernel", "penstock-team", "penstock-compiler")  # threads of a pool that ends them by itself when they are idle


def pytest_collection_modifyitems(items):
    for item in items:
        if NEEDS & {mark.name for mark in item.iter_markers()}:
            continue
        path = Path(item.path)
        folder = path.relative_to(HERE).parts[0] if HERE in path.parents else ""
        item.add_marker(MARKERS.get(folder, "process"))


@pytest.fixture(autouse=True)
def own_default_graph():
    """Each test starts with an empty default graph and leaves nothing on the stacks of defaults."""
    from penstock.graph.graph import reset_default_graph
    from penstock.graph.stacks import sessions
    reset_default_graph()
    yield
    left = list(sessions.items)
    del sessions.items[:]
    assert not left, f"the test left default sessions behind: {left}"


@pytest.fixture(autouse=True)
def no_thread_left():
    """Fails a test that leaves threads running."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 2.0
    while left := _threads() - before:
        if time.monotonic() > deadline:
            pytest.fail(f"threads left running: {sorted(thread.name for thread in left)}")
        time.sleep(0.01)


def _threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.is_alive() and not thread.name.startswith(POOLED)}
