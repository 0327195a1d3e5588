"""Tests wait no longer than they must: for servers that cannot start, for programs that say nothing, for tasks that always fail."""
from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.cluster import Processes
from support.process import environment, line_of

RESTARTER = Path(__file__).parents[1] / "support" / "restarter.py"


def test_a_server_that_cannot_start_ends_the_others():
    cluster = Processes(ps=1, worker=1)
    start = cluster.start

    def half_edited(job, index, wait=True):
        cluster.prelude = "" if job == "ps" else "import a_module_that_is_not_there\n"
        start(job, index, wait)

    cluster.start = half_edited
    with pytest.raises(AssertionError, match=r"worker 0 does not serve:(?s:.*)a_module_that_is_not_there"), cluster:
        pass
    assert all(process.poll() is not None for process in cluster.processes.values())


def test_a_server_that_writes_much_goes_on():
    """A pipe that nobody reads would be full after 64 KB."""
    with_noise = Processes(ps=1)
    with_noise.prelude = "import sys; sys.stderr.write('x' * 1_000_000)\n"
    with with_noise as cluster:
        assert len(cluster.errors("ps", 0)) >= 1_000_000


def test_a_program_that_says_nothing():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.PIPE, text=True)
    begun = time.monotonic()
    assert line_of(process, 0.5) == "" and time.monotonic() - begun < 30
    process.wait(10)
    process.stdout.close()


def test_servers_end_with_the_tests():
    """Also where those are killed and clean nothing up."""
    program = ("import os; from support.cluster import Processes; cluster = Processes(ps=1); cluster.start('ps', 0); "
               "print(cluster.processes['ps', 0].pid, flush=True); os._exit(1)")
    folder = str(Path(__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", program], env={**environment(), "PYTHONPATH": f"{folder}:{environment()['PYTHONPATH']}"}, text=True,
                          stdout=subprocess.PIPE, timeout=60)
    end = time.monotonic() + 30
    while Path(f"/proc/{int(done.stdout)}").exists():
        assert time.monotonic() < end, "the server serves on"
        time.sleep(0.1)


def test_a_task_that_always_fails_is_given_up():
    program = f"""
import runpy, sys, time
time.sleep = lambda seconds: None
sys.argv = ["", "0", "1", "-c", "1 / 0"]
runpy.run_path({str(RESTARTER)!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", program], text=True, stdout=subprocess.PIPE, timeout=120)
    assert done.stdout.count("starting it again") == 20
