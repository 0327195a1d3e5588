"""Time to a result: seconds from the start of a process, with import, graph and compiler, to the end of its 1st, 10th, 100th and 1000th step.

    python benchmarks/time_to_result.py                                      all models, all frameworks
    python benchmarks/time_to_result.py --cases mlp,lenet_64 --steps 100     some of them
    python benchmarks/time_to_result.py --busy                               with one busy process beside
    python benchmarks/time_to_result.py --limit 240                          what can be begun within 240 seconds; the next run goes on
    python benchmarks/time_to_result.py --write FIRST_STEPS.md               writes the table to a file of this folder

All run as a user would run them: Penstock in its default mode, with threads as they come. ``cold`` starts with an empty folder of compiled kernels,
``warm`` with what the run before has left there; that concerns Penstock and torch.compile, the others keep nothing by default. TensorFlow 1.15 is
among them if PENSTOCK_TF1_PYTHON names a Python that has it. The frameworks take turns; the minimum of all rounds counts. Before the first run our
sources are compiled to Python's byte code, as pip has done with those of the others when it installed them.
"""
from __future__ import annotations

import argparse
import compileall
import contextlib
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import table
from kept import Kept, OutOfTime
from peers import PEERS, STARTERS, Peer, environment, python_of
from processes import HERE, BenchmarkFailed

CASES = {"mlp": "MLP", "lenet_64": "small CNN", "lstm": "LSTM", "loop_gradient@300": "loop with gradient, 300 turns",
         "loop_gradient@1000": "loop with gradient, 1000 turns", "resnet_4": "ResNet", "googlenet_8": "GoogLeNet", "transformer": "Transformer"}
Key = tuple[str, int, str]  # case, steps, state of the cache
SPIN = "while True: pass"


class Busy:
    """A process that takes as much of one CPU as it gets."""

    def __enter__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", SPIN])

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()


def arrivals(peer: Peer, case: str, steps: int, seconds: float, cache: str) -> tuple[dict[int, float], str]:
    """Seconds until each mark, of those that were reached in time; and the version of the framework."""
    env = {**environment(peer), "PENSTOCK_COMPILE": "background", "PENSTOCK_CACHE_DIR": cache, "TORCHINDUCTOR_CACHE_DIR": cache}
    command = [python_of(peer), str(HERE / "arrival.py"), peer.module, peer.variant, case, str(steps), str(seconds)]
    start = time.monotonic()
    try:
        done = subprocess.run(command, env=env, cwd=HERE, capture_output=True, text=True, timeout=4 * seconds)
    except subprocess.TimeoutExpired:  # not one step within that time
        return {}, ""
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise BenchmarkFailed(f"{peer.label}, {case}: " + "\n".join(done.stderr.strip().splitlines()[-5:]))
    found = json.loads(lines[-1])
    return {int(mark): moment - start for mark, moment in found["moments"].items()}, found["version"]


class Table:
    """What was found so far: by case, steps and state of the cache, and by peer."""

    def __init__(self) -> None:
        self.best: dict[Key, dict[str, float]] = {}
        self.versions: dict[str, str] = {}

    def add(self, case: str, state: str, peer: Peer, found: dict[int, float], version: str) -> None:
        """Keeps what is faster than before."""
        self.versions[peer.name] = version or self.versions.get(peer.name, "")
        for mark, seconds in found.items():
            row = self.best.setdefault((case, mark, state), {})
            row[peer.name] = min(seconds, row.get(peer.name, float("inf")))

    def rows(self, peers: list[str]) -> list[list[str]]:
        """A row per case, steps and state, with the head."""
        rows = [["model", "steps", "kernels", *(PEERS[name].label for name in peers), "ratio"]]
        for (case, mark, state), found in sorted(self.best.items(), key=lambda item: (list(CASES).index(item[0][0]), item[0][1], item[0][2])):
            figure, cells = table.ratio(found), [table.amount(found.get(name)) for name in peers]
            rows.append([CASES[case], str(mark), state, *cells, "" if figure is None else f"{figure:.2f}"])
        return rows


