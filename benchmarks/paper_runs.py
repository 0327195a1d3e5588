"""The real runs of docs/paper.md: as many workers as this machine carries, beside TensorFlow where it has the model. Reduced sizes are named."""
from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import cluster
import simulation
from peers import PEERS, python_of
from pieces import Piece
from runs import Result, Runs
from text_tables import markdown

HERE = Path(__file__).parent
WORKERS = (1, 2, 4, 8)
PENSTOCK, TENSORFLOW = "penstock", "tensorflow"
NULL_ROWS = [row for row in cluster.MODELS if row.label in ("scalar", "dense 100 MB", "sparse 1M rows")]
INCEPTION, *LANGUAGE = simulation.LARGE
SYNCHRONOUS = dataclasses.replace(INCEPTION, label=f"{INCEPTION.label}, synchronous", sync=True)
WORDS = 4 * 20  # of a step of the language model


def pieces() -> list[Piece]:
    """All that is measured with real clusters."""
    store, small = simulation.Store(simulation.KEPT), Runs(cluster.KEPT)
    return [*_null_pieces(small), *_check_pieces(store),
            *(_cell("synchronous", store, SYNCHRONOUS, workers, 10.0 + 9.0 * workers) for workers in WORKERS[1:])]


def _null_pieces(runs: Runs) -> Iterator[Piece]:
    """Steps without computation, ours and TensorFlow's by turns."""
    frameworks = [cluster.Framework(PENSTOCK, sys.executable), cluster.Framework(TENSORFLOW, python_of(PEERS["tf"]))]
    for row in NULL_ROWS:
        for workers in WORKERS:
            for framework in frameworks:
                cell = (framework.name, row.label, workers)
                yield Piece("null steps", f"{row.label}, {workers} workers, {framework.name}", 6.0 + 1.5 * workers, partial(runs.has, cell),
                            partial(runs.measure, cell, 1, partial(cluster.measure, framework, row, workers, 2.0)))


def _check_pieces(store: simulation.Store) -> Iterator[Piece]:
    """What the simulation is compared with: the costs of messages before and after a row, its profile, and its cells."""
    def costs(number: int) -> Piece:
        return Piece("check", f"costs of messages, {number}", 22.0, partial(store.has, f"costs {number}"), partial(store.costs, number))

    yield costs(0)
    for row in [*simulation.SMALL, *simulation.LARGE]:
        before, after = simulation.calibrations(row)
        large = row in simulation.LARGE
        yield Piece("check", f"a step of {row.label}", 25.0 if large else 6.0, partial(store.has, f"profile of {row.label}"),
                    partial(store.profile, row))
        yield from (_cell("check", store, row, workers, 8.0 + 6.0 * workers if large else 6.0 + workers) for workers in WORKERS)
        if after != before:
            yield costs(after)


def _cell(section: str, store: simulation.Store, row: cluster.Row, workers: int, seconds: float) -> Piece:
    return Piece(section, f"{row.label}, {workers} workers", seconds, partial(store.runs.has, (PENSTOCK, row.label, workers)),
                 partial(store.measure, row, workers, 1))


def collect(path: Path) -> Runs:
    """Keeps the real runs in one file; writes SIMULATION.md of those that the simulation predicts."""
    store = simulation.Store(simulation.KEPT)
    compared = [store.kept(row, list(WORKERS)) for row in [*simulation.SMALL, *simulation.LARGE]]
    simulation.write(store, [each for each in compared if each is not None])
    all_of_them = Runs(path)
    all_of_them.cells = {**store.runs.cells, **Runs(cluster.KEPT).cells}
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
