"""What the page of a cluster asks for: how the cluster is, and a recording of its next steps. Messages in, answers out, without a page's socket.

Several pages may ask at once; the cluster is asked at most once a second for all of them.
"""
from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from penstock.debug.timeline import chrome_events
from penstock.distributed.administration import MOST_SECONDS, MOST_STEPS
from penstock.distributed.status import cluster_status, record_cluster
from penstock.errors import OpError
from penstock.pages.server import Answer, Message

_FRESH = 0.9  # seconds that an answer of the cluster is good for

Recording = list[dict[str, Any]]


class BadRequest(ValueError):
    """A message that asks for what there is not."""


class Monitor:
    """One cluster, known by any of its tasks."""

    def __init__(self, target: str, ask: Callable[[str], Any] = cluster_status,
                 record: Callable[[str, int, int], Recording] = record_cluster) -> None:
        self._target, self._ask, self._record = target, ask, record
        self._lock = threading.Lock()
        self._asked = 0.0
        self._answer: dict[str, Any] = {"target": target, "tasks": [], "trouble": ""}
        self._recorded: Recording = []

    def messages(self) -> dict[str, Message]:
        """The messages by name."""
        return {"state": lambda body: self.state(), "record": self.record, "trace": lambda body: self.trace()}

    def state(self) -> dict[str, Any]:
        """The tasks of the cluster. If the target does not answer, its last answer, and why."""
        with self._lock:
            if time.monotonic() - self._asked > _FRESH:
                try:
                    self._answer = {"target": self._target, "tasks": self._ask(self._target), "trouble": "", "time": time.time()}
                except OpError as error:
                    self._answer = {**self._answer, "trouble": error.message}
                self._asked = time.monotonic()
            return self._answer

    def record(self, body: dict[str, Any]) -> Answer:
        """The next steps of all tasks on one time axis: rows of [start, length, node, type, bytes, device, lane, step] in microseconds."""
        steps, seconds = (_number(body, name, most) for name, most in (("steps", MOST_STEPS), ("seconds", MOST_SECONDS)))
        self._recorded = self._record(self._target, steps, seconds)
        return lanes(self._recorded)

    def trace(self) -> bytes:
        """The last recording as a Chrome trace."""
        if not self._recorded:
            raise BadRequest("nothing is recorded yet")
        return json.dumps({"traceEvents": chrome_events(_rows(self._recorded))}).encode()


def _number(body: dict[str, Any], name: str, most: int) -> int:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise BadRequest(f"{name} must be a whole number from 1 to {most}")
    return value


def _rows(recorded: Recording) -> list[tuple[str, int, str, str, int, int, int]]:
    """(device, thread, node, type, start, length, bytes) of all that ran."""
    return [(device, thread, name, kind, start, length, size) for task in recorded for step in task.get("steps", ())
            for device, rows in step["devices"].items() for name, kind, start, length, size, thread in rows]


def lanes(recorded: Recording) -> dict[str, Any]:
    """A recording for a picture: a lane per device and row of bars in it, so that no two bars of a lane overlap."""
    steps = [(task["task"], step) for task in recorded for step in task.get("steps", ())]
    bars = sorted([start, length, name, kind, size, device, number] for number, (_, step) in enumerate(steps)
                  for device, rows in step["devices"].items() for name, kind, start, length, size, _ in rows)
    origin = min((bar[0] for bar in bars), default=0)
    ends: dict[str, list[int]] = {}
    placed = []
    for start, length, name, kind, size, device, number in bars:
        busy = ends.setdefault(device, [])
        lane = next((index for index, end in enumerate(busy) if end <= start), len(busy))
        busy[lane:lane + 1] = [start + length]
        placed.append([start - origin, length, name, kind, size, device, lane, number])
    return {"bars": placed, "lanes": {device: len(ends[device]) for device in sorted(ends)},
            "steps": [{"master": task, "session": step["session"].rpartition("-")[2]} for task, step in steps],
            "length": max((bar[0] + bar[1] for bar in placed), default=0),
            "lost": [task["task"] for task in recorded if task.get("state") != "up"]}
