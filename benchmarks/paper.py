"""The evaluation of the OSDI paper, reproduced: `make paper` measures, simulates to the paper's sizes, draws, and writes docs/paper.md.

Usage: python benchmarks/paper.py [--recorded | --again] [--sections NAME ...] [--minutes M]

Real clusters are measured with as many workers as this machine carries (``paper_runs.py``), steps of the paper's sizes one worker at a time
(``penstock simulate``), and clusters of the paper's size are simulated. All that is measured is kept in ``build`` until all of it is there, so that a
run that was broken off goes on where it was (--again: begins anew), and then in ``benchmarks/paper``; with --recorded that is used. What is being
measured is told, and how long the rest will take: all of it half an hour, on two cores. --sections measures only parts of it ("null steps", check,
synchronous, prices, profiles), --minutes begins nothing when these are over; the page is written when all is there.
"""
from __future__ import annotations

import argparse
import copy
import dataclasses
import datetime
import math
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
sys.path.insert(0, str(HERE))

import cluster as cluster_benchmark  # noqa: E402
import paper_runs  # noqa: E402
import simulation  # noqa: E402
from paper_figures import DOCS, Curve, Panel, draw  # noqa: E402
from paper_text import BACKUPS, IMAGES_PER_SECOND, NULL_MS, PAGE, TABLE_1  # noqa: E402
from pieces import Piece  # noqa: E402
from pieces import measure as measure_pieces  # noqa: E402
from runs import Runs  # noqa: E402
from table import machine  # noqa: E402
from text_tables import markdown  # noqa: E402

from penstock.simulate import calibration, costs  # noqa: E402
from penstock.simulate.capture import CaptureOrder  # noqa: E402
from penstock.simulate.job import Cluster, Result, Simulation  # noqa: E402
from penstock.simulate.measuring import measure  # noqa: E402
from penstock.simulate.modes import synchronous  # noqa: E402
from penstock.simulate.network import NetworkSpeed  # noqa: E402
from penstock.simulate.profile import JobProfile  # noqa: E402
from penstock.simulate.stragglers import Straggling  # noqa: E402

KEPT, FRESH = HERE / "paper", HERE.parent / "build" / "paper"
NETWORK, CORES = NetworkSpeed.parse("10Gbit,50us"), 8
LATE = Straggling("pareto", 0.5, 2.0)  # of Inception's workers: most hardly, a few very
IMAGES = 32  # of a step of Inception, as in the paper
LANGUAGE = {"full": [], "sampled": ["--sampled", "512"]}
SERVERS = (1, 2, 4)
RECORDED = ", from real runs and profiles of steps that were recorded before (`--recorded`); the next section tells of its own"

PROFILES: dict[str, tuple[int, list[str], int]] = {  # name -> (ps, the program's arguments, how often the step is measured)
    "null": (16, ["null"], 40), "dense": (16, ["dense", "--bytes", "100000000"], 8), "sparse": (16, ["sparse"], 40),
    "inception": (17, ["inception", "--batch", "1"], 6),
    **{f"language-{kind}-{ps}": (ps, ["language", "--batch", "16", *more], 8) for kind, more in LANGUAGE.items() for ps in SERVERS},
}

PROFILE_SECONDS = {"null": 10.0, "dense": 20.0, "sparse": 15.0, "inception": 90.0,  # that they take to measure, more or less
                   **{name: 30.0 for name in PROFILES if name.startswith("language")}}


def profile(name: str, folder: Path) -> JobProfile:
    """What a step of a model is made of; measured if the folder has no such file."""
    path, (ps, arguments, runs) = folder / f"{name}.json", PROFILES[name]
    if not path.exists():
        print(f"measuring {name} ...", flush=True)
        measured = measure(CaptureOrder([str(HERE / "paper_models.py"), *arguments], ps, 1, "", runs=runs, seconds=60.0))
        measured.program = " ".join(["paper_models.py", *arguments])
        path.write_text(measured.to_json())
    return JobProfile.from_json(path.read_text())


def prices(folder: Path) -> costs.Costs:
    """What messages cost."""
    path = folder / "costs.json"
    if not path.exists():
        print("measuring what messages cost ...", flush=True)
        path.write_text(calibration.measure().to_json())
    return costs.Costs.from_json(path.read_text())


