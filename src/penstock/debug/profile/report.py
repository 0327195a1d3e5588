"""Profiles as text, laid out as TensorFlow prints them."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.debug.profile.entries import Entry, walk
from penstock.debug.profile.flops import Shape
from penstock.debug.profile.tree import ROOT

_MEMORY, _TIME = ("bytes", "peak_bytes", "residual_bytes", "output_bytes"), ("micros", "accelerator_micros", "cpu_micros")
_TEXTS = ("device", "op_types", "occurrence", "input_shapes")
_IN_TREES = ("params", "float_ops", *_MEMORY, *_TIME, *_TEXTS)
_IN_LISTS = (*_MEMORY, *_TIME, "params", "float_ops", *_TEXTS)
_HEADINGS = {"bytes": "requested bytes", "peak_bytes": "peak bytes", "residual_bytes": "residual bytes", "output_bytes": "output bytes",
             "micros": "total execution time", "accelerator_micros": "accelerator execution time", "cpu_micros": "cpu execution time",
             "params": "# parameters", "float_ops": "# float_ops", "device": "assigned devices", "op_types": "op types",
             "occurrence": "op count (run|defined)", "input_shapes": "input shapes"}
SELECTABLE = {*_HEADINGS, "tensor_value"}  # values are accepted and not shown, as in TensorFlow
_HEAD, _FOOT = "==================Model Analysis Report======================", "======================End of Report=========================="


def _amount(value: int, units: tuple[str, str, str, str]) -> str:
    for index, scale in ((3, 1e9), (2, 1e6), (1, 1e3)):
        if value >= scale:
            return f"{value / scale:.2f}{units[index]}"
    return f"{value}{units[0]}"


def number(value: int) -> str:
    """A count.

    >>> number(999), number(3556808)
    ('999', '3.56m')
    """
    return _amount(value, ("", "k", "m", "b"))


def memory(value: int) -> str:
    """Bytes.

    >>> memory(96), memory(70144)
    ('96B', '70.14KB')
    """
    return _amount(value, ("B", "KB", "MB", "GB"))


def duration(value: int) -> str:
    """Microseconds.

    >>> duration(38), duration(4110), duration(2_500_000)
    ('38us', '4.11ms', '2.50sec')
    """
    return f"{value}us" if value < 1000 else f"{value / 1e3:.2f}ms" if value < 1_000_000 else f"{value / 1e6:.2f}sec"


_FORMATS: dict[str, Callable[[int], str]] = {**dict.fromkeys(_MEMORY, memory), **dict.fromkeys(_TIME, duration), "params": number,
                                             "float_ops": number}


def _columns(order: tuple[str, ...], options: dict[str, Any]) -> list[str]:
    """The selected columns; time is always told in its parts too."""
    wanted = {*options["select"], *(_TIME if "micros" in options["select"] else ())}
    return [key for key in order if key in wanted]


def _page(columns: list[str], lines: Iterator[str]) -> str:
    heading = "node name | " + " | ".join(_HEADINGS[key] for key in columns)
    return "\n".join(["", _HEAD, "", "Profile:", heading, *lines, "", _FOOT])


def report_tree(root: Entry, options: dict[str, Any]) -> str:
    """A tree, two columns further in at each level: own figure / total."""
    columns = _columns(_IN_TREES, options)
    return _page(columns, (f"{' ' * 2 * depth}{entry.name} ({', '.join(_tree_cells(entry, columns))})" for entry, depth in walk([root], 0)))


def _tree_cells(entry: Entry, columns: list[str]) -> Iterator[str]:
    known = entry.accounted and entry.name != ROOT
    if entry.shape and "params" in columns:
        yield _shape_text(entry.shape)
    for key in columns:
        if key == "occurrence":
            yield "|".join(f"{entry.own[each] if known else '--'}/{entry.total[each]}" for each in ("run_count", "occurrence"))
        elif key in _FORMATS:
            unit = {"params": " params", "float_ops": " flops"}.get(key, "")
            yield f"{_FORMATS[key](entry.own[key]) if known else '--'}/{_FORMATS[key](entry.total[key])}{unit}"
        else:
            yield _text_cell(entry, key)


def _text_cell(entry: Entry, key: str) -> str:
    if key == "input_shapes":
        return "|".join(f"{index}:{_shape_text(shape)}" for index, shape in enumerate(entry.input_shapes) if shape) or "--"
    return "|".join(entry.devices if key == "device" else sorted(entry.types)) or "--"


def _shape_text(shape: Shape) -> str:
    return "x".join(map(str, shape))


def report_types(root: Entry, options: dict[str, Any]) -> str:
    """A line per type: its figure, the share of it and of all below it, and its own share."""
    columns = _columns(_IN_LISTS, options)
    return _page(columns, _type_lines(root, columns))


def _type_lines(root: Entry, columns: list[str]) -> Iterator[str]:
    rest = dict(root.total)
    for kind in root.children:
        cells = []
        for key in columns:
            if key in _FORMATS:
                shares = [f"{100 * part / root.total[key] if root.total[key] else 0:.2f}%" for part in (rest[key], kind.own[key])]
                unit = {"params": " params", "float_ops": " float_ops"}.get(key, "")
                cells.append(f"{_FORMATS[key](kind.own[key]):>10}{unit} ({', '.join(shares)})")
                rest[key] -= kind.own[key]
            elif key == "occurrence":
                cells.append(f"{kind.own['run_count']}|{kind.own['occurrence']}".rjust(10))
            elif key != "input_shapes":
                cells.append(_text_cell(kind, key))
        yield f"{kind.name:<24} {',  '.join(cells)}"
        if "input_shapes" in columns:
            yield from _per_input_shapes(kind)


def _per_input_shapes(kind: Entry) -> Iterator[str]:
    """What a type took for each set of shapes that it was given, the slowest first."""
    groups: dict[str, Entry] = {}
    for member in kind.members:
        shapes = "\t".join(f"{index}:{'?' if shape is None else _shape_text(shape)}," for index, shape in enumerate(member.input_shapes)).rstrip(",")
        groups.setdefault(shapes, Entry(shapes)).join([member])
    yield ""
    for group in sorted(groups.values(), key=lambda group: -group.own["micros"]):
        yield (f"input_type: {group.name}\t(run*{group.own['run_count']}|defined*{group.own['occurrence']})\t"
               f"exec_time: {duration(group.own['micros'])}")
    yield ""
