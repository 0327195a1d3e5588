"""``tf.profiler.advise``: checkers that look at a traced step and say what stands out. Each reports texts; none is good news."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.debug.profile.code import by_line
from penstock.debug.profile.entries import Entry
from penstock.debug.profile.options import ProfileOptionBuilder
from penstock.debug.profile.report import duration
from penstock.debug.profile.tree import by_scope, by_type, visible_tree
from penstock.errors import InvalidArgumentError
from penstock.graph.graph import Graph

_TOP = 3  # of each kind that are told


@dataclass
class ProfiledStep:
    """What checkers look at: a graph, and a function that gives fresh entries of its operations."""

    graph: Graph
    entries: Callable[[], dict[str, Entry]]


def _options() -> dict[str, Any]:
    return ProfileOptionBuilder(ProfileOptionBuilder.time_and_memory(min_bytes=0)).account_displayed_op_only(False).build()


def expensive_operations(step: ProfiledStep) -> Iterator[str]:
    """The types of operations, the scopes and the lines of the program that take the most time."""
    options = _options()
    root = by_type(step.entries(), options)
    if not root.total["micros"]:
        return
    yield _top("operation type", root.children, root)
    scopes = visible_tree(by_scope(step.entries()), options)
    yield _top("graph node", scopes.children, scopes)
    lines = visible_tree(by_line(step.entries(), step.graph, options), options, lines=True)
    yield _top("line", _innermost(lines), lines)


def _innermost(root: Entry) -> list[Entry]:
    """The lines that made operations themselves; their own figures are what they count."""
    made: dict[str, Entry] = {}
    waiting = list(root.children)
    while waiting:
        line = waiting.pop()
        waiting.extend(line.children)
        if line.members:
            made.setdefault(line.name, Entry(line.name, accounted=True)).join(line.members)
    for line in made.values():
        line.add_up()
    return sorted(made.values(), key=lambda line: -line.total["micros"])


def _top(what: str, among: list[Entry], whole: Entry) -> str:
    return "\n".join(f"top {place} {what}: {entry.name}, cpu: {duration(entry.total['cpu_micros'])}, "
                     f"accelerator: {duration(entry.total['accelerator_micros'])}, total: {duration(entry.total['micros'])} "
                     f"({100 * entry.total['micros'] / whole.total['micros']:.2f}%)" for place, entry in enumerate(among[:_TOP], 1))


def slow_layouts(step: ProfiledStep) -> Iterator[str]:
    """Operations on images whose channels come first, which CPUs are slow at, and on GPUs those whose channels come last."""
    for name, entry in step.entries().items():
        op = step.graph.get_operation_by_name(name)
        layout = op.attrs.get("data_format")
        if not entry.own["run_count"] or layout not in ("NHWC", "NCHW"):
            continue
        accelerated = entry.own["accelerator_micros"] > 0
        if accelerated == (layout == "NHWC"):
            yield f"{name} ({op.type}) has the data_format {layout} on {entry.devices[0]}; {'NCHW' if accelerated else 'NHWC'} may be faster there"


def idle_accelerators(step: ProfiledStep) -> Iterator[str]:
    """Accelerators that were busy for less than half of the step."""
    busy: dict[str, int] = {}
    for entry in step.entries().values():
        for device in entry.devices if entry.own["accelerator_micros"] else ():
            busy[device] = busy.get(device, 0) + entry.own["accelerator_micros"]
    total = sum(entry.own["cpu_micros"] for entry in step.entries().values())
    for device, micros in busy.items():
        if micros < total:
            yield f"{device} was busy for {duration(micros)}, while processors took {duration(total)}"


CHECKERS: dict[str, Callable[[ProfiledStep], Iterator[str]]] = {
    "ExpensiveOperationChecker": expensive_operations, "OperationChecker": slow_layouts, "AcceleratorUtilizationChecker": idle_accelerators}
ALL_ADVICE: dict[str, Any] = {"ExpensiveOperationChecker": {}, "AcceleratorUtilizationChecker": {}, "JobChecker": {}, "OperationChecker": {}}


def reports(step: ProfiledStep, options: dict[str, Any]) -> dict[str, list[str]]:
    """What the checkers that ``options`` name have to say. A JobChecker looks at the job's logs, of which there are none here."""
    unknown = sorted(set(options) - {*CHECKERS, "JobChecker"})
    if unknown:
        raise InvalidArgumentError(None, None, f"tf.profiler.advise has no {', '.join(unknown)}; it has {', '.join(CHECKERS)}")
    return {name: list(checker(step)) for name, checker in CHECKERS.items() if name in options}
