"""The microbenchmark of the OSDI paper: steps per second of ps and worker processes, beside real TensorFlow: `python benchmarks/cluster.py`.

Models without computation (the paper's section 6.2): null (a scalar of every ps is read), scalar, dense (all
parameters are read and updated) and sparse (32 rows of an embedding; also by a plain ``embedding_lookup`` over its shards, with
several optimizers), asynchronous and synchronous, 1 to 8 workers; and
a synchronous one with a straggler, with and without backup workers. The rounds of the two frameworks are interleaved, and
each number is the best of its rounds. TensorFlow is in the Python that ``--peer`` or PENSTOCK_TF_PYTHON names, or is
installed once (``peers.py``); ``--peer none`` does without it. What was measured is kept in ``build/cluster``: a run that was broken off goes on
where it was, ``--again`` measures anew.
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
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from peers import PEERS, python_of
from runs import Result, Runs
from table import machine

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
KEPT = HERE.parent / "build" / "cluster" / "runs.json"
PATIENCE = 120  # seconds
PS = 2


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
    arguments: tuple[str, ...] = ()  # of a model of paper_models.py
    steps: int = 1  # that are measured at least
    warm: int = 1  # steps by which all native code is there, and memory in its place


MODELS = [
    Row("null", "null"), Row("scalar", "scalar"), Row("dense 4 MB", "dense", 4_000_000), Row("dense 100 MB", "dense", 100_000_000),
    Row("sparse 64k rows", "sparse", 1 << 16), Row("sparse 1M rows", "sparse", 1 << 20),
    Row("lookup, read", "lookup", 1 << 20),
    *(Row(f"lookup, {name}", "lookup", 1 << 20, optimizer=name) for name in ("sgd", "adagrad", "adam", "ftrl")),
    Row("partitioned, read", "partitioned", 1 << 20),
    *(Row(f"partitioned, {name}", "partitioned", 1 << 20, optimizer=name) for name in ("sgd", "adagrad", "ftrl")),
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
def cluster(framework: Framework, settings: dict[str, Any]) -> Iterator[tuple[list[subprocess.Popen[str]], list[subprocess.Popen[str]]]]:
    """The parameter servers and the workers of a cluster, which is ended afterwards."""
    ports = [f"127.0.0.1:{port}" for port in free_ports(settings["ps"] + settings["workers"])]
    settings["cluster"] = {"ps": ports[:settings["ps"]], "worker": ports[settings["ps"]:]}
    tasks = [("ps", index) for index in range(settings["ps"])] + [("worker", index) for index in range(settings["workers"])]
    processes = [subprocess.Popen([framework.python, str(HERE / "cluster_task.py"), framework.name, job, str(index), json.dumps(settings)],
                                  env=framework.environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for job, index in tasks]
    try:
        yield processes[:settings["ps"]], processes[settings["ps"]:]
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


def settings_of(row: Row, workers: int, seconds: float) -> dict[str, Any]:
    """What tasks are told of a row (``cluster_task.py``)."""
    return {"ps": PS, "workers": workers, "model": row.model, "size": row.size, "sync": row.sync, "backup": row.backup, "straggler": row.straggler,
            "optimizer": row.optimizer, "arguments": list(row.arguments), "steps": row.steps, "warm": row.warm, "seconds": seconds,
            "warmup": min(1.0, seconds)}


def measure(framework: Framework, row: Row, workers: int, seconds: float) -> Result:
    """Steps per second and worker; how long steps took (median, 10th and 90th percentile in seconds) over all workers but a straggler; the seconds of
    a core that a step takes, of its worker and of the parameter servers together; the bytes that the largest of each occupies; and the share of the
    machine that went to other programs meanwhile, or to other virtual machines."""
    with cluster(framework, settings_of(row, workers, seconds)) as (servers, processes):
        wait_for("ready", processes)
        if not row.sync:
            wait_for("warm", processes)
            hear("settled", processes)
        before, began = [_core_seconds(group) for group in (servers, processes)], time.perf_counter()
        in_use = _core_seconds_of_all()
        results = [json.loads(expect(process)) for process in processes]
        spent, elapsed = [_core_seconds(group) for group in (servers, processes)], time.perf_counter() - began
        others = _core_seconds_of_all() - in_use - (sum(spent) - sum(before))
        memory = [max(map(_resident_bytes, group)) for group in (servers, processes)]
        tell(processes)
    counted = results[:-1] if row.straggler else results
    times = sorted(taken for result in counted for taken in result["times"])
    rates = [len(result["times"]) / sum(result["times"]) for result in results]
    steps = elapsed * sum(rates)  # workers go on until all have been measured
    return {"rate": sum(rates[:len(counted)]) / len(counted), "median": statistics.median(times), "p10": times[int(0.1 * (len(times) - 1))],
            "p90": times[int(0.9 * (len(times) - 1))], "ps_cpu": (spent[0] - before[0]) / steps, "worker_cpu": (spent[1] - before[1]) / steps,
            "ps_memory": memory[0], "worker_memory": memory[1], "others": max(others, 0.0) / elapsed / (os.cpu_count() or 1)}


def wait_for(word: str, processes: list[subprocess.Popen[str]]) -> None:
    """Until all workers have said it; then they go on."""
    hear(word, processes)
    tell(processes)


def hear(word: str, processes: list[subprocess.Popen[str]]) -> None:
    """Until all workers have said it."""
    for process in processes:
        while expect(process).strip() != word:
            continue


def _core_seconds(processes: list[subprocess.Popen[str]]) -> float:
    """What processes have used of the cores (Linux)."""
    fields = [Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split() for process in processes]
    return sum(int(field[11]) + int(field[12]) for field in fields) / os.sysconf("SC_CLK_TCK")


def _core_seconds_of_all() -> float:
    """What was used of all cores, by this system or by others of the same host: user, nice, system, irq, softirq and steal of /proc/stat."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / os.sysconf("SC_CLK_TCK")


