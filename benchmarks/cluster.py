"""The microbenchmark of the OSDI paper: steps per second of ps and worker processes, beside real TensorFlow: `python benchmarks/cluster.py`.

Models without computation (the paper's section 6.2): null (a scalar of every ps is read), scalar, dense (all
parameters are read and updated) and sparse (32 rows of an embedding; also by a plain ``embedding_lookup`` over its shards, with
several optimizers), asynchronous and synchronous, 1 to 8 workers; and
a synchronous one with a straggler, with and without backup workers. The rounds of the two frameworks are interleaved, and
each number is the best of its rounds. TensorFlow is in the Python that ``--peer`` or PENSTOCK_TF_PYTHON names, or is
installed once (``peers.py``); ``--peer none`` does without it.
"""
from __future__ import annotations

import argparse
import datetime
import json
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers import PEERS, python_of
from table import machine

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
PATIENCE = 120  # seconds


@dataclass(frozen=True)
class Row:
    """What is measured: a model, how workers cooperate, how many there are."""

    label: str
    model: str
    size: int = 0  # bytes of a dense model, rows of a sparse one
    sync: bool = False
    backup: int = 0
    straggler: float = 0.0  # seconds by which the last worker is late in each step
    optimizer: str = ""  # of a model that looks rows up; without one they are only read


MODELS = [
    Row("null", "null"), Row("scalar", "scalar"), Row("dense 4 MB", "dense", 4_000_000), Row("dense 100 MB", "dense", 100_000_000),
    Row("sparse 64k rows", "sparse", 1 << 16), Row("sparse 1M rows", "sparse", 1 << 20),
    Row("lookup, read", "lookup", 1 << 20),
    *(Row(f"lookup, {name}", "lookup", 1 << 20, optimizer=name) for name in ("sgd", "adagrad", "adam", "ftrl")),
]
SYNCHRONOUS = [
    Row("sync scalar", "scalar", sync=True), Row("sync dense 4 MB", "dense", 4_000_000, sync=True), Row("sync sparse", "sparse", 1 << 16, sync=True),
]
STRAGGLER = [
    Row("straggler, no backup", "scalar", sync=True, straggler=0.05), Row("straggler, 1 backup", "scalar", sync=True, backup=1, straggler=0.05),
]


@dataclass(frozen=True)
class Framework:
    """A framework and the Python that has it."""

    name: str
    python: str

    def environment(self) -> dict[str, str]:
        """Penstock comes from this checkout; TensorFlow must not see our path, and shall be quiet."""
        env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(SOURCE) if self.name == "penstock" else ""}
        for proxy in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            env.pop(proxy, None)
        return env


def free_ports(count: int) -> list[int]:
    """Free ports."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports


@contextmanager
def cluster(framework: Framework, settings: dict[str, Any]) -> Iterator[list[subprocess.Popen[str]]]:
    """The workers of a cluster, which is ended afterwards."""
    ports = [f"127.0.0.1:{port}" for port in free_ports(settings["ps"] + settings["workers"])]
    settings["cluster"] = {"ps": ports[:settings["ps"]], "worker": ports[settings["ps"]:]}
    tasks = [("ps", index) for index in range(settings["ps"])] + [("worker", index) for index in range(settings["workers"])]
    processes = [subprocess.Popen([framework.python, str(HERE / "cluster_task.py"), framework.name, job, str(index), json.dumps(settings)],
                                  env=framework.environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for job, index in tasks]
    try:
        yield processes[settings["ps"]:]
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate(timeout=PATIENCE)


def expect(process: subprocess.Popen[str]) -> str:
    """The next line that a worker prints."""
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError("a worker ended:\n" + process.stderr.read()[-2000:])
    return line


def tell(workers: list[subprocess.Popen[str]]) -> None:
    """Lets the workers go on."""
    for process in workers:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def measure(framework: Framework, row: Row, workers: int, seconds: float) -> dict[str, float]:
    """Steps per second and worker, and how long steps took: median and 90th percentile in seconds, over all workers but a straggler."""
    settings = {"ps": 2, "workers": workers, "model": row.model, "size": row.size, "sync": row.sync, "backup": row.backup,
                "straggler": row.straggler, "optimizer": row.optimizer, "seconds": seconds, "warmup": min(1.0, seconds)}
    with cluster(framework, settings) as processes:
        for process in processes:
            while expect(process).strip() != "ready":
                continue
        tell(processes)
        results = [json.loads(expect(process)) for process in processes]
        tell(processes)
    counted = results[:-1] if row.straggler else results
    times = sorted(time for result in counted for time in result["times"])
    return {"rate": sum(len(result["times"]) / sum(result["times"]) for result in counted) / len(counted),
            "median": statistics.median(times), "p90": times[int(0.9 * (len(times) - 1))]}


def best(frameworks: list[Framework], row: Row, workers: int, args: argparse.Namespace) -> list[dict[str, float]]:
    """The best round of each framework, the rounds interleaved."""
    rounds = [[measure(framework, row, workers, args.seconds) for framework in frameworks] for _ in range(args.rounds)]
    return [max(results, key=lambda result: result["rate"]) for results in zip(*rounds)]


def print_row(row: Row, workers: int, results: list[dict[str, float]]) -> None:
    """One line of the table."""
    cells = "".join(f"{result['rate']:>12.1f}{result['median'] * 1e3:>9.2f}{result['p90'] * 1e3:>9.2f}" for result in results)
    ratio = f"{results[0]['rate'] / results[1]['rate']:>9.2f}x" if len(results) > 1 else ""
    print(f"{row.label:<24}{workers:>8}{cells}{ratio}", flush=True)


def write(path: Path, frameworks: list[Framework], measured: dict[tuple[Row, int], list[dict[str, float]]], args: argparse.Namespace) -> None:
    """The table as Markdown."""
    heads = ["model", "workers", *(head for framework in frameworks for head in (framework.name, "median ms", "p90 ms")), "ratio"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for (row, workers), results in measured.items():
        figures = [text for result in results for text in (f"{result['rate']:.1f}", f"{result['median'] * 1e3:.2f}", f"{result['p90'] * 1e3:.2f}")]
        ratio = f"{results[0]['rate'] / results[-1]['rate']:.2f}x" if len(results) > 1 else ""
        lines.append("| " + " | ".join([row.label, str(workers), *figures, ratio]) + " |")
    path.write_text(f"""# The cluster benchmark, measured

