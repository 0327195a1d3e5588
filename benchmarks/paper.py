"""The evaluation of the OSDI paper, reproduced: `make paper` measures, simulates to the paper's sizes, draws, and writes docs/paper.md.

Usage: python benchmarks/paper.py [--recorded]

Steps are measured on this machine, one worker at a time (``penstock simulate``), and kept in ``benchmarks/paper``; with --recorded those are used
that are kept. Clusters of the paper's size are simulated.
"""
from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
sys.path.insert(0, str(HERE))

from paper_text import PAGE, TABLE_1  # noqa: E402
from table import machine  # noqa: E402

from penstock.simulate import calibration, costs  # noqa: E402
from penstock.simulate.capture import Order  # noqa: E402
from penstock.simulate.job import Cluster, Result, Simulation  # noqa: E402
from penstock.simulate.measuring import measure  # noqa: E402
from penstock.simulate.modes import synchronous  # noqa: E402
from penstock.simulate.network import Network  # noqa: E402
from penstock.simulate.profile import JobProfile  # noqa: E402
from penstock.simulate.stragglers import Straggling  # noqa: E402

DOCS, KEPT = HERE.parent / "docs", HERE / "paper"
NETWORK, CORES = Network.parse("10Gbit,50us"), 8
LATE = Straggling("pareto", 0.03, 2.2)  # of Inception's workers: most hardly, a few very
LANGUAGE = {"full": [], "sampled": ["--sampled", "512"]}
SERVERS = (1, 2, 4)

PROFILES: dict[str, tuple[int, list[str], int]] = {  # name -> (ps, the program's arguments, how often the step is measured)
    "null": (16, ["null"], 40), "dense": (16, ["dense", "--bytes", "100000000"], 8), "sparse": (16, ["sparse"], 40),
    "inception": (17, ["inception", "--batch", "1"], 4),
    **{f"language-{kind}-{ps}": (ps, ["language", "--batch", "16", *more], 3) for kind, more in LANGUAGE.items() for ps in SERVERS},
}


def profile(name: str, recorded: bool) -> JobProfile:
    """What a step of a model is made of."""
    path, (ps, arguments, runs) = KEPT / f"{name}.json", PROFILES[name]
    if not (recorded and path.exists()):
        print(f"measuring {name} ...", flush=True)
        measured = measure(Order([str(HERE / "paper_models.py"), *arguments], ps, 1, "", runs=runs, seconds=60.0))
        measured.program = " ".join(["paper_models.py", *arguments])
        path.parent.mkdir(exist_ok=True)
        path.write_text(measured.to_json())
    return JobProfile.from_json(path.read_text())


def prices(recorded: bool) -> costs.Costs:
    """What messages cost."""
    path = KEPT / "costs.json"
    if not (recorded and path.exists()):
        path.parent.mkdir(exist_ok=True)
        path.write_text(calibration.measure().to_json())
    return costs.Costs.from_json(path.read_text())


