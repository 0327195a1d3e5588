"""Threads of tests: knowing that a kernel waits, instead of sleeping and hoping."""
from __future__ import annotations

import sys
import time

from penstock.state import waiting

PATIENCE = 30.0


def until_kernels_wait(count: int = 1) -> None:
    """Returns when so many kernels of this process wait for shared state: a queue, an accumulator, a lock."""
    deadline = time.monotonic() + PATIENCE
    while sum(map(_waits, sys._current_frames().values())) < count:
        assert time.monotonic() < deadline, "a kernel never came to where it waits"
        time.sleep(0.002)


def _waits(frame) -> bool:
    return frame.f_code.co_name == "wait" and frame.f_back is not None and frame.f_back.f_code is waiting.wait_for.__code__