Written by `python benchmarks/cluster.py --write` on {datetime.date.today():%Y-%m-%d}; {machine()}. Penstock beside TensorFlow 2.21
(its gRPC runtime), 2 parameter servers, all tasks on this machine. Steps per second and worker, median and 90th percentile of the time of a
step; {args.seconds:g} seconds of steps, the best of {args.rounds} rounds, in which the frameworks alternate. The targets are TensorFlow's rate in
every row, and twice that in the dense ones. With a straggler (the last worker is late by 50 ms in each step) the other workers are counted.

""" + "\n".join(lines) + "\n")


def draw(path: str, frameworks: list[Framework], measured: dict[tuple[Row, int], list[dict[str, float]]]) -> None:
    """The paper's figure: steps per second over the number of workers, one line per model."""
    import matplotlib  # an optional extra

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for color, row in enumerate(dict.fromkeys(row for row, _ in measured)):
        for which, framework in enumerate(frameworks):
            points = [(workers, results[which]["rate"]) for (other, workers), results in measured.items() if other == row]
            axes.plot(*zip(*points), "o-" if which == 0 else "x--", color=f"C{color}", label=f"{row.label}, {framework.name}")
    axes.set(xlabel="workers", ylabel="steps per second and worker", yscale="log", title="Models without computation, 2 parameter servers")
    axes.set_xticks(sorted({workers for _, workers in measured}))
    axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, bbox_inches="tight")
    print(f"drawn: {path}")


def main() -> int:
    """Measures and prints the table; draws it with --plot."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", help="the Python that has TensorFlow, or none")
    parser.add_argument("--only", help="rows whose label contains this")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0, help="of steps per round")
    parser.add_argument("--write", action="store_true", help="write the table to benchmarks/CLUSTER.md")
    parser.add_argument("--plot", metavar="FILE", help="where to draw the figure (needs matplotlib)")
    args = parser.parse_args()
    peers = [] if args.peer == "none" else [Framework("tensorflow", args.peer or python_of(PEERS["tf"]))]
    frameworks = [Framework("penstock", sys.executable), *peers]
    heads = "".join(f"{framework.name:>12}{'median':>9}{'p90 ms':>9}" for framework in frameworks)
    print(f"{'steps/s per worker':<24}{'workers':>8}{heads}{'ratio':>10}")
    measured: dict[tuple[Row, int], list[dict[str, float]]] = {}
    for row in [*MODELS, *SYNCHRONOUS, *STRAGGLER]:
        if args.only and args.only not in row.label:
            continue
        for workers in args.workers:
            if workers < (3 if row.straggler else 2 if row.sync else 1):
                continue
            measured[row, workers] = best(frameworks, row, workers, args)
            print_row(row, workers, measured[row, workers])
            if args.write:  # after each row: a run that is broken off leaves what it found
                write(HERE / "CLUSTER.md", frameworks, measured, args)
    if args.plot:
        draw(args.plot, frameworks, {key: results for key, results in measured.items() if not key[0].straggler})
    return 0


if __name__ == "__main__":
    sys.exit(main())
