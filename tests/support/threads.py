"""Threads of tests: knowing that a kernel waits, instead of sleeping and hoping."""
from __future__ import annotations

import sys
import threading
import time

import penstock as tf
from penstock.state import waiting

PATIENCE = 30.0
SHORT = tf.RunOptions(timeout_in_ms=50)  # of a step that is expected to wait in vain
LONG = tf.RunOptions(timeout_in_ms=20000)  # of a step that may wait, but must end


def in_thread(function):
    """Starts a thread; returns it and the list that its result or its error goes to."""
    results = []

    def work():
        try:
            results.append(function())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, results


def in_threads(*functions):
    """Runs functions at once; raises the first error."""
    pairs = [in_thread(function) for function in functions]
    for thread, _ in pairs:
        thread.join(20)
        assert not thread.is_alive(), "a thread is stuck"
    for _, results in pairs:
        if isinstance(results[0], Exception):
            raise results[0]


def until_kernels_wait(count: int = 1) -> None:
    """Returns when so many kernels of this process wait for shared state: a queue, an accumulator, a lock."""
    deadline = time.monotonic() + PATIENCE
    while sum(map(_waits, sys._current_frames().values())) < count:
        assert time.monotonic() < deadline, "a kernel never came to where it waits"
        time.sleep(0.002)


def _waits(frame) -> bool:
    return frame.f_code.co_name == "wait" and frame.f_back is not None and frame.f_back.f_code is waiting.wait_for.__code__
