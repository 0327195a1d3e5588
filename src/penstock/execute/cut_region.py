"""What regions of all devices share: code that is made for the shapes at hand, and is given up for a node that has none.

A region that turns out to hold a node which the compiler refuses is cut around it: it then runs as smaller regions with that node between them. One
in which a few nodes have other shapes in every run is split into those and the others.
"""
from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from penstock.execute.changing_shapes import ShapeWatch
from penstock.execute.device_plan import RegionKernel
from penstock.execute.environment import Environment
from penstock.execute.report import KernelReport, PlanReport, Stopwatch
from penstock.graph import dtypes
from penstock.native.calls import KernelCall, Unsupported
from penstock.native.config import config
from penstock.native.machine import defects
from penstock.native.specialise.fallback import Fallback
from penstock.program.ir import Node, RegionBody

_log = logging.getLogger(__name__)
MOST = 32  # shapes that a region keeps code for
Made = TypeVar("Made")
Ready = TypeVar("Ready")  # the code for one signature


class Interpreted(Protocol):
    """The nodes of a region behind their own kernels: see ``regions.Interpretation``."""

    regions: dict[Node, RegionKernel]
    watched: list[Stopwatch]

    def watch_shapes(self) -> ShapeWatch:
        """Has the next runs looked at."""

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs."""


class TableOfCalls(Protocol):
    """The calls of a region for given shapes."""

    calls: list[KernelCall]
    arena_bytes: int


Interpret = Callable[[RegionBody, Environment, Collection[str], Collection[str]], Interpreted]  # (excluded nodes, and those that are set apart)


class CutRegion(Generic[Ready]):
    """A region of one plan, its code by signature, and the nodes that it is cut around."""

    runner: ClassVar[str]  # of the nodes that have no code
    raised: ClassVar[tuple[type[Exception], ...]] = ()  # what is the program's to hear of, though it came up while code was made

    def __init__(self, body: RegionBody, environment: Environment, interpret: Interpret) -> None:
        self.body, self._environment, self._interpret = body, environment, interpret
        types = [node.attrs["T"] for node in body.args]
        self._refs = [position for position, dtype in enumerate(types) if dtype.is_ref or dtype is dtypes.resource]
        self._ready: dict[Any, Ready] = {}
        self._lock = threading.Lock()
        self._interpretation: Interpreted | None = None  # the nodes by their own kernels
        self.fallbacks: dict[str, str] = {}  # names of nodes that have no code, and why
        self._apart: Collection[str] = ()  # names of nodes whose shapes change: no code is made for them and others together

    def _by_nodes(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs, as the nodes' own kernels give them, and regions around those that have no code."""
        inside = self._interpretation
        if inside is None:
            inside = self._interpretation = self._interpret(self.body, self._environment, self.fallbacks, self._apart)
        return [_as_array(output) for output in inside.run(inputs)]

    def _keep(self, signature: Any, ready: Ready) -> Ready:
        """Notes the code for a signature, in place of the oldest if there is much."""
        if len(self._ready) >= MOST:
            self._ready.pop(next(iter(self._ready)))
        self._ready[signature] = ready
        return ready

    def _attempt(self, make: Callable[[], Made]) -> Made | None:
        """What the compiler makes; None if it refuses: then the region is cut around what it named."""
        try:
            return make()
        except Fallback as why:
            self._cut(why.node.name, why.reason)
        except Unsupported as why:
            middle = self.body.nodes[len(self.body.nodes) // 2]  # it may be any node: halves lie in each other a few deep, even if no code links
            self._cut(middle.name, str(why))
        except self.raised:
            raise
        except Exception as error:  # a bug of the compiler must cost speed, not the user's program
            defects.report(error)
            if config.strict:
                raise
            self.fallbacks.update(dict.fromkeys((node.name for node in self.body.nodes), repr(error)))
            self._interpretation = None
        return None

    def _cut(self, name: str, reason: str) -> None:
        _log.info("%s runs %s: %s", self.runner, name, reason)
        self.fallbacks[name] = reason
        self._interpretation = None

    def _split(self, names: Collection[str]) -> None:
        _log.info("a region is split: the arrays of %s have other shapes in every run", ", ".join(names))
        self._apart, self._interpretation = names, None

    def _alone(self) -> list[Stopwatch]:
        """The nodes that were watched while they ran outside of any region."""
        inside = self._interpretation
        return [each for each in inside.watched if each.calls and each.node not in inside.regions] if inside is not None else []

    def _reports_of_regions(self) -> list[PlanReport]:
        """What the regions tell into which it was cut."""
        return [region.describe() for region in self._interpretation.regions.values()] if self._interpretation is not None else []

    def _report(self, reports: Sequence[PlanReport], fallbacks: Sequence[tuple[str, str, str]]) -> PlanReport:
        """All of them as one, with the nodes that ran alone."""
        kernels: list[KernelReport] = [each.report(each.calls) for each in self._alone()]
        kernels += [kernel for report in reports for kernel in report.kernels]
        inner = [each for report in reports for each in report.fallbacks]
        switches = [each for report in reports for each in report.switches]
        return PlanReport(kernels, sum(report.arena_bytes for report in reports), [*fallbacks, *inner], switches=switches,
                          runs=max((report.runs for report in reports), default=0))


def report_of_calls(table: TableOfCalls, seconds: Sequence[float], runs: int) -> PlanReport:
    """What the calls of a table cost on average, if they ran while they were watched; ``seconds`` are those of all runs."""
    kernels = [KernelReport(call.label, tuple(dict.fromkeys(item.node.name for item in call.nodes)), spent / runs, call.flops, call.traffic)
               for call, spent in zip(table.calls, seconds) if runs and call.code is not None]
    return PlanReport(kernels, table.arena_bytes, runs=runs)


def _as_array(output: Any) -> Any:
    """A number as an array, as native code hands it out. NumPy's kernels give numbers where an array has no axes; a region that is given the one
    first and the other later would need code for each, and be NumPy's again until it has it."""
    return np.asarray(output) if isinstance(output, np.generic) and not isinstance(output, np.flexible) else output
