"""The ratios of a run as bars: `make bench ARGS=--quick` draws what its table says."""
from __future__ import annotations

import sys
from pathlib import Path

import table
from cases import CASES


def draw(path: Path, results: table.Results) -> None:
    """Writes a picture; without matplotlib, says so."""
    try:
        import matplotlib  # only for this: the extra [plot]
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no drawing: matplotlib is not installed (pip install 'penstock[plot]')", file=sys.stderr)
        return
    bars = [(CASES[name].label, figure) for name, found in results.items() if (figure := table.ratio(found)) is not None]
    if not bars:
        return
    labels, figures = zip(*reversed(bars))
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.4 * len(bars)), layout="constrained")
    axes.barh(labels, figures, color=["tab:blue" if value <= 1 else "tab:red" for value in figures])
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlabel("Penstock's time over that of the fastest other framework")
    axes.set_title(table.machine(), fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    print(f"drawn: {path}")
