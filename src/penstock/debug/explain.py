"""Where the time of steps goes: ``penstock explain`` for a whole program, ``Explainer`` for a part of one.

    with Explainer() as explainer:
        ...                                # build graphs, run sessions
    print(explainer.text())

Plans that are made inside the ``with`` block are watched: each kernel of theirs is timed, and what goes in and out of it is counted.
"""
from __future__ import annotations

from collections import defaultdict
from typing import Any

from penstock.execute.plan import Plan
from penstock.execute.report import Described, KernelReport, PlanReport, Stopwatch, watch
from penstock.program.devices import Kernel
from penstock.program.ir import Node, Program
from penstock.program.stages import Observer, observing

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
_LEGEND = """\
Steps (by what they fetch) and their kernels, slowest first; times are those of one run. A kernel of several nodes has them fused. GFLOP/s and GB/s:
operations it does, bytes of its operands. The arena is the memory that a step's intermediate values share."""
_FEWER = 3  # times fewer kernels are told of steps that ran once: most of their time is that of things done for the first time
_SWITCHES = 3  # of a step, that are told: most have one region
_LEAST_RATE = 0.05  # billions per second: less is shown as nothing


class Explainer(Observer):
    """Watches the plans that are made while it is entered; those of other processes of a cluster it does not see."""

    def __init__(self) -> None:
        self._plans: list[_WatchedPlan] = []

    def __enter__(self) -> Explainer:
        self._observing = observing(self)
        self._observing.__enter__()
        self._nested, watch.on = watch.on, True
        return self

    def __exit__(self, *error: Any) -> None:
        self._observing.__exit__(*error)
        watch.on = self._nested

    def planned(self, plan: Plan, program: Program) -> None:
        """Puts the kernels of a plan behind stopwatches."""
        names = ends(program)
        watched = _WatchedPlan(plan, names)
        if not plan.why_numpy:
            watched.first = next((each for each in self._plans if each.is_first_run_of(names)), None)
        self._plans.append(watched)

    def reports(self) -> list[PlanReport]:
        """One report per step that has run, the one with the most time first."""
        first_runs = [plan.first for plan in self._plans if plan.runs]
        reports = [plan.report() for plan in self._plans if plan.runs and plan not in first_runs]
        return sorted(reports, key=lambda report: -report.seconds * report.runs)

    def text(self, plans: int = 5, kernels: int = 15) -> str:
        """The reports as text: the first of the plans, and of their kernels."""
        reports = self.reports()
        if not reports:
            return "no step was run"
        parts = [_LEGEND, *(describe(report, kernels if report.runs > 1 else max(kernels // _FEWER, 1)) for report in reports[:plans])]
        if len(reports) > plans:
            rest = reports[plans:]
            parts.append(f"{count(len(rest), 'further step')}, {amount(sum(report.seconds * report.runs for report in rest))} in all")
        return "\n\n".join(parts)


def ends(program: Program) -> list[str]:
    """The names of what a program computes: its fetches, and the nodes that no other node uses."""
    used = {other for node in program.nodes for other in node.before}.union(program.args)
    return list(dict.fromkeys([*(node.name for node, _ in program.fetches), *(node.name for node in program.nodes if node not in used)]))


class _WatchedPlan:
    """The kernels of a plan behind stopwatches."""

    first: _WatchedPlan | None = None  # the plan that the first run of the same step had: native code is made when a step runs again

    def __init__(self, plan: Plan, names: list[str]) -> None:
        self._names, self._why_numpy, self._succeeded = names, plan.why_numpy, not plan.device_plans  # a plan of frames has no successor
        self._watches: list[Stopwatch] = []
        plan.wrap_kernels(self._stopwatch_of)
        once = set(plan.once)
        self._once = [each for each in self._watches if each.node in once]

    def _stopwatch_of(self, node: Node, kernel: Kernel, inside: Described | None) -> Kernel:
        stopwatch = Stopwatch(node, kernel, inside)
        self._watches.append(stopwatch)
        return stopwatch

    @property
    def runs(self) -> int:
        """Of the plan: nodes in loops run more often."""
        calls = [each.calls for each in self._watches if each.calls]
        return max((each.calls for each in self._once if each.calls), default=min(calls, default=0))

    def is_first_run_of(self, names: list[str]) -> bool:
        """Was this the first run of a step, of which a later plan is the rest? Says so once."""
        is_first = bool(self._why_numpy) and not self._succeeded and self.runs == 1 and self._names == names
        self._succeeded |= is_first
        return is_first

    def report(self) -> PlanReport:
        title = ", ".join(self._names[:3]) + (f" and {len(self._names) - 3} more" if len(self._names) > 3 else "")
        report = PlanReport([], title=title, runs=self.runs, first=self.first.report().seconds if self.first is not None else 0.0)
        for each in self._watches:
            if each.calls:
                self._add(report, each)
        return report

    def _add(self, report: PlanReport, each: Stopwatch) -> None:
        node, inside = each.node, each.inside()
        if inside is not None:
            report.kernels += inside.kernels
            report.fallbacks += inside.fallbacks
            report.arena_bytes += inside.arena_bytes
            report.switches += inside.switches
            return
        report.kernels.append(each.report(self.runs))
        if node.inputs:  # what has no inputs (variables, constants) computes nothing
            report.fallbacks.append((node.name, node.definition.type, reason(node, self._why_numpy)))


def reason(node: Node, why_numpy: str = "") -> str:
    """Why a node has a kernel of its own; ``why_numpy``: why all nodes of its plan have one."""
    if node.definition.on_host:
        return "it moves a value between devices, or between the host and the memory of one"
    if why_numpy:
        return why_numpy
    from penstock.native.regions.eligibility import why_not_native  # brings in LLVM
    return node.note or why_not_native(node) or "it stands alone and has little to do: a call of native code would not pay"


# --- text --------------------------------------------------------------------------------------------------------------------------------

def describe(report: PlanReport, kernels: int = 15) -> str:
    """A report as text: the kernels that take the most time, and what NumPy ran."""
    arena = f", arena {report.arena_bytes / 2**20:.1f} MB" if report.arena_bytes else ""
    first = f"; the first run, without native code, took {amount(report.first)}" if report.first else ""
    lines = [f"{report.title}: {count(report.runs, 'run')}, {amount(report.seconds)} in {count(len(report.kernels), 'kernel')}{arena}{first}",
             f"  {'share':>7} {'time':>9} {'GFLOP/s':>8} {'GB/s':>7}  kernel"]
    ranked = sorted(report.kernels, key=lambda kernel: -kernel.seconds)
    lines += [_kernel_line(kernel, report.seconds) for kernel in ranked[:kernels]]
    if len(ranked) > kernels:
        rest = sum(kernel.seconds for kernel in ranked[kernels:])
        lines.append(f"  {_share(rest, report.seconds)} {amount(rest):>9} {'':>8} {'':>7}  {len(ranked) - kernels} more")
    lines += [f"  {switch}" for switch in report.switches[:_SWITCHES]]
    return "\n".join(lines + _fallback_lines(report))


def _kernel_line(kernel: KernelReport, total: float) -> str:
    nodes = ", ".join(kernel.nodes[:4]) + (f" and {len(kernel.nodes) - 4} more" if len(kernel.nodes) > 4 else "")
    return (f"  {_share(kernel.seconds, total)} {amount(kernel.seconds):>9} {_rate(kernel.flops, kernel.seconds):>8} "
            f"{_rate(kernel.bytes, kernel.seconds):>7}  {kernel.name}: {nodes}")


def _share(seconds: float, total: float) -> str:
    return f"{100 * seconds / total if total else 0:5.1f} %"


def _rate(work: float, seconds: float) -> str:
    rate = work / seconds / 1e9 if seconds else 0.0
    return f"{rate:.1f}" if rate >= _LEAST_RATE else ""


def _fallback_lines(report: PlanReport) -> list[str]:
    """Which ops NumPy ran, by reason."""
    reasons: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, kind, reason in report.fallbacks:
        reasons[reason][kind].append(name)
    lines = [f"  NumPy ran {count(len(report.fallbacks), 'node')}:"] if reasons else []
    for reason, kinds in reasons.items():
        ranked = sorted(kinds.items(), key=lambda item: -len(item[1]))
        shown = ", ".join(f"{kind} x{len(names)}" if len(names) > 1 else f"{kind} ({names[0]})" for kind, names in ranked[:12])
        lines.append(f"    {reason}: {shown}" + (f" and {len(ranked) - 12} more types" if len(ranked) > 12 else ""))
    return lines


def count(number: int, what: str) -> str:
    """
    >>> count(1, "run"), count(2, "run")
    ('1 run', '2 runs')
    """
    return f"{number} {what}" + ("s" if number != 1 else "")


def amount(seconds: float) -> str:
    """Three digits and a unit: 1.23 ms."""
    scale, unit = next((pair for pair in _UNITS if seconds >= pair[0]), _UNITS[-1])
    value = seconds / scale
    return f"{value:.{2 - (value >= 10) - (value >= 100)}f} {unit}"
