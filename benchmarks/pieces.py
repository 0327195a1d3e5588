"""A long measurement, a piece at a time: what is there is not measured again, and each piece tells how long the rest will take.

>>> done: list[str] = []
>>> pieces = [Piece("cells", name, 2.0, lambda name=name: name in done, lambda name=name: done.append(name)) for name in "ab"]
>>> measure(pieces, seconds=60.0, tell=print)
[1/2] cells: a; about 1 minute left
[2/2] cells: b; about 1 minute left
True
>>> measure(pieces, seconds=60.0, tell=print)  # all is there
True
"""
from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True)
class Piece:
    """Something to be measured, and kept by ``make``; ``seconds`` is what it takes on two cores, more or less."""

    section: str
    label: str
    seconds: float
    is_there: Callable[[], bool]
    make: Callable[[], object]


def measure(pieces: list[Piece], seconds: float = math.inf, tell: Callable[[str], None] = partial(print, flush=True)) -> bool:
    """Measures those that are missing, as far as they can be begun within so many seconds; whether all are there then."""
    begun, expected = time.monotonic(), 0.0
    missing = [piece for piece in pieces if not piece.is_there()]
    for place, piece in enumerate(missing):
        spent = time.monotonic() - begun
        if spent > seconds:
            tell(f"{len(missing) - place} of {len(pieces)} pieces are left: {', '.join(dict.fromkeys(each.section for each in missing[place:]))}")
            return False
        pace = spent / expected if expected > 60.0 else 1.0  # of this machine
        left = pace * sum(each.seconds for each in missing[place:])
        tell(f"[{len(pieces) - len(missing) + place + 1}/{len(pieces)}] {piece.section}: {piece.label}; about {_minutes(left)} left")
        piece.make()
        expected += piece.seconds
    return True


def _minutes(seconds: float) -> str:
    count = max(round(seconds / 60.0), 1)
    return f"{count} minute{'s' * (count > 1)}"
