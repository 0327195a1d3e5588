"""A profile as a file that ``pprof`` reads (github.com/google/pprof): one sample for each way through the program, with one figure."""
from __future__ import annotations

import gzip
from typing import Any

from penstock.debug.profile.code import GRADIENT, Frame, accounted_frames
from penstock.debug.profile.entries import FIGURES, Entry
from penstock.errors import InvalidArgumentError
from penstock.graph.graph import Graph
from penstock.platform.proto import messages

(Profile,) = messages("pprof.proto", """
    message ValueType { int64 type = 1; int64 unit = 2; }
    message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; }
    message Line { uint64 function_id = 1; int64 line = 2; }
    message Location { uint64 id = 1; repeated Line line = 4; }
    message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; }
    message Profile {
        repeated ValueType sample_type = 1;
        repeated Sample sample = 2;
        repeated Location location = 4;
        repeated Function function = 5;
        repeated string string_table = 6;
    }
    """, "Profile", package="perftools.profiles")
_UNITS = {"micros": "microseconds", "bytes": "bytes"}


class _Numbers:
    """Numbers for things, in the order that they come up; pprof refers to strings and lines by number."""

    def __init__(self, first: int) -> None:
        self._first, self.known = first, dict[Any, int]()

    def __getitem__(self, thing: Any) -> int:
        return self.known.setdefault(thing, len(self.known) + self._first)


def write_pprof(path: str, by_name: dict[str, Entry], graph: Graph, options: dict[str, Any]) -> None:
    """Writes the lines of a program with how many operations each made, and the figure that is selected."""
    if len(options["select"]) != 1 or options["select"][0] not in FIGURES:
        raise InvalidArgumentError(None, None, f"a profile for pprof has one figure; select one, not {options['select']}")
    key = options["select"][0]
    totals: dict[tuple[Frame, ...], list[int]] = {}
    for entry, frames, mark in accounted_frames(by_name, graph, options):
        sums = totals.setdefault(tuple((file, line, function + mark) for file, line, function in reversed(frames)), [0, 0])
        sums[0] += 1
        sums[1] += entry.own[key]
    with open(path, "wb") as file:
        file.write(gzip.compress(_profile(totals, key).SerializeToString(deterministic=True)))


def _profile(totals: dict[tuple[Frame, ...], list[int]], key: str) -> Any:
    profile, strings, locations, functions = Profile(), _Numbers(0), _Numbers(1), _Numbers(1)
    assert strings[""] == 0  # the format wants it first
    for kind, unit in (("operations", "count"), (key, _UNITS.get("micros" if "micros" in key else "bytes" if "bytes" in key else "", "count"))):
        profile.sample_type.add(type=strings[kind], unit=strings[unit])
    for frames, sums in totals.items():
        profile.sample.add(location_id=[locations[frame] for frame in frames], value=sums)
    for (file, line, function), number in locations.known.items():
        profile.location.add(id=number).line.add(function_id=functions[file, function], line=line)
    for (file, function), number in functions.known.items():
        profile.function.add(id=number, name=strings[function], system_name=strings[function.removesuffix(GRADIENT)], filename=strings[file])
    profile.string_table.extend(strings.known)
    return profile
