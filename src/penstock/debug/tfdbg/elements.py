"""Where an element of a tensor stands in what NumPy has printed of it."""
from __future__ import annotations

import re
from collections.abc import Sequence

from numpy import get_printoptions

_TOKEN = re.compile(r"""\.\.\.|[\[\],]|b?'[^']*'|b?"[^"]*"|[^\s\[\],]+""")
_SHAPE = re.compile(r"\s*shape: \(([\d, ]*)\)")
_INDICES = re.compile(r"\[?\s*(\d+(?:\s*,\s*\d+)*)\s*,?\s*\]?")


def parse_indices(text: str) -> tuple[int, ...]:
    """
    >>> parse_indices("[10, 0]"), parse_indices("3")
    ((10, 0), (3,))
    """
    match = _INDICES.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a place in a tensor: write @[10, 0]")
    return tuple(int(index) for index in match[1].split(","))


def element_rows(lines: Sequence[str]) -> dict[tuple[int, ...], int]:
    """The line of each element that is shown, by its indices; of what ellipses stand for there is none.

    >>> element_rows(["  shape: (2, 2)", "", "array([[1., 2.],", "       [3., 4.]], dtype=float32)"])[1, 0]
    3
    """
    shape = next((tuple(map(int, filter(None, match[1].replace(" ", "").split(",")))) for match in map(_SHAPE.match, lines) if match), ())
    first = next((row for row, line in enumerate(lines) if line.startswith("array(")), len(lines))
    rows: dict[tuple[int, ...], int] = {}
    place: list[int] = []
    for row in range(first, len(lines)):
        for token in _TOKEN.findall(lines[row].removeprefix("array(") if row == first else lines[row]):
            if token == "[":
                place.append(0)
            elif token == "]":
                place.pop()
                if not place:
                    return rows
            elif token == "," and place:
                place[-1] += 1
            elif token == "..." and place:
                place[-1] = shape[len(place) - 1] - get_printoptions()["edgeitems"] - 1
            elif place:
                rows.setdefault(tuple(place), row)
    return rows
