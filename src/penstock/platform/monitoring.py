"""``tensorflow.python.eager.monitoring``: counters and gauges by name and labels, of this process."""
from __future__ import annotations

import threading
from typing import Any


class _Cell:
    """One value of a metric."""

    def __init__(self, initial: Any) -> None:
        self._value, self._lock = initial, threading.Lock()

    def value(self) -> Any:
        """What it holds."""
        return self._value

    def set(self, value: Any) -> None:
        """Holds another value from now on."""
        self._value = value

    def increase_by(self, value: int) -> None:
        """Adds to it."""
        with self._lock:
            self._value += value


class Metric:
    """A metric: a cell for each combination of labels."""

    _initial: Any = 0

    def __init__(self, name: str, description: str, *labels: str) -> None:
        self.name, self.description, self._labels = name, description, labels
        self._cells: dict[tuple[str, ...], _Cell] = {}

    def get_cell(self, *labels: str) -> _Cell:
        """The cell of these labels. ValueError if there are more or fewer than the metric has."""
        if len(labels) != len(self._labels):
            raise ValueError(f"The metric {self.name} expects {len(self._labels)} labels, but {len(labels)} were given.")
        return self._cells.setdefault(labels, _Cell(self._initial))


class Counter(Metric):
    """A number that grows."""


class IntGauge(Metric):
    """A number."""


class StringGauge(Metric):
    """A text."""

    _initial = ""


class BoolGauge(Metric):
    """A truth value."""

    _initial = False
