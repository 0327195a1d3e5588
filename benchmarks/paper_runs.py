"""The real runs of docs/paper.md: as many workers as this machine carries, beside TensorFlow where it has the model. Reduced sizes are named."""
from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import cluster
import simulation
from peers import PEERS, python_of
from runs import Result, Runs
from text_tables import markdown

HERE = Path(__file__).parent
WORKERS = (1, 2, 4, 8)
PENSTOCK, TENSORFLOW = "penstock", "tensorflow"
NULL_ROWS = [row for row in cluster.MODELS if row.label in ("scalar", "dense 100 MB", "sparse 1M rows")]
INCEPTION, *LANGUAGE = simulation.LARGE
SYNCHRONOUS = dataclasses.replace(INCEPTION, label=f"{INCEPTION.label}, synchronous", sync=True)
WORDS = 4 * 20  # of a step of the language model


def measure(path: Path) -> Runs:
    """Measures what is missing, and keeps all of it in a file."""
    frameworks = [cluster.Framework(PENSTOCK, sys.executable), cluster.Framework(TENSORFLOW, python_of(PEERS["tf"]))]
    small = Runs(cluster.KEPT)
    for row in NULL_ROWS:
        for workers in WORKERS:
            cluster.best(frameworks, row, workers, 1, 2.0, small)
    store = simulation.Store(simulation.KEPT)
    simulation.write(store, list(simulation.compare(store, [*simulation.SMALL, *simulation.LARGE], list(WORKERS), 1)))
    for workers in WORKERS[1:]:
        store.measure(SYNCHRONOUS, workers, 1)
    all_of_them = Runs(path)
    all_of_them.cells = {**store.runs.cells, **small.cells}
    all_of_them.save()
    return all_of_them


def null_steps(runs: Runs) -> str:
    """Milliseconds of steps without computation, beside TensorFlow's: of this run, if it has measured both."""
    rows: list[list[object]] = []
    for row in NULL_ROWS:
        for workers in WORKERS:
            ours, theirs = (runs.find((name, row.label, workers)) for name in (PENSTOCK, TENSORFLOW))
            if ours is not None and theirs is not None:
                rows.append([row.label, workers, *_times(ours), *_times(theirs), f"{theirs['median'] / ours['median']:.2f}"])
    heads = ["model", "workers", "Penstock, median ms", "p10", "p90", "TF 2.21, median ms", "p10", "p90", "TF / Penstock"]
    return markdown(heads, rows) if rows else recorded_null_steps()


def recorded_null_steps() -> str:
    """The same rows of CLUSTER.md, which ``cluster.py --write`` has written: without 10th percentiles, which are not in it."""
    text = (HERE / "CLUSTER.md").read_text().partition("\n## ")[0]  # other tables follow
    labels = [row.label for row in NULL_ROWS]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    rows = [[label, workers, median, p90, their_median, their_p90, ratio.strip("x")]
            for label, workers, _, median, p90, _, their_median, their_p90, ratio in cells if label in labels]
    heads = ["model", "workers", "Penstock, median ms", "p90", "TF 2.21, median ms", "p90", "steps/s, Penstock / TF"]
    where = re.search(r"on (\S+; .*?)\. Penstock", text)
    return f"(Not measured in this run. From [CLUSTER.md](../benchmarks/CLUSTER.md): {where[1] if where else ''}.)\n\n" + markdown(heads, rows)


def inception(runs: Runs) -> str:
    """Images per second and the times of steps, asynchronous and synchronous; how much of the machine others took meanwhile."""
    rows: list[list[object]] = []
    for row in (INCEPTION, SYNCHRONOUS):
        for workers in WORKERS:
            found = runs.find((PENSTOCK, row.label, workers))
            if found is not None:
                rows.append(["synchronous" if row.sync else "asynchronous", workers, f"{found['rate'] * workers:.2f}",
                             *(f"{found[name]:.2f}" for name in ("p10", "median", "p90")), _size(found["ps_memory"]), _size(found["worker_memory"]),
                             f"{found['others']:.0%}"])
    heads = ["", "workers", "images/s", "p10 s", "p50 s", "p90 s", "memory of a ps", "of a worker", "used by others"]
    return markdown(heads, rows) if rows else NOT_MEASURED


def language(runs: Runs) -> str:
    """Words per second over workers."""
    rows: list[list[object]] = []
    for row in LANGUAGE:
        found = [runs.find((PENSTOCK, row.label, workers)) for workers in WORKERS]
        if any(found):
            rates = [f"{each['rate'] * workers * WORDS:,.0f}" if each else "" for workers, each in zip(WORKERS, found)]
            rows.append([row.label.partition(", ")[2], *rates])
    return markdown(["words per second", *(f"{workers} workers" for workers in WORKERS)], rows) if rows else NOT_MEASURED


NOT_MEASURED = "(Not measured yet: `make paper` does it.)"


def _times(result: Result) -> list[str]:
    return [f"{1e3 * result[name]:.2f}" for name in ("median", "p10", "p90")]


def _size(count: float) -> str:
    return f"{count / 1e6:,.0f} MB"
