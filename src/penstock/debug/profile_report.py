"""Profiles as text, laid out as TensorFlow prints them."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.debug.profile_tree import ROOT, Entry

_ORDER = ("bytes", "micros", "params", "float_ops", "device", "op_types", "occurrence")
_HEADINGS = {"bytes": "requested bytes", "micros": "total execution time", "params": "# parameters", "float_ops": "# float_ops",
             "device": "assigned devices", "op_types": "op types", "occurrence": "op count (run|defined)"}
_HEAD, _FOOT = "==================Model Analysis Report======================", "======================End of Report=========================="


def _scaled(value: int, units: tuple[str, str, str, str], whole: str = "") -> str:
    for index, scale in ((3, 1e9), (2, 1e6), (1, 1e3)):
        if value >= scale:
            return f"{value / scale:.2f}{units[index]}"
    return f"{value}{whole or units[0]}"


def number(value: int) -> str:
    """A count.

    >>> number(999), number(3556808)
    ('999', '3.56m')
    """
    return _scaled(value, ("", "k", "m", "b"))


def memory(value: int) -> str:
    """Bytes.

    >>> memory(96), memory(70144)
    ('96B', '70.14KB')
    """
    return _scaled(value, ("B", "KB", "MB", "GB"))


def duration(value: int) -> str:
    """Microseconds.

    >>> duration(38), duration(4110), duration(2_500_000)
    ('38us', '4.11ms', '2.50sec')
    """
    return f"{value}us" if value < 1000 else f"{value / 1e3:.2f}ms" if value < 1_000_000 else f"{value / 1e6:.2f}sec"


_FORMATS: dict[str, Callable[[int], str]] = {"bytes": memory, "micros": duration, "params": number, "float_ops": number}
_UNITS = {"bytes": "", "micros": "", "params": " params", "float_ops": " flops"}


def _framed(selected: list[str], lines: Iterator[str]) -> str:
    heading = "node name | " + " | ".join(_HEADINGS[key] for key in selected)
    return "\n".join(["", _HEAD, "", "Profile:", heading, *lines, "", _FOOT])


def report_scopes(root: Entry, options: dict[str, Any]) -> str:
    """The tree, two columns further in at each level: own figure / total."""
    selected = [key for key in _ORDER if key in options["select"]]
    return _framed(selected, _scope_lines(root, selected, 0))


def _scope_lines(entry: Entry, selected: list[str], indent: int) -> Iterator[str]:
    cells = [f"{'x'.join(map(str, entry.shape))}"] if entry.shape and "params" in selected else []
    for key in selected:
        if key == "device":
            cells.append("|".join(entry.devices) or "--")
        elif key == "op_types":
            cells.append("|".join(sorted(entry.types)) or "--")
        elif key == "occurrence":
            cells.append(f"{entry.own[key]}/{entry.total[key]}")
        else:
            own = _FORMATS[key](entry.own[key]) if entry.accounted and entry.name != ROOT else "--"
            cells.append(f"{own}/{_FORMATS[key](entry.total[key])}{_UNITS[key]}")
    yield f"{' ' * indent}{entry.name} ({', '.join(cells)})"
    for child in entry.children:
        yield from _scope_lines(child, selected, indent + 2)


def report_types(kinds: list[Entry], options: dict[str, Any]) -> str:
    """A line per type: its figure, the share of it and of all below it, and its own share."""
    selected = [key for key in _ORDER if key in options["select"]]
    return _framed(selected, _type_lines(kinds, selected))


def _type_lines(kinds: list[Entry], selected: list[str]) -> Iterator[str]:
    whole = {key: sum(kind.own[key] for kind in kinds) for key in _FORMATS}
    rest = dict(whole)
    for kind in kinds:
        cells = []
        for key in selected:
            if key in _FORMATS:
                shares = [f"{100 * part / whole[key] if whole[key] else 0:.2f}%" for part in (rest[key], kind.own[key])]
                unit = " float_ops" if key == "float_ops" else " params" if key == "params" else ""
                cells.append(f"{_FORMATS[key](kind.own[key]):>10}{unit} ({', '.join(shares)})")
                rest[key] -= kind.own[key]
            elif key == "occurrence":
                cells.append(f"{kind.own[key]:>10}")
        yield f"{kind.name:<24} {',  '.join(cells)}"
