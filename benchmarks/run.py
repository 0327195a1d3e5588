"""The benchmarks, beside TensorFlow, PyTorch and JAX: `make bench`.

    make bench                                        every case, every framework
    make bench ARGS="--cases mlp,lstm --peers jax"    some of them
    make bench ARGS="--rounds 9 --write"              and writes the table to benchmarks/RESULTS.md
    make bench ARGS="--isa avx2"                      as on a machine without AVX-512
    make bench ARGS="--device GPU --cases mlp"        on an OpenCL device, beside Penstock on the CPU (docs/gpu.md)
    make bench ARGS=--quick                           ten cases in five minutes or so, also drawn: build/bench.png
    make bench ARGS="--limit 240 --write"             the cases that can be begun within 240 seconds; the next run with --limit goes on

Each framework runs in a process and an environment of its own (`peers.py`). The processes of a case are made ready together and then measure in
turns, so that a busy moment of the machine hits all; the minimum counts. The figure of a case is Penstock's time over the best other one's.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import drawing
import table
from cases import CASES, QUICK, Case
from kept import Kept, OutOfTime
from peers import ISAS, KINDS, PEERS, Peer
from processes import BenchmarkFailed, Worker, measure_afresh


class Run:
    """What was found so far."""

    def __init__(self, rounds: int, seconds: float) -> None:
        self.rounds, self.seconds = rounds, seconds
        self.versions: dict[str, str] = {}
        self.failed = False

    def case(self, case: Case, peers: list[Peer]) -> dict[str, float]:
        """The best figure of each peer."""
        return self._afresh(case, peers) if case.script else self._in_turns(case, peers)

    def _afresh(self, case: Case, peers: list[Peer]) -> dict[str, float]:
        best: dict[str, float] = {}
        for number in range(self.rounds):
            for peer in list(peers):
                self._progress(f"{case.label}: round {number + 1} of {self.rounds}, {peer.label}")
                try:
                    answer = measure_afresh(peer, case.script, case.name)
                except (BenchmarkFailed, OSError, subprocess.CalledProcessError) as error:
                    self._complain(error)
                    peers.remove(peer)
                    continue
                self.versions[peer.name] = answer["version"]
                best[peer.name] = min(answer["seconds"], best.get(peer.name, float("inf")))
        return best

    def _in_turns(self, case: Case, peers: list[Peer]) -> dict[str, float]:
        workers: list[Worker] = []
        best: dict[str, float] = {}
        try:
            for peer in peers:
                self._progress(f"{case.label}: {peer.label} gets ready")
                self._start(workers, peer, case)
            for number in range(self.rounds):
                for worker in list(workers):
                    self._progress(f"{case.label}: round {number + 1} of {self.rounds}, {worker.peer.label}")
                    try:
                        best[worker.peer.name] = min(worker.round(self.seconds), best.get(worker.peer.name, float("inf")))
                    except (BenchmarkFailed, OSError) as error:
                        self._complain(error)
                        workers.remove(worker)
        finally:
            for worker in workers:
                worker.close()
        return best

    def _start(self, workers: list[Worker], peer: Peer, case: Case) -> None:
        try:
            worker = Worker(peer, case.name)
        except (BenchmarkFailed, OSError, subprocess.CalledProcessError) as error:
            self._complain(error)
            return
        workers.append(worker)
        self.versions[peer.name] = worker.about["version"]
        sizes = {other.peer.label: other.about["parameters"] for other in workers}
        if len(set(sizes.values())) > 1:
            self._complain(f"{case.name}: not the same model, by their parameters: {sizes}")

    def _complain(self, error: object) -> None:
        self.failed = True
        self._progress("")
        print(f"failed: {error}", file=sys.stderr, flush=True)

    @staticmethod
    def _progress(text: str) -> None:
        """A line that the next one replaces; only for a terminal."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _names(text: str, known: dict) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not among {', '.join(known)}")
    return names


def _chosen(args: argparse.Namespace) -> argparse.Namespace:
    """The arguments, with what was not said: all cases, or those of a quick run."""
    args.cases = args.cases or (list(QUICK) if args.quick else list(CASES))
    args.rounds = args.rounds or (2 if args.quick else 5)
    args.seconds = args.seconds or (0.4 if args.quick else 1.0)
    return args


def main() -> int:
    """Measures all cases and prints them; the exit code is 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=lambda text: _names(text, CASES), help="names, with commas: " + ", ".join(CASES))
    parser.add_argument("--peers", type=lambda text: _names(text, PEERS), default=list(PEERS), help="names, with commas: " + ", ".join(PEERS))
    parser.add_argument("--rounds", type=int, help="turns of each framework (default: 5)")
    parser.add_argument("--seconds", type=float, help="how long a turn runs, at least one step (default: 1)")
    parser.add_argument("--quick", action="store_true", help="ten cases, two short rounds, and a drawing")
    parser.add_argument("--plot", metavar="FILE", help="draw the ratios to a picture (default of --quick: build/bench.png)")
    parser.add_argument("--isa", choices=list(ISAS), help="hold all frameworks to these instructions (default: all that the CPU has)")
    parser.add_argument("--device", choices=["CPU", "GPU"], default="CPU", help="GPU: Penstock on an OpenCL device, beside Penstock on the CPU")
    parser.add_argument("--limit", type=float, default=0.0, help="no case begins after so many seconds, and what earlier such runs measured counts")
    parser.add_argument("--again", action="store_true", help="with --limit: forget what earlier runs have measured")
    parser.add_argument("--write", nargs="?", const="RESULTS.md", metavar="FILE", help="write the table to this file of benchmarks/ (%(const)s)")
    args = _chosen(parser.parse_args())
    os.environ.update(ISAS.get(args.isa, {}))
    if args.device == "GPU":
        os.environ.setdefault("PENSTOCK_OPENCL", "all")
    else:
        os.environ["PENSTOCK_OPENCL"] = "off"
    run, results, wanted = Run(args.rounds, args.seconds), {}, {*args.peers, "penstock"}

    def kinds(name: str) -> tuple[str, ...]:
        return KINDS["device" if args.device == "GPU" else CASES[name].peers]

    columns = [name for name in PEERS if name in wanted and any(name in kinds(case) for case in args.cases)]
    print(table.line(table.heads(columns)), flush=True)
    kept = Kept("steady_" + "_".join(filter(None, (args.device.lower(), args.isa))), args.limit, args.again or not args.limit)
    for name in args.cases:
        case, peers = CASES[name], [PEERS[peer] for peer in kinds(name) if peer in wanted]
        try:
            key = f"{name} | {', '.join(peer.name for peer in peers)} | {args.rounds} x {args.seconds:g} s"
            found = kept.measure(key, lambda case=case, peers=peers: {"figures": run.case(case, peers), "versions": run.versions})
        except OutOfTime:
            print(f"{case.label}: not measured yet", flush=True)
            continue
        results[name] = found["figures"]
        run.versions |= found["versions"]
        run._progress("")
        print(table.line(table.row(case, results[name], columns)), flush=True)
        if args.write:  # after each case: a run that is broken off leaves what it found
            table.write(Path(__file__).with_name(args.write), results, run.versions, args.rounds)
    print(f"minimum of {args.rounds} rounds; " + ", ".join(f"{PEERS[name].label} {version}" for name, version in run.versions.items()))
    print("ratio: Penstock's figure over the best other one; below 1 is better. aim: the ratio to reach (to dream of)")
    print(table.ALLOWED)
    if args.plot or args.quick:
        drawing.draw(Path(args.plot or "build/bench.png"), results)
    return int(run.failed)


if __name__ == "__main__":
    sys.exit(main())
