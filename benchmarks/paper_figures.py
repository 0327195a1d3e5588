"""The figures of docs/paper.md."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    """A line; ``color`` is a number, ``band`` what is shaded around it: from one curve to another."""

    label: str
    points: Points
    color: int
    style: str = "o-"
    band: tuple[Points, Points] | None = None


@dataclass(frozen=True)
class Panel:
    """A part of a figure; axes with logarithms have a tick for each x. ``lowest`` is where the y axis begins; None: near the lowest point."""

    curves: list[Curve]
    x: str
    y: str
    logarithmic: bool = False
    lowest: float | None = 0.0


def draw(name: str, *panels: Panel) -> None:
    """Writes a figure, its panels side by side; the same curves give the same bytes."""
    import matplotlib  # the extra [plot]
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})
    from matplotlib import pyplot

    figure, places = pyplot.subplots(1, len(panels), figsize=(7.2, 3.2), layout="constrained", squeeze=False)
    for axes, panel in zip(places[0], panels):
        _fill(axes, panel)
    figure.savefig(DOCS / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def _fill(axes: Any, panel: Panel) -> None:
    from matplotlib.ticker import LogLocator

    for curve in panel.curves:
        axes.plot(*zip(*curve.points), curve.style, label=curve.label, color=f"C{curve.color}", markersize=3)
        if curve.band is not None:
            (places, low), (_, high) = (zip(*points) for points in curve.band)
            axes.fill_between(places, low, high, color=f"C{curve.color}", alpha=0.2, linewidth=0)
    axes.set(xlabel=panel.x, ylabel=panel.y)
    axes.spines[["top", "right"]].set_visible(False)
    if panel.logarithmic:
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.yaxis.set_minor_formatter("")
        axes.minorticks_off()
    elif panel.lowest is not None:
        axes.set_ylim(bottom=panel.lowest)
    ticks = sorted({point[0] for curve in panel.curves for point in curve.points})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    if len(panel.curves) > 1:
        axes.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