class Evaluation:
    """The figures and tables of the page."""

    def __init__(self, folder: Path) -> None:
        self.costs = prices(folder)
        self.profiles = {name: profile(name, folder) for name in PROFILES}
        self.batches = with_images(self.profiles["inception"], IMAGES)

    def run(self, job: JobProfile, workers: int, late: Straggling | None = None, steps: int = 20) -> Result:
        """A job on the paper's cluster."""
        cluster = Cluster(workers, CORES, NETWORK, straggling=late or Straggling())
        return Simulation(job, self.costs, cluster).run(steps, warm=3)

    # --- section 6.2 -------------------------------------------------------------------------------------------------

    def null_steps(self) -> str:
        """Models without computation over the number of workers."""
        counts, rows = (1, 2, 5, 10, 25, 50, 100), []
        curves: list[Curve] = []
        for color, name in enumerate(("null", "sparse", "dense")):
            results = [(workers, self.run(synchronous(self.profiles[name], workers) if name != "null" else self.profiles[name], workers, steps=10))
                       for workers in counts]
            rows += [[name, workers, *(f"{1e3 * result.quantile(share):.2f}" for share in (0.5, 0.1, 0.9)), NULL_MS.get((name, workers), "")]
                     for workers, result in results]
            curves.append(Curve(name, [(workers, 1e3 * result.quantile(0.5)) for workers, result in results], color))
        draw("paper_null", Panel(curves, "workers", "milliseconds per step (median)", logarithmic=True))
        return markdown(["model", "workers", "median ms", "p10", "p90", "the paper's median ms"], rows)

    # --- section 6.3 -------------------------------------------------------------------------------------------------

    def inception(self) -> str:
        """Throughput and step times of Inception-v3."""
        counts, rows, plain = (25, 50, 100, 200), [], self.batches
        rates: dict[str, list[tuple[float, float]]] = {"asynchronous": [], "synchronous": []}
        times: dict[tuple[str, int], list[tuple[float, float]]] = {(name, share): [] for name in rates for share in (10, 50, 90)}
        for workers in counts:
            for name, job in (("asynchronous", plain), ("synchronous", synchronous(plain, workers))):
                result = self.run(job, workers, LATE, steps=10)
                quantiles = {share: result.quantile(share / 100) for share in (10, 50, 90)}
                rates[name].append((workers, IMAGES * result.rate))
                for share, seconds in quantiles.items():
                    times[name, share].append((workers, seconds))
                rows.append([name, workers, f"{IMAGES * result.rate:.0f}", *(f"{seconds:.2f}" for seconds in quantiles.values()),
                             IMAGES_PER_SECOND.get((name, workers), "")])
        draw("paper_inception", Panel([Curve(name, points, color) for color, (name, points) in enumerate(rates.items())],
                                      "workers", "images per second"))
        draw("paper_inception_steps", Panel([Curve(name, times[name, 50], color, band=(times[name, 10], times[name, 90]))
                                             for color, name in enumerate(rates)], "workers", "seconds per step"))
        (_, half), (_, whole) = rates["asynchronous"][-2:]
        slower = times["synchronous", 50][1][1] / times["asynchronous", 50][1][1] - 1.0
        return markdown(["", "workers", "images/s", "p10 s", "p50 s", "p90 s", "the paper's images/s"], rows) + (
            f"\n\nIn shape: from 100 to 200 workers the throughput grows by {whole / half - 1.0:.0%}; with 50 workers the median synchronous step "
            f"takes {slower:.0%} longer than the asynchronous one.")

    def backups(self) -> str:
        """Step time and normalised speed-up over the number of backup workers."""
        rows, steps = [], list[tuple[float, float]]()
        for backups in range(6):
            workers = 50 + backups
            simulation = Simulation(synchronous(self.batches, workers, backups), self.costs,
                                    Cluster(workers, CORES, NETWORK, straggling=LATE))
            simulation.run(20, warm=3)
            steps.append((backups, simulation.clock.now / max(simulation.places.time, 1)))
        gains = [steps[0][1] / step * 50 / (50 + backups) for backups, step in steps]
        rows = [[backups, f"{step:.3f}", f"{gain:.3f}", *BACKUPS.get(backups, ("", ""))] for (backups, step), gain in zip(steps, gains)]
        speedups = [(backups, gain) for (backups, _), gain in zip(steps, gains)]
        draw("paper_backups", Panel([Curve("", steps, 0)], "backup workers", "seconds per update", lowest=None),
             Panel([Curve("", speedups, 1)], "backup workers", "normalised speed-up", lowest=None))
        (shortest, least), best = min(steps, key=lambda item: item[1]), gains.index(max(gains))
        return markdown(["backups", "seconds per update", "normalised speed-up", "the paper's seconds", "the paper's speed-up"], rows) + (
            f"\n\nIn shape: updates are shortest with {shortest} backups, {1.0 - least / steps[0][1]:.1%} shorter than without; "
            f"{best} give the best speed-up for what they cost, {max(gains) - 1.0:.1%}.")

    # --- section 6.4 -------------------------------------------------------------------------------------------------

    def language(self) -> str:
        """Words per second over parameter servers and workers."""
        rows, curves, drawn = [], {}, list[Curve]()
        for kind, style in zip(LANGUAGE, ("o-", "s--")):
            for color, workers in enumerate((4, 32, 256)):
                rates = [(ps, 16 * 20 * self.run(self.profiles[f"language-{kind}-{ps}"], workers, steps=16).rate) for ps in SERVERS]
                curves[kind, workers] = dict(rates)
                drawn.append(Curve(f"{kind}, {workers} workers", rates, color, style))
                rows.append([kind, workers, *(f"{rate:,.0f}" for _, rate in rates)])
        draw("paper_language", Panel(drawn, "ps tasks", "words per second", logarithmic=True))
        few, some, many = (curves["full", workers] for workers in (4, 32, 256))
        sampled = curves["sampled", 32]
        return markdown(["softmax", "workers", *(f"{ps} ps" for ps in SERVERS)], rows) + (
            f"\n\nIn shape, with the full softmax and one parameter server: a second one brings {some[2] / some[1] - 1.0:+.0%} at 32 workers; going "
            f"from 4 to 32 workers brings {some[1] / few[1] - 1.0:+.0%}, and from 32 to 256 {many[1] / some[1] - 1.0:+.0%}. With 32 workers and "
            f"2 parameter servers the sampled softmax is {sampled[2] / some[2]:.1f} times as fast as the full one.")


