"""A traced step as a Chrome trace (chrome://tracing, Perfetto): which op ran when, on which device and thread."""
from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

_RECEIVED = re.compile(r"/_recv\d+$")  # what comes from another device is named by the op that made it


class AllocationMaximum(NamedTuple):
    """When an allocator held the most bytes, how many, and in which tensors."""

    timestamp: int
    num_bytes: int
    tensors: set[str]


class ChromeTrace:
    """A trace that can be written."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._events = events

    def format_to_string(self, pretty: bool = False) -> str:
        """The trace as JSON text."""
        return json.dumps({"traceEvents": self._events}, indent=4 if pretty else None, separators=(",", ": ") if pretty else None)


class StepStatsAnalysis(NamedTuple):
    """What ``Timeline.analyze_step_stats`` finds: the trace, and the most that each allocator held."""

    chrome_trace: ChromeTrace
    allocator_maximums: dict[str, AllocationMaximum]


class Timeline:
    """``tensorflow.python.client.timeline.Timeline(step_stats)``."""

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self._stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False) -> str:
        """The trace as JSON text; ``show_memory`` adds the bytes that each op put out."""
        return ChromeTrace(self._events(show_dataflow, show_memory)).format_to_string()

    def analyze_step_stats(self, show_dataflow: bool = True, show_memory: bool = True) -> StepStatsAnalysis:
        """The trace, and the most memory that outputs of ops took at a time."""
        return StepStatsAnalysis(ChromeTrace(self._events(show_dataflow, show_memory)), {"cpu": self._most_held()})

    def _most_held(self) -> AllocationMaximum:
        """An output is held from the end of its op until the last op that takes it has ended."""
        nodes = [(*_parse(node), node) for device in self._stats.dev_stats for node in device.node_stats]
        freed = {name: node.all_start_micros + node.all_end_rel_micros for name, _, _, node in nodes}
        for _, _, inputs, node in nodes:
            for source in inputs:
                name = source.lstrip("^").partition(":")[0]
                freed[name] = max(freed.get(name, 0), node.all_start_micros + node.all_end_rel_micros)
        changes = []
        for name, _, _, node in nodes:
            size = sum(output.tensor_description.allocation_description.requested_bytes for output in node.output)
            changes += [(node.all_start_micros + node.all_end_rel_micros, 0, size, name), (freed[name], 1, size, name)]
        held, live, most = 0, dict[str, None](), AllocationMaximum(0, 0, set())
        for when, is_end, size, name in sorted(changes):
            if is_end:
                held -= size
                live.pop(name, None)
                continue
            held, live[name] = held + size, None
            if held > most.num_bytes:
                most = AllocationMaximum(when, held, set(live))
        return most

    def _events(self, show_dataflow: bool, show_memory: bool) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        finished: dict[str, tuple[int, int, int]] = {}  # node -> (process, thread, end): where an arrow starts
        rows: list[tuple[int, int, Any]] = []
        for process, device in enumerate(self._stats.dev_stats):
            events.append({"ph": "M", "name": "process_name", "pid": process, "args": {"name": f"{device.device} Compute"}})
            rows.extend((node.all_start_micros, process, node) for node in device.node_stats)
        for start, process, node in sorted(rows, key=lambda row: row[0]):
            name, kind, inputs = _parse(node)
            duration = max(node.all_end_rel_micros, 1)
            events.append({"ph": "X", "cat": "Op", "name": kind, "pid": process, "tid": node.thread_id, "ts": start, "dur": duration,
                           "args": {"name": name, "op": kind, **{f"input{index}": source for index, source in enumerate(inputs)}}})
            if show_dataflow:
                events.extend(_arrows(inputs, finished, process, node.thread_id, start, len(events)))
            finished[name] = (process, node.thread_id, start + duration)
            if show_memory:
                size = sum(output.tensor_description.allocation_description.requested_bytes for output in node.output)
                events.append({"ph": "C", "cat": "Memory", "name": "output bytes", "pid": process, "tid": 0, "ts": start, "args": {"bytes": size}})
        return events


def _parse(node: Any) -> tuple[str, str, list[str]]:
    """(name, type, inputs) of ``name = Type(input, ...)``."""
    name, equals, call = node.timeline_label.partition(" = ")
    kind, _, arguments = call.rstrip(")").partition("(")
    inputs = [_RECEIVED.sub("", text) for text in arguments.split(", ") if text]
    return (name, kind, inputs) if equals else (node.node_name, node.node_name, [])


def _arrows(inputs: list[str], finished: dict[str, tuple[int, int, int]], process: int, thread: int, start: int, number: int) -> list[dict[str, Any]]:
    arrows = []
    for index, source in enumerate(inputs):
        if source in finished:
            from_process, from_thread, end = finished[source]
            shared = {"cat": "DataFlow", "name": source, "id": f"{number}.{index}"}
            arrows += [{"ph": "s", "pid": from_process, "tid": from_thread, "ts": end, **shared},
                       {"ph": "t", "pid": process, "tid": thread, "ts": start, **shared}]
    return arrows


def chrome_events(rows: Iterable[tuple[str, int, str, str, int, int, int]]) -> list[dict[str, Any]]:
    """Events of a Chrome trace for (device, thread, node, type, start, length, bytes), times in microseconds; a process per device."""
    events: list[dict[str, Any]] = []
    processes: dict[str, int] = {}
    for device, thread, name, kind, start, length, size in sorted(rows, key=lambda row: row[4]):
        if device not in processes:
            processes[device] = len(processes)
            events.append({"ph": "M", "name": "process_name", "pid": processes[device], "args": {"name": f"{device} Compute"}})
        events.append({"ph": "X", "cat": "Op", "name": kind, "pid": processes[device], "tid": thread, "ts": start, "dur": max(length, 1),
                       "args": {"name": name, "op": kind, "bytes": size}})
    return events
