"""A table of what Penstock itself costs, beside real TensorFlow where that is installed: `make bench`.

Each number is the minimum over several rounds, each in a fresh process; the rounds of the two frameworks are
interleaved, so that a busy moment of the machine hits both. TensorFlow is looked for in the Python that the variable
PENSTOCK_TF_PYTHON names (TensorFlow 1, or 2 through `compat.v1`), else in the current one.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
TIMEOUT = 300  # seconds for one process
UNITS = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"))

ROWS = {
    "import": "import, in a fresh process",
    "build": "build a graph of 10,000 operations",
    "null_step": "a null step (feed, add, fetch)",
    "save": "save 1 GB, and be sure of it",
    "write": "save 1 GB, not waiting for the disk",
    "restore": "restore 1 GB",
}

SCRIPTS = dict.fromkeys(("save", "write", "restore"), "checkpoint.py")  # where a measurement is, if not in core.py


class Framework(NamedTuple):
    """A framework and the Python that has it."""

    name: str
    python: str


class BenchmarkFailed(Exception):
    """A measuring process ended without a result; the message has its last words."""


def find_frameworks() -> list[Framework]:
    """Penstock, and TensorFlow if there is one."""
    frameworks = [Framework("penstock", sys.executable)]
    peer = os.environ.get("PENSTOCK_TF_PYTHON")
    if peer is None and importlib.util.find_spec("tensorflow"):
        peer = sys.executable
    if peer:
        frameworks.append(Framework("tensorflow", peer))
    return frameworks


def environment(framework: Framework) -> dict[str, str]:
    """Penstock comes from this checkout; TensorFlow must not see our path, and shall be quiet."""
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    env.pop("PYTHONPATH", None)
    if framework.name == "penstock":
        env["PYTHONPATH"] = str(SOURCE)
    return env


def measure(framework: Framework, measurement: str) -> dict:
    """One round: measure in a fresh process and return what it printed."""
    command = [framework.python, str(HERE / SCRIPTS.get(measurement, "core.py")), framework.name, measurement]
    done = subprocess.run(command, env=environment(framework), capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0:
        last_words = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise BenchmarkFailed(f"{framework.name}, {measurement}:\n{last_words}")
    return json.loads(done.stdout.splitlines()[-1])


def best_of(frameworks: list[Framework], measurement: str, rounds: int) -> dict[str, dict]:
    """The fastest round of each framework."""
    best: dict[str, dict] = {}
    for _ in range(rounds):
        for framework in frameworks:
            result = measure(framework, measurement)
            if framework.name not in best or result["seconds"] < best[framework.name]["seconds"]:
                best[framework.name] = result
    return best


def format_time(seconds: float) -> str:
    """Three digits and a unit: 1.23 s, 45.6 ms, 789 µs."""
    scale, unit = next((pair for pair in UNITS if seconds >= pair[0]), UNITS[-1])
    value = seconds / scale
    return f"{value:.{2 - (value >= 10) - (value >= 100)}f} {unit}"


def print_row(label: str, cells: list[str]) -> None:
    """A line of the table."""
    print(f"{label:<36}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def main() -> int:
    """Measure all rows and print them; the exit code is 1 if one failed."""
    parser = argparse.ArgumentParser(description="What Penstock itself costs, beside TensorFlow.")
    parser.add_argument("--rounds", type=int, default=5, help="processes per number (default: %(default)s)")
    parser.add_argument("--only", choices=ROWS, help="one row of the table")
    args = parser.parse_args()

    frameworks = find_frameworks()
    headed, failed = False, False
    for measurement in [args.only] if args.only else ROWS:
        try:
            best = best_of(frameworks, measurement, args.rounds)
        except (BenchmarkFailed, subprocess.TimeoutExpired, OSError) as error:
            print(f"failed: {error}", file=sys.stderr)
            failed = True
            continue
        if not headed:
            names = [f"{name} {result['version']}" for name, result in best.items()]
            print_row(f"minimum of {args.rounds} rounds", names + ["ratio"] * (len(best) > 1))
            headed = True
        times = [result["seconds"] for result in best.values()]
        ratio = [f"{times[0] / times[1]:.2f}x"] if len(times) > 1 else []
        print_row(ROWS[measurement], [format_time(seconds) for seconds in times] + ratio)
    if len(frameworks) == 1:
        print("(TensorFlow is not installed here; PENSTOCK_TF_PYTHON=/path/to/python names one that has it.)")
    else:
        print("(ratio: Penstock's time over TensorFlow's; below 1 is faster)")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
