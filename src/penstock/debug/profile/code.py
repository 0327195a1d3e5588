"""The lines of the program that a graph was made by, with the figures of the operations that each made.

A gradient counts for the line that made what it is the gradient of; such lines are a tree of their own, marked ``(gradient)``. Of the calls that led
to a line, the innermost ones are known (``graph/source.py``).
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.debug.profile.entries import Entry
from penstock.debug.profile.tree import matches
from penstock.graph.graph import Graph
from penstock.graph.node import Operation

GRADIENT = " (gradient)"
_GRADIENT_NAME = re.compile(r"(?:^|/)gradients(?:_\d+)?/(.+?)_grad/")
Frame = tuple[str, int, str]  # file, line, function


@dataclass
class _Line:
    """A line, the lines that it called, and the operations that it made itself."""

    made: list[Entry] = field(default_factory=list)
    called: dict[str, _Line] = field(default_factory=dict)

    def entry(self, name: str) -> Entry:
        total = Entry(name, children=[line.entry(label) for label, line in self.called.items()])
        total.join(self.made)
        return total


def by_line(by_name: dict[str, Entry], graph: Graph, options: dict[str, Any]) -> list[Entry]:
    """The outermost lines of the program that are known, with the lines that they called as children."""
    top = _Line()
    for entry, frames, mark in accounted_frames(by_name, graph, options):
        line = top
        for file, number, function in frames:
            line = line.called.setdefault(f"{os.path.basename(file)}:{number}:{function}{mark}", _Line())
        line.made.append(entry)
    return top.entry("").children


def accounted_frames(by_name: dict[str, Entry], graph: Graph, options: dict[str, Any]) -> Iterator[tuple[Entry, list[Frame], str]]:
    """(entry, the lines that led to it, GRADIENT or nothing) of each operation that goes into sums."""
    operations = {op.name: op for op in graph.get_operations()}
    for name, entry in by_name.items():
        if matches(options["account_type_regexes"], entry.types):
            of = _GRADIENT_NAME.search(name)
            forward = operations.get(of[1]) if of else None
            yield (entry, frames(operations[name]), "") if forward is None else (entry, frames(forward), GRADIENT)


def frames(op: Operation) -> list[Frame]:
    """The lines that led to an operation, the outermost first."""
    return [(code.co_filename, line, code.co_name) for code, line in reversed(op._source)]