def with_images(one: JobProfile, count: int) -> JobProfile:
    """The step of a worker with so many images, from one that was measured with a single one: what it computes takes as many times as long."""
    step = copy.deepcopy(one.step)
    for block in step.parts[0].blocks:
        block.native *= count
    return dataclasses.replace(one, step=step)


def table_1() -> str:
    """Table 1 of the paper beside the rows of RESULTS_AVX2.md, which `make bench` has measured."""
    measured = (HERE / "RESULTS_AVX2.md").read_text()
    header = next(line for line in measured.splitlines() if line.startswith("|") and "Penstock" in line)
    rows = []
    for label, figures in TABLE_1.items():
        line = next((line for line in measured.splitlines() if re.match(rf"\|\s*{label}", line)), None)
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line else []
        named = dict(zip([cell.strip() for cell in header.strip("|").split("|")], cells))
        rows.append([label, *figures, *(named.get(name, "") for name in ("Penstock", "TF", "TF+oneDNN", "PyTorch", "JAX"))])
    return markdown(["training step, ms", "Caffe", "Neon", "Torch", "TensorFlow", "Penstock, CPU", "TF 2.21", "TF+oneDNN", "PyTorch", "JAX"], rows)


def to_measure() -> list[Piece]:
    """All that the page is made of."""
    pieces = paper_runs.pieces()
    pieces.append(Piece("prices", "messages on one machine and between several", 60.0, (FRESH / "costs.json").exists, partial(prices, FRESH)))
    for name, seconds in PROFILE_SECONDS.items():
        pieces.append(Piece("profiles", f"a step of {name}", seconds, (FRESH / f"{name}.json").exists, partial(profile, name, FRESH)))
    return pieces


def measure_all(sections: list[str], seconds: float) -> bool:
    """Measures what is missing of this run, of some sections or of all, as far as it can be begun in so many seconds; whether all is there."""
    FRESH.mkdir(parents=True, exist_ok=True)
    pieces = to_measure()
    unknown = set(sections) - {piece.section for piece in pieces}
    if unknown:
        raise SystemExit(f"no section {', '.join(sorted(unknown))}: there are {', '.join(dict.fromkeys(piece.section for piece in pieces))}")
    measure_pieces([piece for piece in pieces if not sections or piece.section in sections], seconds)
    left = [piece for piece in pieces if not piece.is_there()]
    if left:
        print(f"{len(left)} pieces are not measured yet ({', '.join(dict.fromkeys(piece.section for piece in left))}): the same command goes on")
    return not left


def main() -> int:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--recorded", action="store_true", help="use what was measured before")
    parser.add_argument("--again", action="store_true", help="forget what a run that was broken off has measured")
    parser.add_argument("--sections", nargs="+", default=[], metavar="NAME", help="measure only these (default: all)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no measurement when these are over (default: no limit)")
    args = parser.parse_args()
    if args.again:
        for folder in (FRESH, simulation.KEPT, cluster_benchmark.KEPT.parent):
            shutil.rmtree(folder, ignore_errors=True)
    if not args.recorded and not measure_all(args.sections, 60.0 * args.minutes):
        return 0
    folder = KEPT if args.recorded else FRESH
    runs = Runs(KEPT / "runs.json") if args.recorded else paper_runs.collect(FRESH / "runs.json")
    evaluation = Evaluation(folder)
    parts: dict[str, Callable[[], str]] = {
        "table_1": table_1, "null": evaluation.null_steps, "inception": evaluation.inception, "backups": evaluation.backups,
        "language": evaluation.language, "real_null": lambda: paper_runs.null_steps(runs), "real_inception": lambda: paper_runs.inception(runs),
        "real_language": lambda: paper_runs.language(runs)}
    texts = {}
    for number, (name, make) in enumerate(parts.items()):
        print(f"[{number + 1}/{len(parts)}] simulated and drawn: {name} ...", flush=True)
        texts[name] = make()
    checked = (HERE / "SIMULATION.md").read_text().partition("\n\n")[2]
    date = f"{datetime.date.today():%Y-%m-%d}{RECORDED if args.recorded else ''}"
    (DOCS / "paper.md").write_text(PAGE.format(date=date, machine=machine(), checked=checked, **texts))
    if not args.recorded:
        shutil.copytree(FRESH, KEPT, dirs_exist_ok=True)
    print(f"written: {DOCS / 'paper.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
