"""A file that describes the machines of a cluster: ``penstock simulate --machines cluster.json``.

    {"machines": [{"count": 2, "tasks": {"ps": 1}, "cores": 32, "network": "40Gbit,20us", "memory": "256GB"},
                  {"count": 25, "tasks": {"worker": 2}, "cores": 16, "network": "10Gbit,50us"}]}

Each entry stands for ``count`` machines that run these tasks each. Tasks are numbered in the order of the file. What an entry does not say is as on
the command line.
"""
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from penstock.distributed.cluster_spec import task_name
from penstock.simulate.network import NetworkSpeed

_SIZES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_FIELDS = {"count", "tasks", "cores", "network", "memory"}
_JOBS = ("ps", "worker")
_MOST_CORES, _MOST_TASKS = 1_000_000, 1_000_000  # that can be simulated


@dataclass(frozen=True)
class MachineSpec:
    """One machine: its tasks and what it has. Memory in bytes; 0 if it is not limited."""

    tasks: tuple[str, ...]
    cores: float
    network: NetworkSpeed
    memory: float = 0.0


def parse_size(text: str) -> float:
    """Bytes of ``64GB``; ValueError if it is something else.

    >>> parse_size("1.5kB")
    1500.0
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kKMGT]?)i?B?", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size: 64GB is one (kB, MB, GB, TB)")
    return float(match[1]) * _SIZES[match[2].replace("K", "k")]


def parse_cores(given: object) -> float:
    """How many cores a machine has; ValueError if that is no such number."""
    try:
        cores = float(given) if isinstance(given, (int, float, str)) and not isinstance(given, bool) else 0.0
    except ValueError:
        cores = 0.0
    if not 0.0 < cores < _MOST_CORES:
        raise ValueError(f"{given!r} is not a number of cores, of which a machine has less than {_MOST_CORES:,}")
    return cores


def read_machines(text: str, cores: float, network: NetworkSpeed, memory: float) -> list[MachineSpec]:
    """The machines in a file; ValueError, with the entry, if it does not describe any."""
    try:
        entries = json.loads(text)["machines"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"the file of machines has no list {{\"machines\": [...]}}: {error}") from None
    machines: list[MachineSpec] = []
    numbers = dict.fromkeys(_JOBS, 0)
    for place, entry in enumerate(entries if isinstance(entries, list) else [entries]):
        try:
            count, tasks = _count(entry)
            had = (parse_cores(entry.get("cores", cores)), NetworkSpeed.parse(str(entry["network"])) if "network" in entry else network,
                   parse_size(str(entry["memory"])) if "memory" in entry else memory)
            if sum(numbers.values()) + count * sum(tasks.values()) > _MOST_TASKS:
                raise ValueError(f"more than {_MOST_TASKS:,} tasks are too many to simulate")
        except (ValueError, TypeError) as error:
            raise ValueError(f"entry {place} of the file of machines: {error}") from None
        for _ in range(count):
            names = []
            for job, many in tasks.items():
                names += [task_name(job, numbers[job] + index) for index in range(many)]
                numbers[job] += many
            machines.append(MachineSpec(tuple(names), *had))
    return machines


def _count(entry: Any) -> tuple[int, dict[str, int]]:
    if not isinstance(entry, dict) or not set(entry) <= _FIELDS:
        raise ValueError(f"it may have {', '.join(sorted(_FIELDS))}, and is {entry!r}")
    count, tasks = entry.get("count", 1), entry.get("tasks")
    if type(count) is not int or count < 1:
        raise ValueError(f"count is {count!r}, not a number of machines")
    if not isinstance(tasks, dict) or not tasks or not all(job in _JOBS and type(many) is int and many > 0 for job, many in tasks.items()):
        raise ValueError(f'tasks is {tasks!r}; {{"ps": 1}} and {{"worker": 2}} are such')
    return count, tasks


def tasks_of(machines: list[MachineSpec], job: str) -> int:
    """How many tasks of a job the machines run."""
    return sum(task.startswith(f"/job:{job}/") for machine in machines for task in machine.tasks)
