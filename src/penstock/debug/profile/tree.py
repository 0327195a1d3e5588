"""Sums over the operations of a profile, and which of them are shown.

An operation is *accounted* if one of its types matches ``account_type_regexes``; only accounted ones go into sums. An entry that fails a limit
(``min_float_ops``, ...) is left out, and what is below it moves up to the next entry that is shown. One that ``trim_name_regexes`` match is left out
with all that is below it; ``start_name_regexes`` choose where the tree begins.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.debug.profile.entries import FIGURES, Entry, walk
from penstock.graph.graph import Graph

ROOT = "_TFProfRoot"
_OF_TOTALS = {"min_bytes": "bytes", "min_peak_bytes": "peak_bytes", "min_residual_bytes": "residual_bytes", "min_output_bytes": "output_bytes",
              "min_micros": "micros", "min_accelerator_micros": "accelerator_micros", "min_cpu_micros": "cpu_micros", "min_occurrence": "occurrence"}
_OF_NODES = {"min_params": "params", "min_float_ops": "float_ops"}


def by_scope(by_name: dict[str, Entry]) -> list[Entry]:
    """The top of the tree of names; scopes that are not operations get an entry too."""
    known: dict[str, Entry] = {}
    top: list[Entry] = []
    for name in sorted(by_name):
        siblings = top
        for end in [index for index, sign in enumerate(name) if sign == "/"] + [len(name)]:
            path = name[:end]
            if path not in known:
                known[path] = by_name.get(path) or Entry(path)
                siblings.append(known[path])
            siblings = known[path].children
    return top


def by_inputs(by_name: dict[str, Entry], graph: Graph) -> list[Entry]:
    """Trees of inputs, from the operations without consumers; one with several consumers is below the first of them."""
    sources = {op.name: list(dict.fromkeys([tensor.op.name for tensor in op._inputs] + [other.name for other in op._control_inputs]))
               for op in graph.get_operations()}
    consumed = {name for op, names in sources.items() for name in names if name != op}
    top = [by_name[name] for name in sorted(sources) if name not in consumed]
    visited = {entry.name for entry in top}
    waiting = [(entry, iter(sources[entry.name])) for entry in reversed(top)]
    while waiting:
        entry, rest = waiting[-1]
        name = next((name for name in rest if name not in visited), None)
        if name is None:
            waiting.pop()
            continue
        visited.add(name)
        entry.children.append(by_name[name])
        waiting.append((by_name[name], iter(sources[name])))
    return top


def by_type(by_name: dict[str, Entry], options: dict[str, Any]) -> Entry:
    """A root with a child for each type that is shown."""
    groups: dict[str, list[Entry]] = {}
    for entry in by_name.values():
        for kind in sorted(entry.types):
            if not kind.startswith(("_", "/")) and matches(options["account_type_regexes"], entry.types):
                groups.setdefault(kind, []).append(entry)
    root = Entry(ROOT)
    for name, members in groups.items():
        group = Entry(name, accounted=True)
        group.join(members)
        group.add_up()
        if _passes(group, options, group.total):
            root.children.append(group)
    root.children = _in_order(root.children, options)
    root.add_up()
    return root


def visible_tree(top: list[Entry], options: dict[str, Any], lines: bool = False, only_accounted: bool = False) -> Entry:
    """A root with what is shown of a tree. The limits of ``lines`` of a program are about totals, those of operations about their own figures."""
    root = Entry(ROOT, children=top)
    _account(root, options)
    root.children = _starts(root.children, options)
    root.accounted = False
    root.add_up()
    _leave_out(root, options, lambda entry: (entry.accounted or not only_accounted) and _passes(entry, options, entry.total if lines else entry.own))
    return root


def _account(root: Entry, options: dict[str, Any]) -> None:
    """Sums up what is accounted; an entry in which nothing is goes."""
    for entry, _ in reversed(list(walk([root]))):
        entry.accounted = matches(options["account_type_regexes"], entry.types or {""})
        entry.children = [child for child in entry.children if child.accounted or child.children]
        entry.add_up()


def _starts(top: list[Entry], options: dict[str, Any]) -> list[Entry]:
    """The uppermost entries at which the tree may begin."""
    starts, waiting = [], top[::-1]
    while waiting:
        entry = waiting.pop()
        if matches(options["start_name_regexes"], [entry.name]):
            starts.append(entry)
        else:
            waiting.extend(reversed(entry.children))
    return starts


def _leave_out(root: Entry, options: dict[str, Any], passes: Callable[[Entry], bool]) -> None:
    """Takes away what is not shown."""
    for entry, _ in walk([root]):
        entry.children = [child for child in entry.children if not matches(options["trim_name_regexes"], [child.name])]
    inside: dict[int, list[Entry]] = {}  # id of an entry -> what is shown of it: itself, or else what is shown below it
    for entry, depth in reversed(list(walk([root], 0))):
        below = _in_order([each for child in entry.children for each in inside.pop(id(child))], options)
        if entry is not root and (depth > options["max_depth"] or not passes(entry)):
            inside[id(entry)] = below
            continue
        entry.children, inside[id(entry)] = below, [entry]
        if options["account_displayed_op_only"]:
            entry.add_up()


def _passes(entry: Entry, options: dict[str, Any], figures: dict[str, int]) -> bool:
    enough = all(entry.total[key] >= options.get(limit, 0) for limit, key in _OF_TOTALS.items()) and all(
        figures[key] >= options.get(limit, 0) for limit, key in _OF_NODES.items())
    return enough and matches(options["show_name_regexes"], [entry.name]) and not matches(options["hide_name_regexes"], [entry.name])


def matches(expressions: Sequence[str], names: Iterable[str]) -> bool:
    """Does one of the regular expressions match one of the names, all of it?"""
    return any(expression == ".*" or re.fullmatch(expression, name) for expression in expressions for name in names)


def _in_order(among: list[Entry], options: dict[str, Any]) -> list[Entry]:
    key = options["order_by"]
    order: Callable[[Entry], Any] = (lambda entry: -entry.total[key]) if key in FIGURES else (lambda entry: entry.name)
    return sorted(among, key=order)
