"""The commands after ``run -p``: where the time of a run went, by node (``list_profile``) and by line of Python (``print_source``).

Op time is that of the kernel, execution time also that of what the executor does around it. A node that ran several times, in a loop, is one row with
the sum.
"""
from __future__ import annotations

import argparse
import linecache
import os
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from penstock.debug.tfdbg.commands import BadCommand, CommandLine
from penstock.graph.graph import Graph

_SORT_KEYS = ("node", "op_type", "start_time", "op_time", "exec_time", "line")
_UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6}
_HEAD = ("Node", "Op Type", "Start Time", "Op Time", "Exec Time", "Filename:Lineno(function)")
Line = tuple[str, int, str]  # file, number, function


@dataclass
class Row:
    """A node of the run; times are microseconds, the start since that of the run."""

    node: str
    op_type: str
    start_time: int
    op_time: int = 0
    exec_time: int = 0
    runs: int = 0
    line: Line = ("", 0, "")


class ProfileView:
    """The commands over the statistics of one run."""

    def __init__(self, step_stats: Any, graph: Graph) -> None:
        self._devices = {device.device: _rows(device.node_stats, graph) for device in step_stats.dev_stats}
        first = min((row.start_time for rows in self._devices.values() for row in rows), default=0)
        for rows in self._devices.values():
            for row in rows:
                row.start_time -= first

    def register(self, line: CommandLine) -> None:
        """Adds the commands to a command line."""
        parser = line.add("list_profile", "lp", "List nodes with their times, device by device.", self.list_profile)
        for flag, name, what in (("-d", "device_name", "names of devices"), ("-n", "node_name", "names of nodes"), ("-t", "op_type", "types of ops"),
                                 ("-f", "file_path", "paths of files of Python")):
            parser.add_argument(flag, f"--{name}_filter", help=f"a regular expression for {what}")
        parser.add_argument("--min_lineno", type=int, default=0, help="only nodes that were made from this line on")
        parser.add_argument("--max_lineno", type=int, default=1 << 62, help="only nodes that were made up to this line")
        parser.add_argument("-e", "--execution_time", default="", help="only with execution times in this range: >100us, [1ms, 5ms]")
        parser.add_argument("-o", "--op_time", default="", help="only with op times in this range")
        parser.add_argument("-s", "--sort_by", choices=_SORT_KEYS, default="start_time")
        parser.add_argument("-r", "--reverse", action="store_true", help="the last first")
        parser.add_argument("--time_unit", choices=_UNITS, default="us")
        parser = line.add("print_source", "ps", "Print a file of Python with the time of the nodes that its lines made.", self.print_source,
                          lambda: sorted({row.line[0] for rows in self._devices.values() for row in rows} - {""}))
        parser.add_argument("source_file_path")
        parser.add_argument("-d", "--device_name_filter", help="a regular expression for names of devices")
        parser.add_argument("--time_unit", choices=_UNITS, default="us")
        parser.add_argument("-b", "--init_line", type=int, default=1, help="the first line that is printed")

    def list_profile(self, parsed: argparse.Namespace) -> list[str]:
        """``lp``: a table for each device."""
        op_range, exec_range = time_range(parsed.op_time), time_range(parsed.execution_time)
        lines: list[str] = []
        for number, (device, rows) in enumerate(self._chosen_devices(parsed)):
            wanted = [row for row in rows if _matches(parsed.node_name_filter, row.node) and _matches(parsed.op_type_filter, row.op_type)
                      and _matches(parsed.file_path_filter, row.line[0]) and parsed.min_lineno <= row.line[1] <= parsed.max_lineno
                      and op_range[0] <= row.op_time <= op_range[1] and exec_range[0] <= row.exec_time <= exec_range[1]]
            wanted.sort(key=lambda row: getattr(row, parsed.sort_by), reverse=parsed.reverse)
            lines += [f"Device {number + 1} of {len(self._devices)}: {device}", "", *_table(wanted, parsed.time_unit), ""]
        return lines

    def print_source(self, parsed: argparse.Namespace) -> list[str]:
        """``ps``: times beside the lines of a file."""
        path = os.path.abspath(os.path.expanduser(parsed.source_file_path))
        by_line: dict[int, list[Row]] = defaultdict(list)
        for _, rows in self._chosen_devices(parsed):
            for row in rows:
                if row.line[0] == path:
                    by_line[row.line[1]].append(row)
        if not by_line:
            raise BadCommand(f'The source file "{parsed.source_file_path}" does not contain any profile information for the previous Session run')
        lines = [f"{'Op Time':>10} {'Exec Time':>10}  Nodes"]
        for number, text in enumerate(linecache.getlines(path), 1):
            if number >= parsed.init_line:
                rows = by_line[number]
                unit = parsed.time_unit
                times = f"{_time(sum(row.op_time for row in rows), unit):>10} {_time(sum(row.exec_time for row in rows), unit):>10}  " \
                    f"{len(rows)}({sum(row.runs for row in rows)})" if rows else ""
                lines.append(f"{times:<32}L{number:<5}{text.rstrip()}")
        return lines

    def _chosen_devices(self, parsed: argparse.Namespace) -> list[tuple[str, list[Row]]]:
        return [(device, rows) for device, rows in self._devices.items() if _matches(parsed.device_name_filter, device)]


