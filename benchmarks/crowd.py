"""A crowded machine: the mean of a training step beside one busy process, beside the same training, and with one thread.

    python benchmarks/crowd.py                       the MLP, Penstock and TensorFlow
    python benchmarks/crowd.py --case lenet_64 --seconds 6 --write CROWD.md

On C CPUs, the fair share of a process beside a busy one is C / 2 of them: with two, the time of one thread that has a CPU for itself.
The aim: beside a busy process never slower than with one thread there, and within 1.3 of the fair share.
"""
from __future__ import annotations

import argparse
import datetime
import importlib
import json
import subprocess
import sys
import time

WARM_UP = 1.0  # seconds


def child(module: str, variant: str, case: str, seconds: str) -> None:
    """Trains for some seconds and prints the mean of its steps."""
    step = importlib.import_module("models." + module).make(case, variant)
    end = time.perf_counter() + WARM_UP
    while time.perf_counter() < end:
        step.run()
    start, count = time.perf_counter(), 0
    while time.perf_counter() < start + float(seconds):
        step.run()
        count += 1
    print(json.dumps({"seconds": (time.perf_counter() - start) / count}), flush=True)


def main() -> int:
    """Measures in turns, prints the table."""
    import table  # the children, which run under other Pythons, do not need these
    from peers import PEERS, environment, python_of
    from processes import HERE
    from time_to_result import Busy

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="mlp")
    parser.add_argument("--peers", default="penstock,onednn", help="names, with commas")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--write", metavar="FILE")
    args = parser.parse_args()

    def start(name: str, threads: str = "") -> subprocess.Popen:
        peer = PEERS[name]
        env = {**environment(peer), **({"PENSTOCK_THREADS": threads} if threads else {})}
        command = [python_of(peer), str(HERE / "crowd.py"), "child", peer.module, peer.variant, args.case, str(args.seconds)]
        return subprocess.Popen(command, env=env, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def mean(*processes: subprocess.Popen) -> float:
        """The slowest of processes that run side by side."""
        lines = [process.communicate()[0].splitlines() for process in processes]
        return max(json.loads(each[-1])["seconds"] for each in lines)

    def measured(name: str) -> dict[str, float]:
        rows = {f"{PEERS[name].label}": mean(start(name)), f"{PEERS[name].label}, two side by side": mean(start(name), start(name))}
        with Busy():
            rows[f"{PEERS[name].label}, beside a busy process"] = mean(start(name))
            if name == "penstock":
                rows["Penstock, beside a busy process, one thread"] = mean(start(name, "1"))
        return rows

    best: dict[str, float] = {}
    for _ in range(args.rounds):
        for name in args.peers.split(","):
            for label, seconds in measured(name).items():
                best[label] = min(seconds, best.get(label, float("inf")))
    lines = ["| | mean of a step |", "| --- | --- |", *(f"| {label} | {table.amount(seconds)} |" for label, seconds in best.items())]
    print("\n".join(lines))
    if args.write:
        head = f"# A crowded machine\n\nThe mean of a training step ({args.case}) over {args.seconds:.0f} s, the best of {args.rounds} rounds. " \
               f"{datetime.date.today():%Y-%m-%d}; {table.machine()}.\nOf two side by side the slower one is told.\n\n"
        (HERE / args.write).write_text(head + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(child(*sys.argv[2:]) if sys.argv[1:2] == ["child"] else main())
