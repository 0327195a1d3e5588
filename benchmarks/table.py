"""Results as text for a terminal and as Markdown for RESULTS.md."""
from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path

from cases import CASES, Case
from peers import PEERS

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_SIZES = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"))
# What each framework was allowed: readers must know it to judge the figures.
ALLOWED = """\
Steady state. Penstock: compiled before the first step that counts (PENSTOCK_COMPILE=eager; the default mode has the same code from the second step
on, see FIRST_STEPS.md), Winograd for 3x3 and 5x5 convolutions with stride 1 where `native/contract/winograd.py` finds them worth it, denormal
numbers are 0. TF: sessions of compat.v1, oneDNN off or on, its own threads, with XLA where there is such a column. PyTorch: eager, images in NCHW or
NHWC, with torch.compile (images in NHWC) where there is such a column, fused Adam. JAX: one jitted step with donated parameters that stay on its
device; only what a user feeds comes from NumPy. All in float32, with all CPUs, each in a process and environment of its own; the others are idle
while one is measured."""
Results = dict[str, dict[str, float]]  # case -> peer -> seconds or bytes


def amount(value: float | None, unit: str = "s") -> str:
    """Three digits and a unit: 1.23 s, 45.6 ms, 789 µs, 1.50 GB, 1.02 x."""
    if value is None:
        return ""
    if unit == "x":
        return f"{value:.2f} x"
    units = _TIMES if unit == "s" else _SIZES
    scale, name = next((pair for pair in units if value >= pair[0]), units[-1])
    value /= scale
    return f"{value:.{2 - (value >= 10) - (value >= 100)}f} {name}"


def ratio(figures: dict[str, float]) -> float | None:
    """Penstock's figure over the best peer's."""
    others = [value for name, value in figures.items() if name != "penstock"]
    return figures["penstock"] / min(others) if "penstock" in figures and others else None


def aim(case: Case) -> str:
    """The aim of a case, and in brackets what would be even better."""
    def text(value: float | None) -> str:
        return "" if value is None else amount(value, case.unit) if case.absolute else f"{value:.2f}"
    return text(case.aim) + (f" ({text(case.stretch)})" if case.stretch is not None else "")


def row(case: Case, figures: dict[str, float], peers: list[str]) -> list[str]:
    """The cells of a case."""
    figure = ratio(figures)
    return [case.label, *(amount(figures.get(name), case.unit) for name in peers), "" if figure is None else f"{figure:.2f}", aim(case)]


def heads(peers: list[str]) -> list[str]:
    """The first line."""
    return ["case", *(PEERS[name].label for name in peers), "ratio", "aim"]


def line(cells: list[str]) -> str:
    """A row for the terminal."""
    return f"{cells[0]:<48}" + "".join(f"{cell:>13}" for cell in cells[1:-1]) + f"{cells[-1]:>20}"


def write(path: Path, results: Results, versions: dict[str, str], rounds: int) -> None:
    """Writes a file of results."""
    peers = [name for name in PEERS if any(name in figures for figures in results.values())]
    rows = [heads(peers), ["---"] * (len(peers) + 3), *(row(CASES[name], figures, peers) for name, figures in results.items())]
    frameworks = ", ".join(f"{PEERS[name].label} {versions[name]}" for name in peers if name in versions)
    text = f"""# Benchmark results

Written by `make bench ARGS="--write {path.name}"` on {datetime.date.today():%Y-%m-%d}; {machine()}.
{frameworks}. Minimum of {rounds} rounds; the frameworks take turns. Convolutional networks and the models below them: one training step.
Ratio: Penstock's figure over the best other one, below 1 is better; aim: the ratio to reach, in brackets the one to dream of.

{ALLOWED}

"""
    path.write_text(text + "\n".join("| " + " | ".join(cells) + " |" for cells in rows) + "\n")


def machine() -> str:
    """The processor, and how many of its cores are ours."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    names = [text.partition(":")[2].strip() for text in info.read_text().splitlines() if text.startswith("model name")] if info.exists() else []
    flags = info.read_text() if info.exists() else ""
    held = os.environ.get("PENSTOCK_ISA", "").upper()
    vectors = f"held to {held}" if held else next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    return ", ".join(part for part in (names[0] if names else model, f"{os.cpu_count()} cores", vectors) if part)
