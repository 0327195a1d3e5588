"""Measurements of a table, a cell at a time: what was measured is kept in a file, so that a run that is broken off can go on."""
from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path

Result = dict[str, float]
Cell = tuple[str, str, int]  # framework, label of the row, workers


class Runs:
    """The results of each round of each cell."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[str, list[Result]] = json.loads(path.read_text()) if path.exists() else {}

    def measure(self, cell: Cell, rounds: int, make: Callable[[], Result]) -> list[Result]:
        """The results of so many rounds; those that are missing are measured."""
        results = self.cells.setdefault(_key(cell), [])
        while len(results) < rounds:
            results.append(make())
            self.save()
            print(f"{_key(cell)}: {results[-1]['rate']:.2f} steps/s each; others used {results[-1]['others']:.0%} of the machine", flush=True)
        return results

    def find(self, cell: Cell) -> Result | None:
        """What was measured, if it was: the median of the rounds."""
        results = self.cells.get(_key(cell))
        return median(results) if results else None

    def has(self, cell: Cell) -> bool:
        """Whether it was measured."""
        return self.rounds(cell) > 0

    def rounds(self, cell: Cell) -> int:
        """How often it was measured."""
        return len(self.cells.get(_key(cell), ()))

    def forget(self, cell: Cell) -> None:
        """The cell is measured anew."""
        self.cells.pop(_key(cell), None)

    def save(self) -> None:
        """Keeps all that is known."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{json.dumps(name)}: {json.dumps([_rounded(result) for result in results])}" for name, results in self.cells.items()]
        self.path.write_text("{" + ",\n ".join(lines) + "}\n")


def median(results: list[Result]) -> Result:
    """Of each figure."""
    return {name: statistics.median(result[name] for result in results) for name in results[0]}


def _key(cell: Cell) -> str:
    return " | ".join(map(str, cell))


def _rounded(result: Result) -> Result:
    return {name: float(f"{value:.5g}") for name, value in result.items()}