def measure(found: Table, kept: Kept, case: str, peer: Peer, number: int, args: argparse.Namespace) -> None:
    """One round of a case and a framework: one process, or two if it keeps what it compiles."""
    def run() -> dict[str, Any] | None:
        with tempfile.TemporaryDirectory() as cache, Busy() if args.busy else contextlib.nullcontext():
            try:
                cold, version = arrivals(peer, case, args.steps, args.seconds, cache)
                warm, _ = arrivals(peer, case, args.steps, args.seconds, cache) if peer.keeps_kernels else (cold, version)
            except (BenchmarkFailed, OSError, subprocess.CalledProcessError) as error:
                print(f"failed: {error}", file=sys.stderr, flush=True)
                return None
        return {"cold": cold, "warm": warm, "version": version}

    figures = kept.measure(f"{case} | {peer.name} | {args.steps} steps, {args.seconds:.0f} s | round {number}", run)
    for state in ("cold", "warm") if figures else ():
        found.add(case, state, peer, {int(mark): seconds for mark, seconds in figures[state].items()}, figures["version"])


def main() -> int:
    """Measures and prints; with ``--write`` after each case, so that a run that is broken off leaves what it found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES), help="names, with commas")
    parser.add_argument("--peers", default=",".join(STARTERS), help="names, with commas")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0, help="no step begins later in a process")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--busy", action="store_true", help="with one busy process beside")
    parser.add_argument("--limit", type=float, default=0.0, help="no process starts after so many seconds; the next run goes on")
    parser.add_argument("--again", action="store_true", help="forget what earlier runs have measured")
    parser.add_argument("--write", metavar="FILE")
    args = parser.parse_args()
    peers = [PEERS[name] for name in args.peers.split(",") if name != "tf1" or os.environ.get("PENSTOCK_TF1_PYTHON")]
    for peer in peers:
        python_of(peer)  # makes its environment, which is not measured
    compileall.compile_dir(HERE.parent / "src", quiet=1)
    kept = Kept("time_to_result_busy" if args.busy else "time_to_result", args.limit, args.again)
    found, names, missing = Table(), [peer.name for peer in peers], 0
    for case in args.cases.split(","):
        for number in range(args.rounds):
            for peer in peers:
                try:
                    measure(found, kept, case, peer, number, args)
                except OutOfTime:
                    missing += 1
        for row in found.rows(names):
            if row[0] in ("model", CASES[case]):
                print(f"{row[0]:<32}{row[1]:>6} {row[2]:<8}" + "".join(f"{cell:>14}" for cell in row[3:]), flush=True)
        if args.write:
            write(HERE / args.write, found, names, args)
    if missing:
        print(f"{missing} measurements are missing: run it again to go on", flush=True)
    return 0


def write(path: Path, found: Table, peers: list[str], args: argparse.Namespace) -> None:
    """The table as Markdown."""
    versions = ", ".join(f"{PEERS[name].label} {version}" for name, version in found.versions.items() if version)
    beside = "with one busy process beside" if args.busy else "nothing else was started beside"
    beside += f" (load of the machine at the end: {os.getloadavg()[0]:.1f})"
    rows = found.rows(peers)
    rows.insert(1, ["---"] * len(rows[0]))
    text = f"""# Time to a result

Seconds from the start of a process (import, graph, compiler) to the end of so many training steps, in the default mode.
{datetime.date.today():%Y-%m-%d}; {table.machine()}; {beside}.
{versions}. Minimum of {args.rounds} rounds; a cell is empty if the steps had not begun after {args.seconds:.0f} s.
`cold`: no compiled kernels on disk; `warm`: those of the run before (Penstock, torch.compile). Ratio: Penstock's over the best other one.

"""
    path.write_text(text + "\n".join("| " + " | ".join(cells) + " |" for cells in rows) + "\n")


if __name__ == "__main__":
    sys.exit(main())
