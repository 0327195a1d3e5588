"""The simulated timeline, as chrome://tracing and Perfetto read it: a process per task, with its steps, and the blocks that it ran or that waited.

What overlaps stands on tracks of its own: the format knows only spans of a track that follow each other, or lie inside each other.
"""
from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from penstock.simulate.job import readable

STEPS = "steps"


class SimulatedTrace:
    """Collects what a simulation tells (``job.Span``)."""

    def __init__(self) -> None:
        self._spans: dict[tuple[str, str], list[tuple[float, float, str]]] = defaultdict(list)

    def add(self, task: str, what: str, begin: float, end: float) -> None:
        """A task did something, from one second to another."""
        self._spans[task, STEPS if what.startswith("step") else "blocks"].append((begin, end, what))

    def to_json(self) -> str:
        """The events."""
        events: list[dict[str, Any]] = []
        processes = {task: number for number, task in enumerate(dict.fromkeys(task for task, _ in self._spans))}
        tracks = dict.fromkeys(processes, 0)
        for task, number in processes.items():
            events.append({"ph": "M", "name": "process_name", "pid": number, "args": {"name": readable(task)}})
        for (task, kind), spans in self._spans.items():
            for lane in _lanes(spans):
                place = {"pid": processes[task], "tid": tracks[task]}
                tracks[task] += 1
                events.append({"ph": "M", "name": "thread_name", **place, "args": {"name": kind}})
                events += [{"ph": "X", "name": what, **place, "ts": begin * 1e6, "dur": (end - begin) * 1e6} for begin, end, what in lane]
        return json.dumps({"traceEvents": events})


def _lanes(spans: list[tuple[float, float, str]]) -> list[list[tuple[float, float, str]]]:
    """The spans, on as few tracks as hold them one after the other."""
    lanes: list[list[tuple[float, float, str]]] = []
    for span in sorted(spans):
        free = next((lane for lane in lanes if lane[-1][1] <= span[0]), None)
        if free is None:
            lanes.append([span])
        else:
            free.append(span)
    return lanes
