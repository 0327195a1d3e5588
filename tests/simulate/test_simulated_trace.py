"""The simulated timeline."""
from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise

import pytest

from penstock.simulate.job import Cluster, Simulation
from penstock.simulate.simulated_trace import SimulatedTrace
from simulate.test_job import PS, USUAL, dense

pytestmark = pytest.mark.graph


def test_spans_of_a_track_do_not_overlap():
    trace = SimulatedTrace()
    Simulation(dense(), USUAL, Cluster(8), span=trace.add).run(5, 1)
    trace.add(PS[0], "2 nodes", 0.0, 2.0)
    trace.add(PS[0], "2 nodes", 1.0, 3.0)
    events = json.loads(trace.to_json())["traceEvents"]
    tracks, names = defaultdict(list), {}
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        else:
            names[event["name"], event["pid"], event.get("tid")] = event["args"]["name"]
    assert {name for (kind, *_), name in names.items() if kind == "process_name"} == {"ps 0", *(f"worker {index}" for index in range(8))}
    assert all(("thread_name", *track) in names for track in tracks)
    assert max(len(spans) for spans in tracks.values()) >= 5
    for spans in tracks.values():
        assert all(end <= begin + 1e-3 for (_, end), (begin, _) in pairwise(spans))  # microseconds
    server = next(pid for (kind, pid, _), name in names.items() if name == "ps 0")
    assert sum(pid == server for kind, pid, _ in names if kind == "thread_name") >= 2
