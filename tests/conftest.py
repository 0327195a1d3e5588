"""What holds for every test: a default graph of its own, no thread left behind, a marker that says what it needs."""
from __future__ import annotations

import faulthandler
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

os.environ.setdefault("PENSTOCK_COMPILE", "off")  # tests of the compiler turn it on; ``make test`` runs programs with it
os.environ.setdefault("PENSTOCK_OPENCL", "off")  # tests of OpenCL devices turn it on
os.environ.setdefault("PENSTOCK_STRICT", "1")  # here, and in the processes that tests start, an error of the compiler is an error

import numpy as np
import pytest

HERE = Path(__file__).parent
# The folder says what its tests need; a test may carry a marker of its own instead.
MARKERS = {"graph": "graph", "ops": "process", "golden": "process", "state": "process", "execute": "process", "session": "process",
           "distributed": "cluster", "browser": "browser"}
NEEDS = set(MARKERS.values())
POOLED = ("penstock-kernel", "penstock-team", "penstock-compiler")  # threads of a pool that ends them by itself when they are idle
GRACE = 60.0  # seconds that a test has to clean up after its time limit
CRASHES = "PENSTOCK_TEST_CRASHES"  # names the folder where each process of a test run says where it was when it crashed
KERNELS = "PENSTOCK_CACHE_DIR"  # one folder for a whole run: its processes, and the programs that they start, share what one of them has compiled


@pytest.hookimpl(trylast=True)  # after pytest's own plugin, which writes it among the dots
def pytest_configure(config):
    worker = getattr(config, "workerinput", None)
    if worker is None:
        os.environ[CRASHES] = config.crashes = tempfile.mkdtemp(prefix="penstock-crashes-")
        config.kernels = None
        config.crash = os.fdopen(os.dup(2), "w")  # (pytest does not capture it yet)
        if KERNELS not in os.environ:
            os.environ[KERNELS] = config.kernels = tempfile.mkdtemp(prefix="penstock-kernels-")
    else:
        config.crash = (Path(os.environ[CRASHES]) / worker["workerid"]).open("w")  # (open as long as the process)
        faulthandler.enable(config.crash)
    if hasattr(signal, "SIGALRM"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])  # what tells the time limit; a runner may have left it blocked


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Ends the process of a test that its time limit did not end: native code that does not return, a clean-up that waits. It says where it was."""
    crash, limit = item.config.crash, float(item.config.getoption("timeout", None) or item.config.getini("timeout") or 0)
    if not limit:
        return (yield)
    faulthandler.dump_traceback_later(limit + GRACE, exit=True, file=crash)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_terminal_summary(terminalreporter, config):
    """The stacks of crashed processes, at the end, where they are seen."""
    for path in sorted(Path(config.crashes).iterdir()):
        if text := path.read_text():
            terminalreporter.section(f"{path.name} crashed")
            for line in text.partition("Extension modules:")[0].splitlines():
                if not any(f"/{package}/" in line for package in ("_pytest", "pluggy", "xdist", "execnet")):
                    terminalreporter.write_line(line)


def pytest_unconfigure(config):
    if hasattr(config, "crashes"):
        shutil.rmtree(config.crashes)
        if config.kernels is not None:
            shutil.rmtree(config.kernels, ignore_errors=True)  # a thread that compiles may be writing
            del os.environ[KERNELS]


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
def same_random_numbers():
    """What a test draws without a seed does not depend on the tests before it."""
    random.seed(1)
    np.random.seed(1)


@pytest.fixture(autouse=True)
def same_environment():
    """What a test does to the environment ends with it: a program that is run in this process prepares it for the processes that it starts."""
    before = dict(os.environ)
    yield
    for name in (os.environ.keys() | before.keys()) - {"PYTEST_CURRENT_TEST"}:
        if name not in before:
            del os.environ[name]
        elif os.environ.get(name) != before[name]:
            os.environ[name] = before[name]


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


@pytest.fixture(autouse=True)
def no_defect_reported():
    """Fails a test in which the compiler gave up because of an error of its own, even if the test took that for another error."""
    from penstock.native.machine import defects
    defects.reported.clear()
    yield
    assert not defects.reported, "the compiler has failed: see the log"


def _threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.is_alive() and not thread.name.startswith(POOLED)}