def _resident_bytes(process: subprocess.Popen[str]) -> int:
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def best(frameworks: list[Framework], row: Row, workers: int, rounds: int, seconds: float, runs: Runs) -> list[Result]:
    """The best round of each framework, the rounds interleaved; what ``runs`` has is not measured again."""
    for number in range(rounds):
        for framework in frameworks:
            runs.measure((framework.name, row.label, workers), number + 1, partial(measure, framework, row, workers, seconds))
    return [max(runs.measure((framework.name, row.label, workers), rounds, dict), key=_rate) for framework in frameworks]


def _rate(result: Result) -> float:
    return result["rate"]


def print_row(row: Row, workers: int, results: list[Result]) -> None:
    """One line of the table."""
    cells = "".join(f"{result['rate']:>12.1f}{result['median'] * 1e3:>9.2f}{result['p90'] * 1e3:>9.2f}" for result in results)
    ratio = f"{results[0]['rate'] / results[1]['rate']:>9.2f}x" if len(results) > 1 else ""
    print(f"{row.label:<24}{workers:>8}{cells}{ratio}", flush=True)


def write(path: Path, frameworks: list[Framework], measured: dict[tuple[Row, int], list[Result]], args: argparse.Namespace) -> None:
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


def draw(path: str, frameworks: list[Framework], measured: dict[tuple[Row, int], list[Result]]) -> None:
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
    parser.add_argument("--again", action="store_true", help="forget what is kept of the chosen rows")
    parser.add_argument("--write", action="store_true", help="write the table to benchmarks/CLUSTER.md")
    parser.add_argument("--plot", metavar="FILE", help="where to draw the figure (needs matplotlib)")
    args = parser.parse_args()
    peers = [] if args.peer == "none" else [Framework("tensorflow", args.peer or python_of(PEERS["tf"]))]
    frameworks = [Framework("penstock", sys.executable), *peers]
    heads = "".join(f"{framework.name:>12}{'median':>9}{'p90 ms':>9}" for framework in frameworks)
    print(f"{'steps/s per worker':<24}{'workers':>8}{heads}{'ratio':>10}")
    measured: dict[tuple[Row, int], list[Result]] = {}
    runs = Runs(KEPT)
    for row in [*MODELS, *SYNCHRONOUS, *STRAGGLER]:
        if args.only and args.only not in row.label:
            continue
        for workers in args.workers:
            if workers < (3 if row.straggler else 2 if row.sync else 1):
                continue
            if args.again:
                for framework in frameworks:
                    runs.forget((framework.name, row.label, workers))
            measured[row, workers] = best(frameworks, row, workers, args.rounds, args.seconds, runs)
            print_row(row, workers, measured[row, workers])
            if args.write:  # after each row: a run that is broken off leaves what it found
                write(HERE / "CLUSTER.md", frameworks, measured, args)
    if args.plot:
        draw(args.plot, frameworks, {key: results for key, results in measured.items() if not key[0].straggler})
    return 0


if __name__ == "__main__":
    sys.exit(main())
