"""Figures that were measured, kept in a file of ``build/bench``: a run that was broken off, or had little time, goes on where it was."""
from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "build" / "bench"


class OutOfTime(Exception):
    """The time that a run was given is over; what it measured is kept."""


class Kept:
    """Figures by name. ``seconds``: after so many nothing more is measured (0: no limit); ``again``: nothing of earlier runs counts."""

    def __init__(self, name: str, seconds: float = 0.0, again: bool = False) -> None:
        self.path = FOLDER / f"{name}.json"
        self._end = time.monotonic() + seconds if seconds else float("inf")
        self.figures: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() and not again else {}

    def measure(self, name: str, make: Callable[[], Any]) -> Any:
        """The figures of this name; if there are none yet they are measured and kept, unless the time is over. None is not kept."""
        if name in self.figures:
            return self.figures[name]
        if time.monotonic() > self._end:
            raise OutOfTime(name)
        figures = make()
        if figures is not None:
            self.figures[name] = figures
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.figures, indent=0))
        return figures