class Evaluation:
    """The figures and tables of the page."""

    def __init__(self, recorded: bool) -> None:
        self.costs = prices(recorded)
        self.profiles = {name: profile(name, recorded) for name in PROFILES}

    def run(self, job: JobProfile, workers: int, late: Straggling | None = None, steps: int = 20) -> Result:
        """A job on the paper's cluster."""
        cluster = Cluster(workers, CORES, NETWORK, straggling=late or Straggling())
        return Simulation(job, self.costs, cluster).run(steps, warm=3)

    # --- section 6.2 -------------------------------------------------------------------------------------------------

    def null_steps(self) -> str:
        """Models without computation over the number of workers."""
        counts, rows = (1, 2, 5, 10, 25, 50, 100), []
        curves: dict[str, list[tuple[float, float]]] = {}
        for name in ("null", "sparse", "dense"):
            results = [(workers, self.run(synchronous(self.profiles[name], workers) if name != "null" else self.profiles[name], workers, steps=10))
                       for workers in counts]
            rows += [[name, workers, *(f"{1e3 * result.quantile(share):.2f}" for share in (0.5, 0.1, 0.9))] for workers, result in results]
            curves[name] = [(workers, 1e3 * result.quantile(0.5)) for workers, result in results]
        draw("paper_null", curves, "workers", "milliseconds per step (median)", logarithmic="both")
        return markdown(["model", "workers", "median ms", "p10", "p90"], rows)

    # --- section 6.3 -------------------------------------------------------------------------------------------------

    def inception(self) -> str:
        """Throughput and step times of Inception-v3."""
        counts, rows = (25, 50, 100, 200), []
        curves: dict[str, list[tuple[float, float]]] = {"asynchronous": [], "synchronous": []}
        for workers in counts:
            plain = self.profiles["inception"]
            for name, job in (("asynchronous", plain), ("synchronous", synchronous(plain, workers))):
                result = self.run(job, workers, LATE, steps=8)
                curves[name].append((workers, result.rate))
                rows.append([name, workers, f"{result.rate:.0f}", *(f"{result.quantile(share):.2f}" for share in (0.1, 0.5, 0.9))])
        draw("paper_inception", curves, "workers", "images per second")
        return markdown(["", "workers", "images/s", "p10 s", "p50 s", "p90 s"], rows)

    def backups(self) -> str:
        """Step time and normalised speed-up over the number of backup workers."""
        rows, curves, first = [], list[tuple[float, float]](), 0.0
        for backups in range(6):
            workers = 50 + backups
            simulation = Simulation(synchronous(self.profiles["inception"], workers, backups), self.costs,
                                    Cluster(workers, CORES, NETWORK, straggling=LATE))
            simulation.run(20, warm=3)
            step = simulation.clock.now / max(simulation.places.time, 1)
            first = first or step
            rows.append([backups, f"{step:.3f}", f"{first / step * 50 / workers:.3f}"])
            curves.append((backups, step))
        draw("paper_backups", {"step": curves}, "backup workers", "seconds per update")
        return markdown(["backups", "seconds per update", "normalised speed-up"], rows)

    # --- section 6.4 -------------------------------------------------------------------------------------------------

    def language(self) -> str:
        """Words per second over parameter servers and workers."""
        rows, curves = [], {}
        for kind in LANGUAGE:
            for workers in (4, 32, 256):
                rates = [(ps, 16 * 20 * self.run(self.profiles[f"language-{kind}-{ps}"], workers, steps=3).rate) for ps in SERVERS]
                curves[f"{kind}, {workers} workers"] = rates
                rows.append([kind, workers, *(f"{rate:,.0f}" for _, rate in rates)])
        draw("paper_language", curves, "ps tasks", "words per second", logarithmic="both")
        return markdown(["softmax", "workers", *(f"{ps} ps" for ps in SERVERS)], rows)


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


def markdown(head: list[str], rows: list[list[object]]) -> str:
    """A table."""
    return "\n".join(["| " + " | ".join(map(str, row)) + " |" for row in (head, ["---"] * len(head), *rows)])


def draw(name: str, curves: dict[str, list[tuple[float, float]]], x: str, y: str, logarithmic: str = "") -> None:
    """A figure of the page."""
    import matplotlib  # the extra [plot]
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.4), layout="constrained")
    for label, points in curves.items():
        axes.plot(*zip(*points), "o-", label=label, markersize=3)
    axes.set(xlabel=x, ylabel=y)
    if logarithmic:
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        ticks = sorted({point[0] for points in curves.values() for point in points})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    else:
        axes.set_ylim(bottom=0)
    if len(curves) > 1:
        axes.legend(fontsize="small", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def main() -> int:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--recorded", action="store_true", help="use the steps that were measured before")
    args = parser.parse_args()
    evaluation = Evaluation(args.recorded)
    parts: dict[str, Callable[[], str]] = {"table_1": table_1, "null": evaluation.null_steps, "inception": evaluation.inception,
                                           "backups": evaluation.backups, "language": evaluation.language}
    texts = {}
    for name, make in parts.items():
        print(f"{name} ...", flush=True)
        texts[name] = make()
    checked = (HERE / "SIMULATION.md").read_text().partition("\n\n")[2] if (HERE / "SIMULATION.md").exists() else "(not measured)"
    (DOCS / "paper.md").write_text(PAGE.format(date=f"{datetime.date.today():%Y-%m-%d}", machine=machine(), checked=checked, **texts))
    print(f"written: {DOCS / 'paper.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
