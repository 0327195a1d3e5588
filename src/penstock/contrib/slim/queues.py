"""``QueueRunners``: a block in which the queue runners of the graph run."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import get_collection
from penstock.train.coordinator import Coordinator

_lock = threading.Lock()


class NestedQueueRunnerError(Exception):
    """Raised when ``QueueRunners`` is entered inside another one."""


@contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Inside, all queue runners of the graph run; they are stopped behind it."""
    if not _lock.acquire(blocking=False):
        raise NestedQueueRunnerError("QueueRunners cannot be nested")
    coordinator = Coordinator()
    try:
        threads = [thread for runner in get_collection(GraphKeys.QUEUE_RUNNERS)
                   for thread in runner.create_threads(session, coord=coordinator, daemon=True, start=True)]
        try:
            yield
        finally:
            coordinator.request_stop()
            try:
                coordinator.join(threads, stop_grace_period_secs=120)
            except RuntimeError:  # a thread waits for what will not come
                session.close()
    finally:
        _lock.release()
