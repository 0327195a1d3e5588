"""The progress bar of ``fit``, ``evaluate`` and ``predict``."""
from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np


class Progbar:
    """``tf.keras.utils.Progbar``: a bar that is written over and over, with the mean of each value so far."""

    def __init__(self, target: int | None, width: int = 30, verbose: int = 1, interval: float = 0.05, stateful_metrics: Iterable[str] | None = None,
                 unit_name: str = "step") -> None:
        self.target, self.width, self.verbose, self.interval, self.unit_name = target, width, verbose, interval, unit_name
        self.stateful_metrics = set(stateful_metrics or ())
        self._dynamic_display = (hasattr(sys.stdout, "isatty") and sys.stdout.isatty()) or "ipykernel" in sys.modules or "posix" in sys.modules \
            or "PYCHARM_HOSTED" in os.environ
        self._total_width, self._seen_so_far, self._last_update = 0, 0, 0.0
        self._values: dict[str, list[Any]] = {}  # {name: [weighted sum, weight]}
        self._start = time.time()

    def update(self, current: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Says how far things are, and what the values are. Values that add up by themselves are shown as they are, others as means."""
        step = current - self._seen_so_far
        for name, value in values or ():
            if name in self.stateful_metrics:
                self._values[name] = [value, 1]
            else:
                total, weight = self._values.get(name, (0.0, 0))
                self._values[name] = [total + value * step, weight + step]
        self._seen_so_far = current
        now = time.time()
        if self.verbose == 1:
            if now - self._last_update < self.interval and self.target is not None and current < self.target:
                return
            self._draw(current, now)
        elif self.verbose == 2 and self.target is not None and current >= self.target:
            digits = int(np.log10(self.target)) + 1
            shown = "".join(f" - {name}:{_number(np.mean(total / max(1, weight)))}" for name, (total, weight) in self._values.items())
            sys.stdout.write(f"{current:{digits}d}/{self.target} - {now - self._start:.0f}s{shown}\n")
            sys.stdout.flush()
        self._last_update = now

    def add(self, n: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Says that ``n`` more are done."""
        self.update(self._seen_so_far + n, values)

    def _draw(self, current: int, now: float) -> None:
        before = self._total_width
        sys.stdout.write("\b" * before + "\r" if self._dynamic_display else "\n")
        bar, info = self._bar(current), self._timing(current, now)
        info += "".join(f" - {name}:{_number(np.mean(total / max(1, weight)))}" for name, (total, weight) in self._values.items())
        self._total_width = len(bar) + len(info)
        info += " " * max(0, before - self._total_width)
        if self.target is not None and current >= self.target:
            info += "\n"
        sys.stdout.write(bar + info)
        sys.stdout.flush()

    def _bar(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        digits = int(np.log10(self.target)) + 1
        filled = int(self.width * current / self.target)
        head = "=" * (filled - 1) + (">" if current < self.target else "=") if filled > 0 else ""
        return f"{current:{digits}d}/{self.target} [{head}{'.' * (self.width - filled)}]"

    def _timing(self, current: int, now: float) -> str:
        """The time that is left, or the time that it took."""
        each = (now - self._start) / current if current else 0
        if self.target is not None and current < self.target:
            left = each * (self.target - current)
            if left > 3600:
                return f" - ETA: {int(left // 3600)}:{int(left % 3600 // 60):02d}:{int(left % 60):02d}"
            return f" - ETA: {int(left // 60)}:{int(left % 60):02d}" if left > 60 else f" - ETA: {int(left)}s"
        taken = f" - {now - self._start:.0f}s"
        if each >= 1 or each == 0:
            return f"{taken} {each:.0f}s/{self.unit_name}"
        return f"{taken} {each * 1e3:.0f}ms/{self.unit_name}" if each >= 1e-3 else f"{taken} {each * 1e6:.0f}us/{self.unit_name}"


def _number(value: Any) -> str:
    return f" {value:.4f}" if abs(value) > 1e-3 else f" {value:.4e}"
