"""Values as the debugger prints them: metadata, a summary of numbers, elements; slices and ranges as people write them."""
from __future__ import annotations

import ast
import os
import re
from typing import Any

import numpy as np

_MOST_ELEMENTS = 2000  # that are printed without ellipses
_SLICES = re.compile(r"\[[\d:,\s-]*\]|\[\s*\.\.\.\s*\]")


def split_slicing(text: str) -> tuple[str, str]:
    """A tensor's name and the slicing behind it.

    >>> split_slicing("hidden/y:0[1, :]")
    ('hidden/y:0', '[1, :]')
    """
    name, bracket, rest = text.partition("[")
    return (name, bracket + rest) if bracket and text.endswith("]") else (text, "")


def apply_slicing(value: Any, slicing: str) -> Any:
    """``value[1, :]`` for the text ``[1, :]``."""
    if not _SLICES.fullmatch(slicing):
        raise ValueError(f"Invalid tensor-slicing string {slicing!r}: numbers, colons and commas make one, such as [0, 1:3]")
    parts = [part.strip() for part in slicing[1:-1].split(",")]
    return value[tuple(slice(*(int(end) if end.strip() else None for end in part.split(":"))) if ":" in part else int(part) for part in parts)]


def parse_ranges(text: str) -> list[tuple[float, float]]:
    """Ranges as people write them, one or a list.

    >>> parse_ranges("0,1e-8"), parse_ranges("[[-inf, -0.1], [0.1, inf]]")
    ([(0.0, 1e-08)], [(-inf, -0.1), (0.1, inf)])
    """
    try:
        numbers = ast.literal_eval(re.sub(r"\binf\b", "1e999", text))
        pairs = [numbers] if not isinstance(numbers[0], (list, tuple)) else numbers
        return [(float(low), float(high)) for low, high in pairs]
    except (ValueError, TypeError, SyntaxError, IndexError):
        raise ValueError(f"Incorrect ranges {text!r}: write 0,1 or [-0.1,0.1] or [[-inf,-0.1],[0.1,inf]]") from None


def describe(value: Any, name: str, slicing: str = "", everything: bool = False, ranges: str = "", summary: bool = False,
             write_path: str = "") -> list[str]:
    """The lines that tell a value."""
    if slicing and isinstance(value, (np.ndarray, np.generic)):
        value = apply_slicing(value, slicing)
    title = f'Tensor "{name}{slicing}":'
    if not isinstance(value, np.ndarray):
        return [title, "", *str(value).rstrip().split("\n")]
    lines = [title, f"  dtype: {value.dtype}", f"  shape: {value.shape}", ""]
    if ranges:
        inside = sum((value >= low) & (value <= high) for low, high in parse_ranges(ranges)) > 0
        count = int(np.sum(inside))
        lines[0] += f" Highlighted({ranges}): {count} of {value.size} element(s) ({100 * count / max(1, value.size):.2f}%)"
    if write_path:
        with open(write_path, "wb") as file:
            np.save(file, value)
        lines += [f"Saved value to: {write_path} ({readable(os.path.getsize(write_path))}B)", ""]
    if summary:
        lines += ["Numeric summary:", *numeric_summary(value), ""]
    with np.printoptions(threshold=value.size + 1 if everything else _MOST_ELEMENTS):
        return lines + repr(value).split("\n")


def numeric_summary(value: Any) -> list[str]:
    """How many elements are what, and their range.

    >>> print("\\n".join(numeric_summary(np.array([1.0, 4.0, 0.0, np.nan]))))
    | nan   0   + | total |
    |   1   1   2 |     4 |
    |                min                max               mean                std |
    |                0.0                4.0 1.6666666666666667  1.699673171197595 |
    """
    if not value.size:
        return ["No numeric summary available due to empty tensor."]
    if value.dtype.kind == "b":
        return _counts({"False": np.sum(~value), "True": np.sum(value)}, value.size)
    if value.dtype.kind not in "fiu":
        return [f"No numeric summary available due to tensor dtype: {value.dtype}."]
    finite = value[np.isfinite(value)]
    lines = _counts({"nan": np.sum(np.isnan(value)), "-inf": np.sum(np.isneginf(value)), "-": np.sum(finite < 0), "0": np.sum(finite == 0),
                     "+": np.sum(finite > 0), "+inf": np.sum(np.isposinf(value))}, value.size)
    if finite.size:
        lines += _table(["min", "max", "mean", "std"], [str(finite.min()), str(finite.max()), str(finite.mean()), str(finite.std())])
    return lines


def _counts(counts: dict[str, Any], total: int) -> list[str]:
    names = [name for name, count in counts.items() if count]
    header, row = _table(names, [str(counts[name]) for name in names])
    width = max(len("total"), len(str(total)))
    return [f"{header} {'total':>{width}} |", f"{row} {total:>{width}} |"]


def _table(header: list[str], row: list[str]) -> list[str]:
    width = max(map(len, header + row))
    return ["| " + " ".join(cell.rjust(width) for cell in line) + " |" for line in (header, row)]


def readable(size: int) -> str:
    """
    >>> readable(512), readable(2048), readable(3 << 20)
    ('512', '2.00k', '3.00M')
    """
    for unit, scale in (("G", 1 << 30), ("M", 1 << 20), ("k", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.2f}{unit}"
    return str(size)
