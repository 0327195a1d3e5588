"""How many CPUs this process may use: those that it is bound to, and no more than the quota of its control groups (containers) allows.

A thread more than that is not faster but late: when the quota of a period is used up, the kernel stops all threads until the next one.
"""
from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def available_cpus(root: Path = Path("/")) -> int:
    """At least 1. ``root`` is where /proc and /sys are."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota(root)
    return bound if quota is None else max(1, min(bound, int(quota + 0.5)))


def shared_cache_bytes(root: Path = Path("/")) -> int:
    """The size of the largest cache of a CPU, the one that it shares with others; 0 if the system does not tell (Linux does)."""
    sizes = [0]
    for path in (root / "sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        try:
            text = path.read_text().strip()
            sizes.append(int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1:], 0))
        except (OSError, ValueError):  # a virtual machine may leave it out
            continue
    return max(sizes)


def cpu_quota(root: Path = Path("/")) -> float | None:
    """How many CPUs' time the control groups of this process grant it, the strictest one; None without a limit."""
    quotas = [quota for folder in _groups(root) for quota in (_quota_v2(folder), _quota_v1(folder)) if quota is not None]
    return min(quotas, default=None)


def _groups(root: Path) -> Iterator[Path]:
    """The folders of the groups that may limit this process's CPU time: its own and those above it, of both versions."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except (OSError, UnicodeDecodeError):  # not Linux: no control groups
        return
    base = root / "sys/fs/cgroup"
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mounts = [base, base / "unified"]
        elif "cpu" in controllers.split(","):
            mounts = [base / controllers, base / "cpu"]
        else:
            continue
        own = PurePosixPath(path.lstrip("/"))
        # A container sees its own group at the top of the mount, but may be told the path that the host knows: then only the top exists.
        yield from (mount / group for mount in dict.fromkeys(mounts) for group in (own, *own.parents))


def _quota_v2(folder: Path) -> float | None:
    """Of cpu.max: "max 100000", or "150000 100000" for one and a half CPUs."""
    return _ratio(*(_words(folder / "cpu.max") or ["max"])[:2])


def _quota_v1(folder: Path) -> float | None:
    """Of two files; a quota of -1 is none."""
    return _ratio(*_words(folder / "cpu.cfs_quota_us")[:1], *_words(folder / "cpu.cfs_period_us")[:1])


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except (OSError, UnicodeDecodeError):  # this group has no such limit
        return []


def _ratio(quota: str = "", period: str = "") -> float | None:
    if not (quota.isdigit() and period.isdigit() and int(quota) and int(period)):
        return None
    return int(quota) / int(period)
