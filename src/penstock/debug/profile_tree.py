"""The nodes of a profile: what each counts, sums over scopes or over types, and which of them are shown.

A node is *accounted* if one of its types matches ``account_type_regexes``; only accounted nodes go into sums. A node that fails a limit
(``min_float_ops``, ...) is left out, and what is below it moves up to the next node that is shown.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.debug.profile_flops import Shape, Unknown, float_operations
from penstock.graph.graph import Graph
from penstock.graph.node import Operation

ROOT = "_TFProfRoot"
FIGURES = ("micros", "bytes", "params", "float_ops", "occurrence")


@dataclass
class Entry:
    """A node, a scope, or a type: its own figures, and their totals over what is shown below it."""

    name: str
    own: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FIGURES, 0))
    total: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FIGURES, 0))
    types: set[str] = field(default_factory=set)
    devices: list[str] = field(default_factory=list)
    shape: Shape | None = None  # of a variable
    accounted: bool = False
    children: list[Entry] = field(default_factory=list)

    def add_up(self) -> None:
        """Totals from the entry's own figures and its children's totals."""
        for key in FIGURES:
            self.total[key] = (self.own[key] if self.accounted else 0) + sum(child.total[key] for child in self.children)


def entries(graph: Graph, run_meta: Any = None, op_log: Any = None) -> tuple[dict[str, Entry], int]:
    """The entry of each operation, and how many lack float operations because a shape is not known."""
    known, costs = _traced(run_meta)
    trainable = {variable.op.name for variable in graph.get_collection("trainable_variables")}
    found, unknown = {}, 0
    for op in graph.get_operations():
        entry = found[op.name] = Entry(op.name, types={op.type})
        entry.own["occurrence"] = 1
        _count_parameters(entry, op)
        if op.name in trainable:
            entry.types.add("_trainable_variables")
        try:
            entry.own["float_ops"] = float_operations(op, known)
        except Unknown:
            unknown += 1
        for device, micros, size in costs.get(op.name, ()):
            entry.own["micros"] += micros
            entry.own["bytes"] += size
            entry.devices.append(device)
            entry.types.add(device)
    for logged in getattr(op_log, "log_entries", ()):
        if logged.name in found:
            found[logged.name].types.update(logged.types)
            found[logged.name].own["float_ops"] = logged.float_ops or found[logged.name].own["float_ops"]
    return found, unknown


def _count_parameters(entry: Entry, op: Operation) -> None:
    shape = op.attrs.get("shape") if op.type in ("Variable", "VariableV2", "VarHandleOp") else None
    if shape is not None and shape.is_fully_defined():
        entry.shape = tuple(shape.as_list())
        entry.own["params"] = math.prod(entry.shape)


def _traced(run_meta: Any) -> tuple[dict[tuple[str, int], Shape], dict[str, list[tuple[str, int, int]]]]:
    """Of a traced step: the shapes of outputs, and per node (device, microseconds, bytes)."""
    known: dict[tuple[str, int], Shape] = {}
    costs: dict[str, list[tuple[str, int, int]]] = {}
    for device in run_meta.step_stats.dev_stats if run_meta is not None else ():
        for stats in device.node_stats:
            size = 0
            for output in stats.output:
                known[stats.node_name, output.slot] = tuple(dim.size for dim in output.tensor_description.shape.dim)
                size += output.tensor_description.allocation_description.requested_bytes
            costs.setdefault(stats.node_name, []).append((device.device, stats.all_end_rel_micros, size))
    return known, costs


# --- scopes ----------------------------------------------------------------------------------------------------------

def by_scope(found: dict[str, Entry], options: dict[str, Any]) -> Entry:
    """The root of the tree of names, with the children that are shown."""
    below: dict[str, dict[str, Entry]] = {"": {}}
    for name in sorted(found):
        parent = ""
        for end in [index for index, sign in enumerate(name) if sign == "/"] + [len(name)]:
            path = name[:end]
            below[parent].setdefault(path, found.get(path) or Entry(path))
            below.setdefault(path, {})
            parent = path
    root = Entry(ROOT)
    root.children = [child for child in below[""].values() if _account(child, below, options)]
    root.add_up()
    root.children = _sorted([shown for child in root.children for shown in _show(child, options, 1)], options)
    if options["account_displayed_op_only"]:
        root.add_up()
    return root


def _account(entry: Entry, below: dict[str, dict[str, Entry]], options: dict[str, Any]) -> bool:
    """Sums up what is accounted; False if nothing in this entry is."""
    entry.accounted = _matches(options["account_type_regexes"], entry.types or {""})
    entry.children = [child for child in below[entry.name].values() if _account(child, below, options)]
    entry.add_up()
    return entry.accounted or bool(entry.children)


def _show(entry: Entry, options: dict[str, Any], depth: int) -> list[Entry]:
    """The entry with what is shown of it, or else what is shown below it."""
    inside = [shown for child in entry.children for shown in _show(child, options, depth + 1)]
    if depth > options["max_depth"] or not _passes(entry, options):
        return inside
    entry.children = _sorted(inside, options)
    if options["account_displayed_op_only"]:
        entry.add_up()
    return [entry]


def _passes(entry: Entry, options: dict[str, Any]) -> bool:
    enough = (entry.total["bytes"] >= options.get("min_bytes", 0) and entry.total["micros"] >= options.get("min_micros", 0)
              and entry.own["params"] >= options.get("min_params", 0) and entry.own["float_ops"] >= options.get("min_float_ops", 0)
              and entry.total["occurrence"] >= options.get("min_occurrence", 0))
    return enough and _matches(options["show_name_regexes"], [entry.name]) and not _matches(options["hide_name_regexes"], [entry.name])


def _matches(expressions: Sequence[str], names: Iterable[str]) -> bool:
    return any(expression == ".*" or re.fullmatch(expression, name) for expression in expressions for name in names)


def _sorted(shown: list[Entry], options: dict[str, Any]) -> list[Entry]:
    key = options["order_by"]
    order: Callable[[Entry], Any] = (lambda entry: entry.name) if key == "name" else (lambda entry: -entry.total[key])
    return sorted(shown, key=order)


# --- types -----------------------------------------------------------------------------------------------------------

def by_type(found: dict[str, Entry], options: dict[str, Any]) -> list[tuple[Entry, list[Entry]]]:
    """(a type with the sums over its nodes, those nodes), the largest first."""
    groups: dict[str, list[Entry]] = {}
    for entry in found.values():
        for kind in sorted(entry.types):
            if not kind.startswith(("_", "/")) and _matches(options["account_type_regexes"], entry.types):
                groups.setdefault(kind, []).append(entry)
    kinds = []
    for name, members in groups.items():
        kind = Entry(name, accounted=True)
        kind.own = {key: sum(member.own[key] for member in members) for key in FIGURES}
        kind.add_up()
        if _passes(kind, options):
            kinds.append((kind, members))
    key = options["order_by"]
    return sorted(kinds, key=(lambda pair: pair[0].name) if key == "name" else (lambda pair: -pair[0].own[key]))