def _rows(node_stats: Any, graph: Graph) -> list[Row]:
    rows: dict[str, Row] = {}
    for stats in node_stats:
        name = stats.node_name.partition(":")[0]
        if name not in rows:
            rows[name] = Row(name, _op_type(graph, name, stats.timeline_label), stats.all_start_micros, line=_line(graph, name))
        row = rows[name]
        row.op_time += stats.op_end_rel_micros - stats.op_start_rel_micros
        row.exec_time += stats.all_end_rel_micros
        row.runs += 1
    return list(rows.values())


def _op_type(graph: Graph, name: str, label: str) -> str:
    """Of a node that is not the graph's, what its label says: ``name = Type(inputs)``."""
    operation = graph._by_name.get(name)
    label_type = re.search(r"= *(\w+)\(", label)
    return operation.type if operation is not None else label_type[1] if label_type else ""


def _line(graph: Graph, name: str) -> Line:
    operation = graph._by_name.get(name)
    frames = operation.traceback if operation is not None else []
    return (frames[-1][0], frames[-1][1], frames[-1][2]) if frames else ("", 0, "")


def _table(rows: list[Row], unit: str) -> list[str]:
    cells = [(row.node, row.op_type, _time(row.start_time, unit), _time(row.op_time, unit), _time(row.exec_time, unit),
              f"{os.path.basename(row.line[0])}:{row.line[1]}({row.line[2]})" if row.line[0] else "") for row in rows]
    total = ("Device Total", "", "", _time(sum(row.op_time for row in rows), unit), _time(sum(row.exec_time for row in rows), unit), "")
    widths = [max(len(line[column]) for line in (_HEAD, total, *cells)) + 2 for column in range(len(_HEAD))]
    return ["".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in (_HEAD, *cells, total)]


def _time(microseconds: float, unit: str) -> str:
    return f"{microseconds / _UNITS[unit]:.{0 if unit == 'us' else 3}f}{unit}"


def _matches(pattern: str | None, text: str) -> bool:
    return not pattern or re.match(pattern, text) is not None


def time_range(text: str) -> tuple[float, float]:
    """A range of times in microseconds.

    >>> time_range(">1.5ms"), time_range("[10us, 2ms]"), time_range("")
    ((1500.0, inf), (10.0, 2000.0), (0.0, inf))
    """
    text = text.strip()
    if not text:
        return 0.0, float("inf")
    form = re.fullmatch(r"(<=?|>=?)?\s*(\S+)|\[\s*(\S+)\s*,\s*(\S+?)\s*\]", text)
    if form is None or (form[2] and not form[1]):
        raise BadCommand(f"{text!r} is not a range of times, such as >100us, <=2ms or [1ms, 5ms]")
    if form[3]:
        return _microseconds(form[3]), _microseconds(form[4])
    bound = _microseconds(form[2])
    return (bound, float("inf")) if form[1].startswith(">") else (0.0, bound)


def _microseconds(text: str) -> float:
    form = re.fullmatch(r"([\d.eE+-]+)(us|ms|s)?", text)
    try:
        return float(form[1]) * _UNITS[form[2] or "us"] if form is not None else float(text)
    except ValueError:
        raise BadCommand(f"{text!r} is not a time, such as 100us, 1.5ms or 2s") from None
