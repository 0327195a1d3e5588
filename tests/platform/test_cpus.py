"""The quota of control groups, as files say it."""
from __future__ import annotations

import os

import pytest

from penstock.platform.cpus import available_cpus, cpu_quota

pytestmark = pytest.mark.graph


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


V1 = "9:name=systemd:/\n4:memory:/a\n2:cpu,cpuacct:/docker/abc\n"
CASES = {
    "nothing": ({}, None),
    "v2, no limit": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
    "v2": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
    "v2, a group above": ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000",
                           "sys/fs/cgroup/a/cpu.max": "50000 100000"}, 0.5),
    "v2, the strictest": ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "400000 100000", "sys/fs/cgroup/cpu.max": "200000 100000"}, 2.0),
    "v2, the host's path": ({"proc/self/cgroup": "0::/kubepods/xyz\n", "sys/fs/cgroup/cpu.max": "300000 100000"}, 3.0),
    "v2 beside v1": ({"proc/self/cgroup": "1:name=systemd:/\n0::/a\n", "sys/fs/cgroup/unified/a/cpu.max": "300000 100000"}, 3.0),
    "v1": ({"proc/self/cgroup": V1, "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "250000\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n"}, 2.5),
    "v1, no limit": ({"proc/self/cgroup": V1, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                      "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, None),
    "v1, inside a container": ({"proc/self/cgroup": V1, "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000\n",
                                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "50000\n"}, 2.0),
    "another controller": ({"proc/self/cgroup": "3:cpuset:/a\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000",
                            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "50000"}, None),
    "half a file": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000"}, None),
    "no numbers": ({"proc/self/cgroup": "garbage\n0::/\n", "sys/fs/cgroup/cpu.max": "many few\n"}, None),
}


@pytest.mark.parametrize("case", CASES)
def test_quota(case, tmp_path):
    files, wanted = CASES[case]
    write(tmp_path, files)
    assert cpu_quota(tmp_path) == wanted


@pytest.mark.parametrize(("quota", "cpus"), [("10000 100000", 1), ("140000 100000", 1), ("150000 100000", 2), ("max 1000", 3), ("90000 10000", 3)])
def test_cpus_are_those_of_the_quota_and_no_more_than_the_process_is_bound_to(quota, cpus, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    write(tmp_path, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": quota})
    assert available_cpus(tmp_path) == cpus
