"""A crowded machine: the mean of a training step beside one busy process, beside the same training, and with one thread.

    python benchmarks/crowd.py                       models of several kinds, Penstock and TensorFlow
    python benchmarks/crowd.py --cases lenet_64,mlp --seconds 6 --write CROWD.md

On C CPUs, the fair share of a process beside a busy one is C / 2 of them: with two, the time of one thread that has a CPU for itself, which is
measured too. The aims: beside a busy process never slower than with one thread there, within 1.3 of the fair share, and two trainings side by side
done no later than two of TensorFlow.
"""
from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import json
import subprocess
import sys
import time

CASES = "mlp,lenet_64,lstm,resnet_4,elementwise,softmax,segments,experts"
WARM_UP = 1.0  # seconds
# How many processes, beside a busy one or not, with how many threads (as many as there are CPUs, if nothing is said).
SITUATIONS = {"alone": (1, False, ""), "two": (2, False, ""), "busy": (1, True, ""), "busy, 1 thread": (1, True, "1"),
              "alone, 1 thread": (1, False, "1")}


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=CASES, help="names, with commas")
    parser.add_argument("--peers", default="penstock,onednn", help="names, with commas")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--write", metavar="FILE")
    args = parser.parse_args()
    cases, peers = args.cases.split(","), args.peers.split(",")
    best: dict[tuple[str, str, str], float] = {}
    for _ in range(args.rounds):
        for case in cases:
            for peer in peers:
                for name, (processes, busy, threads) in SITUATIONS.items():
                    if not threads or peer == "penstock":
                        seconds = mean_step(peer, case, args.seconds, processes, busy, threads)
                        best[case, peer, name] = min(seconds, best.get((case, peer, name), float("inf")))
    lines = rows(best, cases, peers)
    print("\n".join(lines))
    if args.write:
        write(args, lines)
    return 0


def mean_step(peer_name: str, case: str, seconds: float, processes: int, busy: bool, threads: str) -> float:
    """The mean of a step, of the slowest of processes that run side by side."""
    from peers import PEERS, environment, python_of  # the children, which run under other Pythons, do not need these
    from processes import HERE
    from time_to_result import Busy

    peer = PEERS[peer_name]
    env = {**environment(peer), **({"PENSTOCK_THREADS": threads} if threads else {})}
    command = [python_of(peer), str(HERE / "crowd.py"), "child", peer.module, peer.variant, case, str(seconds)]
    with Busy() if busy else contextlib.nullcontext():
        started = [subprocess.Popen(command, env=env, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                   for _ in range(processes)]
        return max(json.loads(process.communicate()[0].splitlines()[-1])["seconds"] for process in started)


def rows(best: dict[tuple[str, str, str], float], cases: list[str], peers: list[str]) -> list[str]:
    """The table: a row per case, and the ratios that are to be at most 1, 1.3 and 1."""
    import table  # as in ``mean_step``
    from peers import PEERS

    columns = [(peer, name) for peer in peers for name, (_, _, threads) in SITUATIONS.items() if not threads or peer == "penstock"]
    titles = ["model", *(f"{PEERS[peer].label}: {name}" for peer, name in columns), "busy / 1 thread", "busy / fair share", "two / TF's two"]
    lines = ["| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles)]
    for case in cases:
        ours = {name: best.get((case, "penstock", name), float("nan")) for name in SITUATIONS}
        theirs = best.get((case, "onednn", "two"), float("nan"))
        ratios = (ours["busy"] / ours["busy, 1 thread"], ours["busy"] / ours["alone, 1 thread"], ours["two"] / theirs)
        cells = [table.amount(best[case, peer, name]) for peer, name in columns]
        lines.append("| " + " | ".join([case, *cells, *(f"{ratio:.2f}" for ratio in ratios)]) + " |")
    return lines


def write(args: argparse.Namespace, lines: list[str]) -> None:
    """The table as Markdown."""
    import table  # as in ``mean_step``
    from processes import HERE

    head = f"# A crowded machine\n\nThe mean of a training step over {args.seconds:g} s, the best of {args.rounds} rounds. " \
           f"{datetime.date.today():%Y-%m-%d}; {table.machine()}.\nOf two side by side the slower one is told.\n\n"
    (HERE / args.write).write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(child(*sys.argv[2:]) if sys.argv[1:2] == ["child"] else main())
