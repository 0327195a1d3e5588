"""``penstock status TARGET``: what a running cluster does (tasks, sessions, variables, steps per second, last errors), as text or as a page."""
from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import penstock.monitor
from penstock.distributed.status import cluster_status
from penstock.errors import OpError
from penstock.monitor.cluster import BadRequest, Monitor
from penstock.pages.serving import add_page_options, page_server, serve

PAGE = Path(penstock.monitor.__file__).with_name("page")
_SHOWN = 20  # variables and errors, unless all are wanted

Description = dict[str, Any]


def main(argv: list[str]) -> int:
    """Asks, and prints the answer; the exit code is 1 if there is no answer, 3 if tasks are lost."""
    parser = argparse.ArgumentParser(prog="penstock status", description="Show what a running cluster does.",
                                     epilog="The cluster's secret is taken from PENSTOCK_CLUSTER_SECRET or PENSTOCK_CLUSTER_SECRET_FILE. The exit "
                                            "code is 1 if there is no answer from TARGET, and 3 if a task of its cluster is lost.")
    parser.add_argument("target", metavar="TARGET", help="any task of the cluster: grpc://host:port")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--all", action="store_true", help="all variables and errors, not only the largest and the last")
    parser.add_argument("--browser", action="store_true", help="on a page of your browser, which follows the cluster until Ctrl-C")
    add_page_options(parser)
    options = parser.parse_args(argv)
    if options.browser:
        return _serve(parser, options)
    try:
        tasks = cluster_status(options.target)
    except OpError as error:
        print(f"penstock status: {options.target}: {error.message}", file=sys.stderr)
        return 1
    print(json.dumps(tasks, indent=2) if options.json else report(tasks, None if options.all else _SHOWN))
    return 3 if any(task["state"] == "lost" for task in tasks) else 0


def _serve(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    try:
        cluster_status(options.target, all_tasks=False)  # a wrong target, or a wrong secret, is told here and at once
    except OpError as error:
        print(f"penstock status: {options.target}: {error.message}", file=sys.stderr)
        return 1
    serve(page_server(parser, options, "cluster", PAGE, Monitor(options.target).messages(), BadRequest), options)
    return 0


def report(tasks: list[Description], shown: int | None = _SHOWN) -> str:
    """The descriptions of tasks as tables for people."""
    up = [task for task in tasks if task["state"] == "up"]
    sections = [_table(["task", "address", "state", "up for", "steps", "steps/s", "variables", "bytes", "memory", "devices"], map(_task_row, tasks))]
    sessions = [[short(task["task"]), item["session"].rpartition("-")[2], duration(item["uptime"]), str(item["steps"]),
                 f"{item['steps_per_second']:.1f}", str(item["running"])] for task in up for item in task["sessions"]]
    if sessions:
        sections.append(_table(["master", "session", "open for", "steps", "steps/s", "running"], sessions))
    sections += [part for part in (_variables(up, shown), _errors(up, shown)) if part]
    return "\n\n".join(sections)


def _task_row(task: Description) -> list[str]:
    name, address, state = short(task["task"]), task["address"], task["state"]
    if state != "up":
        return [name, address, f"{state}: {task['reason']}"]
    kinds = [device.rpartition("/device:")[2] for device in task["devices"]]
    return [name, address, state, duration(task["uptime"]), str(task["steps"]), f"{task['steps_per_second']:.1f}", str(len(task["variables"])),
            size(sum(variable["bytes"] for variable in task["variables"])), size(task["memory"]), " ".join(kinds)]


def _variables(tasks: list[Description], shown: int | None) -> str:
    pairs = sorted(((variable, task) for task in tasks for variable in task["variables"]), key=lambda pair: -pair[0]["bytes"])
    rows = [[variable["name"], short(task["task"]), variable["dtype"], str(variable["shape"]) if variable["initialized"] else "no value",
             size(variable["bytes"])] for variable, task in pairs[:shown]]
    left = len(pairs) - len(rows)
    return _table(["variable", "task", "type", "shape", "bytes"], rows) + (f"\n... and {left} more (--all)" if left else "") if rows else ""


def _errors(tasks: list[Description], shown: int | None) -> str:
    pairs = sorted(((error, task) for task in tasks for error in task["errors"]), key=lambda pair: pair[0]["time"])
    rows = [[time.strftime("%H:%M:%S", time.localtime(error["time"])), short(task["task"]), error["class"], error["message"].partition("\n")[0]]
            for error, task in pairs[-shown if shown else 0:]]
    return _table(["last errors", "task", "class", "message"], rows) if rows else ""


def _table(header: list[str], rows: Any) -> str:
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines if len(line) == len(header) or column < len(line) - 1 or line is header)
              for column in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def short(task: str) -> str:
    """A task's name as people write it.

    >>> short("/job:ps/replica:0/task:1")
    '/job:ps/task:1'
    """
    return task.replace("/replica:0", "")


def size(count: int) -> str:
    """Bytes for people.

    >>> size(512), size(4 << 20)
    ('512 B', '4.0 MiB')
    """
    amount, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(3725)
    '1:02:05'
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
